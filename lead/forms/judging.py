"""The forms by which leads decide: actions on queries, reviews, reopening, flags, questions, and the exam."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator

from base.errors import Unfit
from base.forms import LARGEST, LARGEST_KEY, Text
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign
from campaigns.models.membership import LONGEST_MESSAGE
from judging.access import REOPENED
from judging.consensus import GRADES
from judging.models import Action, Candidate, Review
from judging.models.judgement import LONGEST_QUESTION
from judging.pool.ranking import MOST_CANDIDATES, MOST_QUERIES, RankingPlan
from judging.quality import exam
from judging.quality.examples import LONGEST_WHY, find_moment
from judging.review import actions, decisions
from judging.review.verbs import ACTION_VERBS, verb_of
from lead.forms import HIDDEN, PatternsField, ReasonForm, plain_choices, require
from reports.lists import LISTS
from reports.models import SavedView
from retrieval.search.searching import LONGEST_QUERY


class PartForm(forms.Form):
    """A candidate, a batch or a worker's work; of that perhaps only a week, beside another worker, or what is off."""

    candidate = batch = worker = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, widget=HIDDEN)
    week = forms.CharField(required=False, max_length=20, widget=HIDDEN)
    off = forms.ChoiceField(required=False, choices=plain_choices(("no", "on")), widget=HIDDEN)

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self.fields["with"] = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, widget=HIDDEN)


class PrepareForm(PartForm):
    """An action on the queries that are ticked, or on all that the list's filters choose; or reopening a part."""

    verb = forms.ChoiceField(choices=plain_choices(ACTION_VERBS), widget=HIDDEN)
    row = PatternsField()
    which = listing = view = forms.CharField(required=False, widget=HIDDEN)

    def clean(self) -> dict[str, Any]:
        chosen = [what for what in REOPENED if self.cleaned_data.get(what) is not None]
        if len(chosen) > 1 or (chosen and self.cleaned_data.get("verb") != "reopen"):
            raise ValidationError("Name one of candidate, batch or worker, by its number, to reopen it.")
        return self.cleaned_data | {"what": chosen[0] if chosen else ""}


class ActionForm(forms.Form):
    """A step of a prepared action: choose what it sets, begin it, undo it, or forget it."""

    change = forms.ChoiceField(choices=plain_choices(("choose", "begin", "undo", "forget")), widget=HIDDEN)
    argument = forms.CharField(required=False, widget=HIDDEN)
    reason = Action._meta.get_field("reason").formfield()

    def __init__(self, action: Action, data: Any) -> None:
        super().__init__(data)
        self.action = action

    def clean(self) -> dict[str, Any]:
        change = self.cleaned_data.get("change")
        if change == "choose" and self.cleaned_data.get("argument") not in actions.arguments_of(self.action):
            self.add_error("argument", "Choose what the action sets.")
        needs_reason = change == "begin" and verb_of(self.action).needs_reason
        return require(self, "reason") if needs_reason else self.cleaned_data


class ViewForm(forms.ModelForm):  # type: ignore[type-arg]
    """A view of a list, and the name under which it is kept."""

    listing = forms.ChoiceField(choices=plain_choices(LISTS), widget=HIDDEN)
    shared = forms.BooleanField(required=False, label="For all who see the campaign")

    class Meta:
        model = SavedView
        fields = ["listing", "choices", "name"]
        widgets = {"choices": HIDDEN}


class ForgetViewForm(forms.Form):
    remove = forms.IntegerField(min_value=0, max_value=LARGEST_KEY, widget=HIDDEN)


class ReviewForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Review
        fields = ["verdict", "reason"]
        widgets = {"verdict": HIDDEN}


class OpenBatchesForm(forms.Form):
    batch = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, widget=HIDDEN)


class UndoForm(forms.Form):
    review = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, widget=HIDDEN)


class WhatIfForm(forms.Form):
    """A sentence that may come into the guideline, and grades `g` and a pair's key of a sample judged again."""

    sentence = forms.CharField(required=False, max_length=LONGEST_QUERY)
    above = forms.FloatField(required=False, min_value=0, max_value=1)
    judge = forms.BooleanField(required=False)

    @property
    def grades(self) -> dict[int, int]:
        found = ((re.fullmatch(r"g([0-9]{1,18})", name), grade) for name, grade in self.data.items())
        return {int(key[1]): int(grade) for key, grade in found if key and grade in map(str, GRADES)}


