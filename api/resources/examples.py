"""Worked examples: what all members learn from, and how leads make them."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Number, Page, PageQuery, Shape, Text, Whole
from api.operations import Rows, changes, makes, reads
from api.problems import checked
from api.resource import CAMPAIGN, Resource, clip_address
from campaigns.models import Membership
from judging import doors
from judging.consensus import GRADES
from judging.models import Candidate, Example
from judging.quality.examples import (
    LONGEST_WHY,
    OwnExampleForm,
    add_example,
    add_own_example,
    hidden_examples,
    teachable,
    visible_examples,
)
from metrics.formats.moment_ids import moment_id


class ExampleShape(Shape):
    id = serializers.IntegerField()
    query = serializers.CharField()
    grade = serializers.IntegerField()
    why = serializers.CharField(help_text="why the grade is right")
    clip = serializers.CharField(allow_null=True, help_text="its address, once it is cut")
    moment = serializers.CharField(required=False, help_text="its id in TREC files; not for annotators")
    hidden = serializers.BooleanField(
        required=False, help_text="whether its pair is judged again; not for annotators, who do not see it"
    )


class TeachableShape(Shape):
    """A judged pair that may become an example."""

    candidate = serializers.IntegerField(source="pk")
    query = serializers.CharField(source="query.text")
    grade = serializers.IntegerField(allow_null=True, help_text="the final one")
    outcome = serializers.ChoiceField(Candidate.Outcome.choices)
    moment = serializers.SerializerMethodField(help_text="its id in TREC files")

    def get_moment(self, candidate: Candidate) -> str:
        return str(candidate.moment)


class TeachableAsked(PageQuery):
    find = Text(required=False, max_length=200, help_text="words of the query")


class NewExample(Body):
    """A judged pair by its candidate; or a pair of the lead's own: a sentence beside a moment."""

    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    why = Text(max_length=LONGEST_WHY, help_text="annotators read it beside the clip")
    candidate = Whole(required=False, min_value=1, max_value=10**18 - 1)
    query = Text(required=False, max_length=500)
    video = Text(required=False, max_length=300)
    start = Number(required=False, min_value=0, max_value=1e6, help_text="seconds")
    end = Number(required=False, min_value=0, max_value=1e6, help_text="seconds")


class Examples(Resource, at=f"{CAMPAIGN}/examples", name="examples"):
    @reads(Page(ExampleShape))
    def get(self, request: Request, name: str) -> Any:
        """The worked examples; annotators see those that are not judged again."""
        member = doors.anybody(request, name)
        examples, order = member.campaign.examples.select_related("clip"), ("-grade", "pk")
        if member.role not in Membership.SEES_ALL or member.state != Membership.State.ACTIVE:
            return Rows(visible_examples(examples), order, lambda page: [_taught(each) for each in page])
        hidden = hidden_examples(examples)
        rows = examples.select_related("moment__video")
        return Rows(rows, order, lambda page: [_known(each, hidden) for each in page])

    @makes(ExampleShape, body=NewExample)
    def post(self, request: Request, name: str) -> Any:
        """Make an example, or give the one of the same pair another grade and reason."""
        lead, data = doors.lead(request, name), self.data
        if "candidate" in data:
            candidate = get_object_or_404(teachable(lead.campaign), pk=data["candidate"])
            return _known(add_example(lead, candidate, data["grade"], data["why"]), set())
        own = checked(OwnExampleForm(lead.campaign, data))
        return _known(add_own_example(lead, own["query"], own["moment"], own["grade"], own["why"]), set())


def _taught(example: Example) -> dict[str, Any]:
    about = {"id": example.pk, "query": example.query, "grade": example.grade, "why": example.why}
    return about | {"clip": clip_address(example.clip)}


def _known(example: Example, hidden: set[int]) -> dict[str, Any]:
    moment = example.moment
    named = moment_id(moment.video.name, moment.start, moment.end)
    return _taught(example) | {"moment": named, "hidden": example.pk in hidden}


class OneExample(Resource, at=f"{CAMPAIGN}/examples/<int:pk>", name="example"):
    @changes()
    def delete(self, request: Request, name: str, pk: int) -> Any:
        """Remove an example."""
        if not doors.lead(request, name).campaign.examples.filter(pk=pk).delete()[0]:
            raise Http404


class Teachable(Resource, at=f"{CAMPAIGN}/examples/candidates", name="teachable"):
    @reads(Page(TeachableShape), query=TeachableAsked)
    def get(self, request: Request, name: str) -> Any:
        """The judged pairs that may become examples."""
        campaign = doors.membership(request, name).campaign
        return teachable(campaign, self.params.get("find", "").strip())
