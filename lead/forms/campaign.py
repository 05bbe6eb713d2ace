"""The forms about a campaign's people, messages, hours, releases and captions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from base.forms import LARGEST, LARGEST_KEY, Text
from campaigns.models import Campaign, Membership, Message
from campaigns.models.invitation import DECISIONS
from campaigns.models.membership import LONGEST_MESSAGE
from corpus.importers.rows import LONGEST_TEXT
from judging.pool.rewording import By
from judging.quality.exam import LONGEST_REASON
from judging.review import decisions
from judging.settings import STEERING, SteeringForm
from lead.forms import HIDDEN, PatternsField, PlaceForm, plain_choices, require
from releases.data_card import LICENCES
from releases.freezing import LANGUAGE, LONGEST, LONGEST_NOTES
from releases.training import DEEPEST
from retrieval.search.searching import LONGEST_QUERY
from runs.estimates.planning import MOST_HOURS


class MessageForm(forms.Form):
    """A message to one annotator, or to all."""

    to = forms.RegexField(r"^(all|[0-9]{1,9})\Z", widget=forms.Select)
    text = Text(max_length=LONGEST_MESSAGE, label="Message", widget=forms.Textarea(attrs={"rows": 5}))

    def __init__(self, campaign: Campaign, data: Any = None) -> None:
        super().__init__(data)
        self.annotators = campaign.memberships.reachable().select_related("user").order_by("worker")
        people = [
            (annotator.worker, f"Worker {annotator.worker}: {annotator.user.get_username()}")
            for annotator in self.annotators
        ]
        widget: Any = self.fields["to"].widget
        widget.choices = [("all", "All annotators"), *people]


class HoursForm(forms.Form):
    """The hours of judging that the overview looks ahead."""

    hours = forms.IntegerField(required=False, min_value=1, max_value=MOST_HOURS)


class StepForm(SteeringForm):
    """What a lead does with some annotators at once."""

    who = forms.CharField(label="Who")

    def options(self) -> dict[str, list[tuple[str, str]]]:
        return {"who": super().options()["who"]}


class TellForm(StepForm):
    title = "Write a message"
    has_outlook = False
    text = Text(max_length=LONGEST_MESSAGE, label="Message", widget=forms.Textarea(attrs={"rows": 5}))

    def apply(self) -> str:
        number = Message.objects.send(self.cleaned_data["who"], self.cleaned_data["text"], by=self.lead)
        return f"Sent to {number:,} annotator{'' if number == 1 else 's'}."


class PauseForm(StepForm):
    title = "Pause"
    reason = forms.CharField(max_length=LONGEST_REASON, label="Reason", help_text="It is kept on record.")

    def apply(self) -> str:
        members = list(self.cleaned_data["who"].filter(state=Membership.State.ACTIVE))
        for member in members:
            member.pause(self.lead, self.cleaned_data["reason"])
        return f"Annotators who are paused now: {len(members):,}. A batch in hand stays until its lease ends."


# What can be done with annotators, and with the order of their work; each in a drawer that shows what it leads to.
STEPS: dict[str, type[SteeringForm]] = STEERING | {"message": TellForm, "pause": PauseForm}


class DigestForm(forms.Form):
    wanted = forms.ChoiceField(choices=plain_choices(("yes", "no")), widget=HIDDEN)


class CreatesForm(forms.Form):
    """Whether somebody may create campaigns."""

    may = forms.ChoiceField(choices=plain_choices(("yes", "no")), widget=HIDDEN)


class MemberForm(forms.Form):
    """A change of a member: one of the verbs, or another role."""

    verb = forms.ChoiceField(choices=plain_choices((*decisions.MEMBER_VERBS, "role")), widget=HIDDEN)
    role = forms.ChoiceField(choices=Membership.Role.choices, required=False, widget=HIDDEN)
    reason = forms.CharField(max_length=LONGEST_REASON, required=False)
    hand_over = forms.BooleanField(required=False, widget=HIDDEN)

    def clean(self) -> dict[str, Any]:
        return require(self, "role") if self.cleaned_data.get("verb") == "role" else self.cleaned_data


class ApplicantForm(forms.Form):
    action = forms.ChoiceField(choices=plain_choices(DECISIONS), widget=HIDDEN)


class WebhookActionForm(forms.Form):
    action = forms.ChoiceField(choices=plain_choices(("disable", "enable", "test", "remove")), widget=HIDDEN)


BY_PACE = "pace"  # the order of Hours with the slowest first; else by worker number


class PeriodForm(forms.Form):
    """Days, both included; the order of the lines; and whether a file of them has names."""

    names = forms.BooleanField(required=False, widget=HIDDEN)
    sort = forms.ChoiceField(required=False, choices=[(BY_PACE, BY_PACE)], widget=HIDDEN)

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        for name in ("from", "to"):
            self.fields[name] = forms.DateField(required=False, input_formats=["%Y-%m-%d"], widget=HIDDEN)


class ReleaseForm(forms.Form):
    """What a release holds, and what its data card says."""

    licence = forms.ChoiceField(choices=[(spdx, f"{spdx}, {about[0]}") for spdx, about in LICENCES.items()])
    with_finished = forms.BooleanField(required=False)
    with_unfinished = forms.BooleanField(required=False)
    contact = forms.CharField(required=False, max_length=LONGEST["contact"])
    language = forms.RegexField(
        rf"^({LANGUAGE.pattern})\Z",
        required=False,
        max_length=LONGEST["language"],
        error_messages={"invalid": "Write a code such as en or zh-Hans."},
    )
    films = forms.CharField(required=False, max_length=LONGEST["films"])
    baselines = PatternsField(r"\d{1,9}")
    notes = Text(required=False, max_length=LONGEST_NOTES)


class ReleasePageForm(forms.Form):
    """The tab of a release's page; none is the first."""

    def __init__(self, data: Any, tabs: Iterable[str]) -> None:
        super().__init__(data)
        self.fields["tab"] = forms.ChoiceField(required=False, choices=plain_choices(tabs), widget=HIDDEN)


class DifferenceForm(forms.Form):
    """Two releases by their numbers."""

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        for name in ("from", "to"):
            self.fields[name] = forms.IntegerField(min_value=0, max_value=LARGEST)


class TrainingSetForm(forms.Form):
    depth = forms.IntegerField(min_value=1, max_value=DEEPEST, label="Moments for each query (N)")


class SearchForm(forms.Form):
    q = forms.CharField(required=False, max_length=LONGEST_QUERY, widget=HIDDEN)


class CutForm(SearchForm):
    """The clip of a moment that a search has found."""

    moment = forms.IntegerField(min_value=0, max_value=LARGEST_KEY, widget=HIDDEN)


class RewordingForm(forms.Form):
    by = forms.ChoiceField(choices=By.choices, widget=HIDDEN)
    again = forms.BooleanField(required=False, widget=HIDDEN)


class CaptionForm(PlaceForm):
    caption = Text(max_length=LONGEST_TEXT)