class InboxForm(forms.Form):
    """The item of the inbox that is shown, and what was done before."""

    page = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, widget=HIDDEN)
    item = done = forms.RegexField(r"^(pair|query|question|flag)-[0-9]{1,18}\Z", required=False, widget=HIDDEN)


class GradeForm(InboxForm, ReasonForm):
    """A lead's own grade with its reason; or `none`, which takes the last one back."""

    grade = forms.ChoiceField(choices=plain_choices((*GRADES, "none")))
    back = forms.CharField(required=False, widget=HIDDEN)

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self.fields["reason"].required = self.data.get("grade") != "none"


class FlagForm(InboxForm):
    action = forms.ChoiceField(choices=plain_choices(decisions.ACTIONS), widget=HIDDEN)


class QuestionForm(InboxForm):
    """Answer a question by a message, to all if that is ticked; or put the question aside, or undo that."""

    action = forms.ChoiceField(choices=plain_choices(("answer", "aside", "undo")), widget=HIDDEN)
    everybody = forms.BooleanField(required=False)
    text = Text(max_length=LONGEST_MESSAGE, required=False, label="Answer")
    wording = Text(max_length=LONGEST_QUESTION, required=False, label="The question, as everybody reads it")

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("action") != "answer":
            return self.cleaned_data
        return require(self, "text", *(["wording"] if self.cleaned_data.get("everybody") else []))


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

    def __init__(self, campaign: Campaign, data: Any) -> None:
        super().__init__(data)
        self.campaign = campaign

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if {"video", "start", "end"} <= data.keys():
            try:
                data["moment"] = find_moment(self.campaign, data["video"], data["start"], data["end"])
            except Unfit as fault:
                self.add_error(None, ValidationError(fault.fields))
        return data


class ExamForm(forms.Form):
    queries = forms.IntegerField(min_value=1, max_value=exam.MOST_QUERIES)
    seed = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, label="Seed of the draw")
    keep_in_pool = forms.BooleanField(required=False, label="Keep the drawn queries in the pool")

    def __init__(self, campaign: Campaign, data: Any) -> None:
        super().__init__(data)
        depth = forms.IntegerField(min_value=1, max_value=campaign.depth, label="Best candidates of each")
        self.fields["depth"] = depth


class TruthForm(forms.Form):
    """The truth of a pair of the exam, the reason for those who miss it, and the pair to go on with."""

    truth = forms.TypedChoiceField(
        required=False, choices=[("", "the median of all grades"), *plain_choices(GRADES)], coerce=int, empty_value=None
    )
    why = Text(
        required=False,
        max_length=LONGEST_WHY,
        label="Reason for those who missed it",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    ready = forms.ChoiceField(
        required=False, label="Or a ready reason", choices=[("", "none chosen"), *plain_choices(exam.READY_REASONS)]
    )
    after = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, widget=HIDDEN)

    @staticmethod
    def values_of(candidate: Candidate) -> dict[str, Any]:
        """Return the values of a pair as they are stored."""
        is_ready = candidate.why in exam.READY_REASONS
        return {"truth": candidate.truth, "ready" if is_ready else "why": candidate.why}

    def clean(self) -> dict[str, Any]:
        if "truth" not in self.data:
            self.add_error("truth", "Choose a grade from 0 to 4, or the median.")
        return self.cleaned_data

    @property
    def truth_and_reason(self) -> tuple[int | None, str]:
        return self.cleaned_data["truth"], self.cleaned_data["why"] or self.cleaned_data["ready"]


class VerdictForm(forms.Form):
    """A decision on an examinee."""

    verdict = forms.ChoiceField(choices=plain_choices(exam.VERDICTS), widget=HIDDEN)
    reason = forms.CharField(max_length=exam.LONGEST_REASON)


class SubjectForm(forms.Form):
    """Whose figures are shown: a worker's, or a query's by its id in runs."""

    worker = forms.IntegerField(required=False, min_value=0, max_value=LARGEST)
    query = forms.CharField(required=False, max_length=100)


class StudyForm(forms.Form):
    """How large a study is; a number that is left out is the usual one."""

    queries = forms.IntegerField(required=False, min_value=1, max_value=MOST_QUERIES)
    top = forms.IntegerField(required=False, min_value=1, max_value=MOST_CANDIDATES, label="Most similar")
    random = forms.IntegerField(required=False, min_value=0, max_value=MOST_CANDIDATES, label="At random")
    seed = forms.IntegerField(required=False, min_value=0, max_value=LARGEST)

    @property
    def plan(self) -> RankingPlan:
        return RankingPlan(**{name: number for name, number in self.cleaned_data.items() if number is not None})
