"""The forms of worked examples."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign
from corpus.models import Moment
from judging.quality.examples import LONGEST_WHY

MOST_MOMENTS_NAMED = 8
NEAR = 0.005  # seconds: times are typed with two decimals


class ExampleForm(forms.Form):
    """What an example teaches."""

    grade = forms.TypedChoiceField(
        coerce=int, choices=[(grade, f"{grade} {words[0]}") for grade, words in LEVELS.items()]
    )
    why = forms.CharField(
        max_length=LONGEST_WHY,
        label="Why this grade",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Annotators read this beside the clip.",
    )


class OwnExampleForm(ExampleForm):
    """A pair of the lead's own: any sentence beside any moment."""

    query = forms.CharField(max_length=500, help_text="A sentence as in the campaign's queries.")
    video = forms.CharField(max_length=300, help_text="The video's name in the corpus.")
    start = forms.FloatField(help_text="Seconds.", validators=[MinValueValidator(0)])
    end = forms.FloatField(help_text="Seconds.", validators=[MaxValueValidator(1e6)])
    field_order = ("query", "video", "start", "end", "grade", "why")

    def __init__(self, campaign: Campaign, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.campaign = campaign

    def clean(self) -> dict[str, Any]:
        """Find the moment at those times."""
        data = self.cleaned_data
        if not {"video", "start", "end"} <= data.keys():
            return data
        moments = Moment.objects.filter(video__corpus=self.campaign.corpus, video__name=data["video"])
        if not moments.exists():
            self.add_error("video", "No video of this corpus has that name.")
            return data
        near = {f"{field}__range": (data[field] - NEAR, data[field] + NEAR) for field in ("start", "end")}
        data["moment"] = moments.filter(**near).order_by("pk").first()
        if not data["moment"]:
            there = moments.order_by("start", "end").values_list("start", "end").distinct()
            named = ", ".join(f"{start:g}-{end:g}" for start, end in there[:MOST_MOMENTS_NAMED])
            self.add_error("start", f"No moment has these times. This video has moments at {named} s, among others.")
        return data
