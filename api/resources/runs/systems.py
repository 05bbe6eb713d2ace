"""Systems that are trained for a campaign: asking for one, how far it is, searching with it, removing it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Number, Query, Shape, Text, Truth, Whole
from api.problems import unfit
from api.resource import Resource, empty, under_way
from api.resources.jobs import JobShape
from api.resources.runs.sending import Findings
from campaigns.models import Token
from corpus.features import sets_of
from jobs.models import Job
from metrics import moment_id
from releases.training.writing import DEEPEST
from runs import doors
from runs.systems.models import LONGEST_QUERY, TrainedSystem
from runs.systems.orders import (
    ENCODER,
    LEARNED,
    LONGEST,
    MOST_SEEDS,
    SEARCH,
    SHORTEST,
    TRAIN,
    Wanted,
    ask_again,
    ask_to_search,
    ask_to_train,
    remove,
)
from runs.systems.pages import State, jobs_of, state_of
from runs.systems.searches import Hit, hits_of
from runs.views import systems
from systems.interface import SYSTEMS, Entry

READ, RUNS = Token.Scope.READ, Token.Scope.RUNS
LARGEST = 10**9
TYPES = {int: "integer", float: "number", bool: "boolean", str: "text"}
FIELDS: dict[type, type[serializers.Field]] = {int: Whole, float: Number, bool: Truth, str: Text}
FILE_TYPES = ("text/csv", "application/json", "image/svg+xml", "application/pdf")


class OptionShape(Shape):
    name = serializers.CharField()
    type = serializers.ChoiceField(list(TYPES.values()))
    default = serializers.JSONField()
    least = serializers.FloatField(allow_null=True)
    most = serializers.FloatField(allow_null=True)
    choices = serializers.ListField(child=serializers.CharField(), help_text="of a text")


class KindShape(Shape):
    name = serializers.CharField(help_text="what `system` is when one is asked for")
    title = serializers.CharField()
    learns = serializers.BooleanField()
    differs = serializers.CharField(
        help_text="in what it differs from its authors' code; empty if nothing is known"
    )
    needs = serializers.ListField(child=serializers.CharField(), help_text="what videos must have")
    options = OptionShape(many=True)


class SystemKindsShape(Shape):
    features = serializers.ListField(child=serializers.CharField(), help_text="the corpus's sets of features")
    kinds = KindShape(many=True)
    example = {
        "features": ["descriptor", "i3d"],
        "kinds": [
            {
                "name": "prior",
                "title": "Moment prior",
                "learns": True,
                "differs": "",
                "needs": [],
                "options": [
                    {
                        "name": "bins",
                        "type": "integer",
                        "default": 75,
                        "least": 1,
                        "most": 10000,
                        "choices": [],
                    }
                ],
            }
        ],
    }


class SystemKinds(Resource):
    @operation("What can be trained, with options and sets of features", scope=READ, answer=SystemKindsShape)
    def get(self, request: Request, name: str) -> Response:
        corpus = doors.membership(request, name).campaign.corpus
        kinds = [_kind(key, entry) for key, entry in SYSTEMS.items()]
        return Response(SystemKindsShape({"features": sets_of(corpus), "kinds": kinds}).data)


def _kind(name: str, entry: Entry) -> dict[str, Any]:
    bounds, choices = entry.options.table("bounds"), entry.options.table("choices")
    options = []
    for field in fields(entry.options):
        if field.name != "seed":
            least, most = bounds.get(field.name, (None, None))
            about = {"name": field.name, "type": TYPES[type(field.default)], "default": field.default}
            options.append(about | {"least": least, "most": most, "choices": choices.get(field.name, ())})
    about = {"name": name, "title": entry.title, "learns": entry.learns, "differs": entry.differs}
    return about | {"needs": sorted(entry.needs), "options": options}


class SystemShape(Shape):
    number = serializers.IntegerField()
    name = serializers.CharField(help_text="of its run")
    system = serializers.CharField()
    title = serializers.CharField(source="entry.title")
    options = serializers.DictField(child=serializers.JSONField(), help_text="that are not the defaults")
    group = serializers.CharField(help_text="the same for systems that differ by their seed, else empty")
    features = serializers.CharField()
    clip_seconds = serializers.FloatField()
    depth = serializers.IntegerField(help_text="N, the moments of each query that it learns from")
    encoder = serializers.CharField(
        help_text="whose token vectors it has for words; empty: it learns vectors"
    )
    notice = serializers.CharField(help_text="what its features lack, in words; empty if nothing")
    by = serializers.IntegerField(source="by.worker")
    at = serializers.DateTimeField(source="created")
    state = serializers.SerializerMethodField()
    job = serializers.SerializerMethodField(help_text="that trains it, with its progress or its error")
    trained = serializers.DateTimeField(allow_null=True, help_text="from when on one can search with it")
    findings = serializers.SerializerMethodField(help_text="why its run was refused")
    run = serializers.IntegerField(source="run.number", allow_null=True, default=None)
    example = {
        "number": 1,
        "name": "stal 1",
        "system": "stal",
        "title": "STAL (TEF)",
        "options": {"iterations": 2000, "seed": 1},
        "group": "stal",
        "features": "i3d",
        "clip_seconds": 1.0,
        "depth": 20,
        "encoder": "",
        "notice": "",
        "by": 4,
        "at": "2026-01-05T09:00:00Z",
        "state": "running",
        "job": JobShape.example | {"kind": TRAIN, "done": 300, "total": 2000},
        "trained": None,
        "findings": None,
        "run": None,
    }

    @extend_schema_field(serializers.ChoiceField(State.choices))
    def get_state(self, row: TrainedSystem) -> str:
        return state_of(row, self._job(row)).value

    @extend_schema_field(JobShape(allow_null=True))
    def get_job(self, row: TrainedSystem) -> Any:
        job = self._job(row)
        return JobShape(job).data if job else None

    @extend_schema_field(Findings(allow_null=True))
    def get_findings(self, row: TrainedSystem) -> Any:
        return (row.submission.findings or None) if row.submission else None

    def _job(self, row: TrainedSystem) -> Job | None:
        jobs: dict[int, Job] = self.context["jobs"]
        return jobs.get(row.pk)


class PointShape(Shape):
    curve = serializers.CharField(help_text="loss, or the measure that the validation computes")
    step = serializers.IntegerField()
    value = serializers.FloatField()


class OneSystemShape(SystemShape):
    curves = PointShape(many=True, source="rows_of_curves")
    example = SystemShape.example | {"curves": [{"curve": "loss", "step": 100, "value": 2.31}]}


def _options_of_all() -> type[Body]:
    """Return the body of the options of all kinds; which of them a kind has, and their ranges, it says itself."""
    known = {field.name: field.default for entry in SYSTEMS.values() for field in fields(entry.options)}
    made: dict[str, Any] = {
        name: FIELDS[type(default)](required=False, **_limits(default))
        for name, default in known.items()
        if name != "seed"
    }
    return type("SystemOptions", (Body,), made | {"__module__": __name__})


def _limits(default: Any) -> dict[str, int]:
    if isinstance(default, str):
        return {"max_length": 40}
    return {} if isinstance(default, bool) else {"min_value": 0, "max_value": LARGEST}


class NewSystem(Body):
    """Systems that differ by their seed have names that end with it."""

    system = Choice(choices=list(SYSTEMS))
    name = Text(max_length=90, help_text="of its run; no other run of the campaign has it")
    features = Text(max_length=100, help_text="the name of a set of features")
    clip_seconds = Number(
        required=False, min_value=SHORTEST, max_value=LONGEST, help_text=f"else {Wanted.clip_seconds:g}"
    )
    depth = Whole(required=False, min_value=1, max_value=DEEPEST, help_text=f"N; else {Wanted.depth}")
    word_vectors = Choice(
        choices=[LEARNED, ENCODER],
        required=False,
        help_text=f"{LEARNED} with the system, or the tokens’ by the campaign’s encoder; else {LEARNED}",
    )
    seeds = serializers.ListField(
        child=Whole(min_value=0, max_value=2**63 - 1),
        required=False,
        min_length=1,
        max_length=MOST_SEEDS,
        help_text="a system is trained with each; else with 1",
    )
    options = _options_of_all()(required=False, help_text="that are not the defaults")
    example = {"system": "stal", "name": "stal", "features": "i3d", "seeds": [1, 2], "options": {"nms": 0.5}}


def _shown(rows: list[TrainedSystem]) -> Any:
    return SystemShape(rows, many=True, context={"jobs": jobs_of(rows)}).data


class Systems(Resource):
    @operation("The systems of a campaign, the newest first", scope=READ, answer=SystemShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        return self.page_by(campaign.systems.select_related("by", "submission", "run"), _shown, "-number")

    @operation(
        "Have systems trained, one with each seed; each submits its run",
        scope=RUNS,
        body=NewSystem,
        answer=SystemShape(many=True),
        later=True,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        with unfit():
            made = ask_to_train(member, Wanted(**self.said))
        return under_way(name, Job.objects.get(kind=TRAIN, key=made[0].job_key), _shown(made))


class OneSystem(Resource):
    @operation("A system, how far it is, and its curves", scope=READ, answer=OneSystemShape)
    def get(self, request: Request, name: str, number: int) -> Response:
        row = doors.trained_system(doors.membership(request, name), number)
        return Response(OneSystemShape(row, context={"jobs": jobs_of([row])}).data)

    @operation(
        "Remove a system that one has asked for, or as a lead any; a training ends, and a run stays",
        scope=RUNS,
        status=204,
    )
    def delete(self, request: Request, name: str, number: int) -> Response:
        remove(doors.removable_system(doors.membership(request, name), number))
        return empty()


class SystemAgain(Resource):
    @operation("Go on with a training that has failed", scope=RUNS, answer=SystemShape, later=True)
    def post(self, request: Request, name: str, number: int) -> Response:
        row = doors.trained_system(doors.membership(request, name), number)
        job = ask_again(row)
        return under_way(name, job, _shown([row])[0])


class SystemCurves(Resource):
    @operation(
        "The curves of a training: their points as CSV, the drawing as JSON (Vega-Lite), SVG or PDF",
        scope=READ,
        file=FILE_TYPES,
    )
    def get(self, request: Request, name: str, number: int, format: str) -> Any:
        return systems.curves(request._request, name, number, format)


class SearchedWords(Query):
    q = Text(max_length=LONGEST_QUERY, help_text="the query")


class SystemHit(Shape):
    moment = serializers.CharField(help_text="its id in TREC files")
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    score = serializers.FloatField()
    clip = serializers.CharField(allow_null=True, help_text="its address, once it is cut")


class SystemFound(Shape):
    found = serializers.BooleanField(help_text="false until the job has ended")
    job = JobShape(allow_null=True, help_text="that searches, with its error if it has failed")
    hits = SystemHit(many=True, help_text="the best first")
    example = {
        "found": True,
        "job": None,
        "hits": [
            {
                "moment": "friends_s01e01@3200-7500",
                "video": "friends_s01e01",
                "start": 3.2,
                "end": 7.5,
                "score": -0.41,
                "clip": None,
            }
        ],
    }


class SystemSearches(Resource):
    @operation(
        "The moments that a trained system finds for a query; 202 while a job searches",
        scope=READ,
        query=SearchedWords,
        answer=SystemFound,
        or_later=True,
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        member = doors.membership(request, name)
        asked = ask_to_search(doors.trained_system(member, number), self.asked["q"])
        found = asked.moments is not None
        job = None if found else Job.objects.filter(kind=SEARCH, key=asked.job_key).first()
        hits = [_hit(each) for each in hits_of(asked, member.campaign)]
        shown = SystemFound({"found": found, "job": job, "hits": hits}).data
        return under_way(name, job, shown) if job and job.is_unfinished else Response(shown)


def _hit(hit: Hit) -> dict[str, Any]:
    clip = reverse("api-clip", args=[hit.clip.token]) if hit.clip and hit.clip.is_ready else None
    about = {"moment": moment_id(hit.video, hit.start, hit.end), "video": hit.video}
    return about | {"start": hit.start, "end": hit.end, "score": hit.score, "clip": clip}
