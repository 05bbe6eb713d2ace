"""Worked examples: what all members learn from, and how leads make them."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Number, PageQuery, Shape, Text, Whole
from api.problems import faults_of
from api.resource import Resource, empty
from base.errors import Unfit
from campaigns.models import Membership, Token
from corpus.models import Clip
from judging import doors
from judging.consensus import GRADES
from judging.models import Candidate, Example
from judging.quality.example_forms import OwnExampleForm
from judging.quality.examples import LONGEST_WHY, add_example, add_own_example, teachable, visible_examples
from metrics.formats.moment_ids import moment_id

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
LARGEST = 10**18 - 1  # a primary key


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
    example = {
        "id": 6,
        "query": "Somebody opens a door.",
        "grade": 4,
        "why": "The door is opened within the clip.",
        "clip": "/api/v1/clips/hKd0",
    }


class TeachableShape(Shape):
    """A judged pair that may become an example."""

    candidate = serializers.IntegerField(source="pk")
    query = serializers.CharField(source="query.text")
    grade = serializers.IntegerField(allow_null=True, help_text="the final one")
    outcome = serializers.ChoiceField(Candidate.Outcome.choices)
    moment = serializers.SerializerMethodField(help_text="its id in TREC files")
    example = {
        "candidate": 41,
        "query": "Somebody opens a door.",
        "grade": 4,
        "outcome": "settled",
        "moment": "friends_s01e01@3200-7500",
    }

    def get_moment(self, candidate: Candidate) -> str:
        return str(candidate.moment)


class TeachableAsked(PageQuery):
    find = Text(required=False, max_length=200, help_text="words of the query")


class NewExample(Body):
    """A judged pair by its candidate; or a pair of the lead's own: a sentence beside a moment."""

    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    why = Text(max_length=LONGEST_WHY, help_text="annotators read it beside the clip")
    candidate = Whole(required=False, min_value=1, max_value=LARGEST)
    query = Text(required=False, max_length=500)
    video = Text(required=False, max_length=300)
    start = Number(required=False, min_value=0, max_value=1e6, help_text="seconds")
    end = Number(required=False, min_value=0, max_value=1e6, help_text="seconds")
    example = {"candidate": 41, "grade": 4, "why": "The door is opened within the clip."}


def clip_address(clip: Clip | None) -> str | None:
    return reverse("api-clip", args=[clip.token]) if clip and clip.is_ready else None


class Examples(Resource):
    @operation(
        "The worked examples; annotators see those that are not judged again",
        scope=READ,
        answer=ExampleShape,
        pages=True,
    )
    def get(self, request: Request, name: str) -> Response:
        member = doors.anybody(request, name)
        examples = member.campaign.examples.all()
        if member.role not in Membership.SEES_ALL or member.state != Membership.State.ACTIVE:
            return self.page_by(visible_examples(examples).select_related("clip"), _taught, "-grade", "pk")
        hidden = set(
            examples.exclude(pk__in=visible_examples(examples).values("pk")).values_list("pk", flat=True)
        )
        rows = examples.select_related("clip", "moment__video")
        return self.page_by(rows, lambda page: [_known(each, hidden) for each in page], "-grade", "pk")

    @operation(
        "Make an example, or give the one of the same pair another grade and reason",
        scope=LEAD,
        body=NewExample,
        answer=ExampleShape,
        status=201,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead, said = doors.lead(request, name), self.said
        if "candidate" in said:
            candidate = get_object_or_404(teachable(lead.campaign), pk=said["candidate"])
            made = add_example(lead, candidate, said["grade"], said["why"])
        else:
            form = OwnExampleForm(lead.campaign, said)
            if not form.is_valid():
                raise Unfit(faults_of(form))
            found = form.cleaned_data
            made = add_own_example(lead, found["query"], found["moment"], found["grade"], found["why"])
        return Response(_known(made, set()), 201)


def _taught(examples: list[Example]) -> Any:
    return [_shown(each) for each in examples]


def _shown(example: Example) -> dict[str, Any]:
    told = {"id": example.pk, "query": example.query, "grade": example.grade, "why": example.why}
    return told | {"clip": clip_address(example.clip)}


def _known(example: Example, hidden: set[int]) -> dict[str, Any]:
    moment = example.moment
    named = moment_id(moment.video.name, moment.start, moment.end)
    return _shown(example) | {"moment": named, "hidden": example.pk in hidden}


class OneExample(Resource):
    @operation("Remove an example", scope=LEAD, status=204)
    def delete(self, request: Request, name: str, pk: int) -> Response:
        if not doors.lead(request, name).campaign.examples.filter(pk=pk).delete()[0]:
            raise Http404
        return empty()


class Teachable(Resource):
    @operation(
        "The judged pairs that may become examples",
        scope=READ,
        answer=TeachableShape,
        query=TeachableAsked,
        pages=True,
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        return self.page(teachable(campaign, self.asked.get("find", "").strip()), TeachableShape, "pk")
