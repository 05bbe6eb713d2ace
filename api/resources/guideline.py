"""What annotators learn from: the guideline, which several people may edit at once, and worked examples."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Number, Text, Whole
from api.operations import TAGGED, VERSIONED, Answer, Rows, annotated, changes, makes, reads
from api.problems import checked
from api.resource import CAMPAIGN, ClipAddress, Resource, must_match, tag_of
from api.serializers import Body, ModelAnswer, Page, PageParameters
from base.errors import Changed, Outdated, Unfit
from base.forms import LARGEST_KEY
from campaigns import access
from campaigns.forms import LONGEST_GUIDELINE, GuidelineForm
from campaigns.models import Campaign, Guideline
from judging import access as judging_access
from judging.consensus import GRADES
from judging.models import Candidate, Example, KeptAnswer
from judging.quality import examples


class Level(serializers.Serializer):
    grade = serializers.IntegerField()
    name = serializers.CharField()
    meaning = serializers.CharField()


class KeptSerializer(ModelAnswer):
    class Meta:
        model = KeptAnswer
        fields = ["id", "question", "answer"]


class GuidelineSerializer(ModelAnswer):
    levels = Level(many=True)
    answers = KeptSerializer(many=True, help_text="to questions, which leads told all and kept")

    class Meta:
        model = Guideline
        fields = ["version", "text"]
        help_texts = {"text": "Markdown"}


class VersionSerializer(ModelAnswer):
    by = serializers.IntegerField(source="by.worker", allow_null=True, default=None)

    class Meta:
        model = Guideline
        fields = ["version", "text", "at"]
        help_texts = {"text": "Markdown"}


class NewText(Body):
    text = Text(max_length=LONGEST_GUIDELINE, trim_whitespace=False, help_text="Markdown")


class OneGuideline(Resource, at=f"{CAMPAIGN}/guideline", name="guideline"):
    @reads(GuidelineSerializer, TAGGED)
    def get(self) -> Any:
        """What annotators are told about grading; all members read it."""
        return _guideline(self.through(access.anybody).campaign)

    @changes(GuidelineSerializer, VERSIONED, body=NewText)
    def put(self) -> Any:
        """Put a new version of the guideline in force."""
        campaign = self.lead.campaign
        present = campaign.guideline
        must_match(self.request, tag_of("guideline", present.version))
        data = checked(GuidelineForm(self.data | {"started_from": present.version}))
        try:
            campaign.write_guideline(self.lead, data["text"], present.version)
        except Outdated as fault:  # within the last milliseconds
            raise Changed(str(fault)) from fault
        return _guideline(campaign)


def _guideline(campaign: Campaign) -> Answer:
    present = campaign.guideline
    kept = campaign.kept_answers.in_force()
    data = annotated(present, levels=examples.levels(campaign), answers=kept)
    return Answer.tagged(data, tag_of("guideline", present.version))


class OneKeptAnswer(Resource, at=f"{CAMPAIGN}/guideline/answers/<int:pk>", name="kept-answer"):
    @changes()
    def delete(self, pk: int) -> Any:
        """Take an answer back that was told to all: it no longer stands beside the guideline."""
        judging_access.kept_answer(self.lead, pk).take_back(self.lead)


class Versions(Resource, at=f"{CAMPAIGN}/guideline/versions", name="guideline-versions"):
    @reads(Page(VersionSerializer))
    def get(self) -> Any:
        """The versions of the guideline that leads wrote, the newest first."""
        return Rows(self.member.campaign.guidelines.select_related("by"), ("-version",))


class OneVersion(Resource, at=f"{CAMPAIGN}/guideline/versions/<int:version>", name="guideline-version"):
    @reads(VersionSerializer)
    def get(self, version: int) -> Any:
        """A version of the guideline that a lead wrote."""
        return get_object_or_404(self.member.campaign.guidelines.select_related("by"), version=version)


class ExampleSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    query = serializers.CharField()
    grade = serializers.IntegerField()
    why = serializers.CharField(help_text="why the grade is right")
    clip = ClipAddress()
    moment = serializers.CharField(required=False, help_text="its id in TREC files; not for annotators")
    hidden = serializers.BooleanField(required=False, help_text="whether its pair is judged again; not for annotators")


class TeachableSerializer(ModelAnswer):
    """A judged pair that may become an example."""

    candidate = serializers.IntegerField(source="pk")
    query = serializers.CharField(source="query.text")
    moment = serializers.CharField(read_only=True, help_text="its id in TREC files")

    class Meta:
        model = Candidate
        fields = ["grade", "outcome"]
        help_texts = {"grade": "the final one"}


class TeachableParameters(PageParameters):
    find = Text(required=False, max_length=200, help_text="words of the query")


class NewExample(Body):
    """A judged pair by its candidate; or a pair of the lead's own: a sentence beside a moment."""

    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    why = Text(max_length=examples.LONGEST_WHY, help_text="annotators read it beside the clip")
    candidate = Whole(required=False, min_value=1, max_value=LARGEST_KEY)
    query = Text(required=False, max_length=500)
    video = Text(required=False, max_length=300)
    start = Number(required=False, min_value=0, max_value=1e6, help_text="seconds")
    end = Number(required=False, min_value=0, max_value=1e6, help_text="seconds")


class Examples(Resource, at=f"{CAMPAIGN}/examples", name="examples"):
    @reads(Page(ExampleSerializer))
    def get(self) -> Any:
        """The worked examples; annotators see those that are not judged again."""
        member = self.through(access.anybody)
        rows, order = member.campaign.examples.select_related("clip"), ("-grade", "pk")
        if not (member.sees_grades and member.is_active):
            return Rows(examples.visible_examples(rows), order, lambda page: [_taught(each) for each in page])
        hidden = examples.hidden_examples(rows)
        return Rows(rows.select_related("moment__video"), order, lambda page: [_known(each, hidden) for each in page])

    @makes(ExampleSerializer, body=NewExample)
    def post(self) -> Any:
        """Make an example, or give the one of the same pair another grade and reason."""
        campaign, data = self.lead.campaign, self.data
        if "candidate" in data:
            candidate = get_object_or_404(examples.teachable(campaign), pk=data["candidate"])
            return _known(examples.add_example(self.lead, candidate, data["grade"], data["why"]), set())
        if missing := [name for name in ("query", "video", "start", "end") if name not in data]:
            raise Unfit({name: ["This field is required."] for name in missing})
        moment = examples.find_moment(campaign, data["video"], data["start"], data["end"])
        return _known(examples.add_own_example(self.lead, data["query"], moment, data["grade"], data["why"]), set())


def _taught(example: Example) -> dict[str, Any]:
    values = {name: getattr(example, name) for name in ("query", "grade", "why", "clip")}
    return values | {"id": example.pk}


def _known(example: Example, hidden: set[int]) -> dict[str, Any]:
    return _taught(example) | {"moment": str(example.moment), "hidden": example.pk in hidden}


class OneExample(Resource, at=f"{CAMPAIGN}/examples/<int:pk>", name="example"):
    @changes()
    def delete(self, pk: int) -> Any:
        """Remove an example."""
        if not examples.remove_example(self.lead, pk):
            raise Http404


class Teachable(Resource, at=f"{CAMPAIGN}/examples/candidates", name="teachable"):
    @reads(Page(TeachableSerializer), query=TeachableParameters)
    def get(self) -> Any:
        """The judged pairs that may become examples."""
        return examples.teachable(self.member.campaign, self.params.get("find", "").strip())
