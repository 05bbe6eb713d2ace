"""Systems that are trained for a campaign: asking for one, how far it is, searching with it, removing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.fields import Choice, Number, Text, Truth, Whole
from api.operations import ONCE, OR_LATER, RUNS, UNFIT, Rows, annotated, changes, reads, starts
from api.resource import CAMPAIGN, ClipAddress, Resource
from api.resources.jobs import JobSerializer
from api.resources.numbers import FILE_TYPES
from api.resources.runs import Findings
from api.serializers import Body, ModelAnswer, Page, QueryParameters, inline
from corpus.features import sets_of
from releases.training import DEEPEST
from runs import access
from runs.systems import orders
from runs.systems.models import LONGEST_QUERY, TrainedSystem
from runs.systems.pages import PAPER, State, curves_file, jobs_of, presets_of, state_of, waiting
from runs.systems.training import train_system
from systems.features.reader import CLIPS_MEANING, FIT_MEANING, FITS, STRICT, UNIT_MEANING
from systems.interface import SYSTEMS, Entry
from systems.options import GROUPS

LARGEST = 10**9
TYPES = {int: "integer", float: "number", bool: "boolean", str: "text"}
FIELDS: dict[type, Callable[..., serializers.Field]] = {
    int: partial(Whole, min_value=0, max_value=LARGEST),
    float: partial(Number, min_value=0, max_value=LARGEST),
    bool: Truth,
    str: partial(Text, max_length=40),
}


class OptionSerializer(serializers.Serializer):
    name = serializers.CharField()
    group = serializers.ChoiceField(GROUPS, help_text="what it is for")
    type = serializers.ChoiceField(list(TYPES.values()))
    default = serializers.JSONField()
    least = serializers.FloatField(allow_null=True)
    most = serializers.FloatField(allow_null=True)
    choices = serializers.ListField(child=serializers.CharField(), help_text="of a text")


class KindSerializer(serializers.Serializer):
    title = serializers.CharField()
    learns = serializers.BooleanField()
    differs = serializers.CharField(help_text="in what it differs from its authors' code; empty if nothing is known")
    name = serializers.CharField(help_text="what `system` is when one is asked for")
    needs = serializers.ListField(child=serializers.CharField(), help_text="what videos must have")
    options = OptionSerializer(many=True)
    steps = serializers.IntegerField(help_text="of a training with the defaults; 0 if it is not trained by steps")
    step_seconds = serializers.FloatField(allow_null=True, help_text="of the last training on this site; null: none")
    paper = serializers.DictField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="with preset=paper, the options that make its training as long as TVR-Ranking’s for this corpus",
    )


class BeforeSerializer(serializers.Serializer):
    trainings = serializers.IntegerField(help_text="of the whole site, that run or were asked for before")
    seconds = serializers.FloatField(allow_null=True)


class SystemKindsSerializer(serializers.Serializer):
    before = BeforeSerializer(help_text="what is done before a training that is asked for now")
    features = serializers.ListField(child=serializers.CharField(), help_text="the corpus's sets of features")
    kinds = KindSerializer(many=True)


class Preset(QueryParameters):
    preset = serializers.ChoiceField([PAPER], required=False, help_text="options as in TVR-Ranking, too")


class SystemKinds(Resource, at=f"{CAMPAIGN}/systems/kinds", name="system-kinds"):
    @reads(SystemKindsSerializer, query=Preset)
    def get(self) -> Any:
        """What can be trained, with options and sets of features, and how long it takes."""
        campaign, took = self.participant.campaign, TrainedSystem.objects.seconds_a_step(SYSTEMS)
        presets = presets_of(campaign) if self.params.get("preset") else {}
        kinds = [_kind(key, entry, took.get(key), presets.get(key)) for key, entry in SYSTEMS.items()]
        return {"features": sets_of(campaign.corpus), "kinds": kinds, "before": waiting().before()}


def _kind(name: str, entry: Entry, took: float | None, paper: Mapping[str, int] | None) -> Any:
    options = [
        {"name": field.name, "type": TYPES[type(field.default)], "default": field.default, **field.metadata}
        for field in fields(entry.options)
        if field.name != "seed"
    ]
    more = {"steps": entry.options().steps, "step_seconds": took, "paper": paper}
    return vars(entry) | {"name": name, "needs": sorted(entry.needs), "options": options, **more}


class SystemSerializer(ModelAnswer):
    title = serializers.CharField(source="entry.title")
    by = serializers.IntegerField(source="by.worker")
    at = serializers.DateTimeField(source="created")
    run = serializers.IntegerField(source="run.number", allow_null=True, default=None)
    options = serializers.DictField(child=serializers.JSONField(), help_text="that are not the defaults")
    state = serializers.SerializerMethodField()
    job = JobSerializer(allow_null=True, read_only=True, help_text="that trains it, with its progress or its error")
    steps_left = serializers.IntegerField(read_only=True)
    before = BeforeSerializer(allow_null=True, read_only=True, help_text="while it waits, what is done before it")
    findings = Findings(source="submission.findings", allow_null=True, read_only=True, help_text="why it was refused")

    class Meta:
        model = TrainedSystem
        fields = [
            "number",
            "name",
            "system",
            "group",
            "features",
            "clip_seconds",
            "fit",
            "unit_rows",
            "depth",
            "encoder",
            "notice",
            "trained",
            "step_seconds",
        ]
        help_texts = {
            "name": "of its run",
            "group": "the same for systems that differ by their seed, else empty",
            "depth": "N, the moments of each query that it learns from",
            "encoder": "whose token vectors it has for words; empty: it learns vectors",
            "notice": "what its features lack and what its index finds, in words; empty if nothing",
            "trained": "from when on one can search with it",
            "step_seconds": "how long a step took when it was last trained; null before one was",
        }

    @extend_schema_field(serializers.ChoiceField(State.choices))
    def get_state(self, row: Any) -> str:
        return state_of(row, row.job).value


class PointSerializer(serializers.Serializer):
    curve = serializers.CharField(help_text="loss, or the measure that the validation computes")
    step = serializers.IntegerField()
    value = serializers.FloatField()


class SystemOptions(Body):
    def get_fields(self) -> dict[str, serializers.Field]:
        """Return the options of all kinds; which of them a kind has, and their ranges, it says itself."""
        defaults = {field.name: field.default for entry in SYSTEMS.values() for field in fields(entry.options)}
        return {name: FIELDS[type(default)](required=False) for name, default in defaults.items() if name != "seed"}


class NewSystem(Body):
    """Systems that differ by their seed have names that end with it."""

    system = Choice(choices=list(SYSTEMS))
    name = Text(max_length=90, help_text="of its run; no other run of the campaign has it")
    features = Text(
        max_length=100,
        help_text="the name of a set of features, or several of files with + between them; behind one may stand @ "
        f"with {CLIPS_MEANING}",
    )
    clip_seconds = Number(
        required=False,
        min_value=orders.SHORTEST,
        max_value=orders.LONGEST,
        help_text=f"else {orders.Wanted.clip_seconds:g}",
    )
    fit = Choice(choices=FITS, required=False, help_text=f"{FIT_MEANING} Else {STRICT}")
    unit_rows = Truth(required=False, help_text=f"{UNIT_MEANING} Else false")
    depth = Whole(required=False, min_value=1, max_value=DEEPEST, help_text=f"N; else {orders.Wanted.depth}")
    word_vectors = Choice(
        choices=[orders.LEARNED, orders.ENCODER],
        required=False,
        help_text=f"{orders.LEARNED} with the system, or the tokens’ by the campaign’s encoder; else {orders.LEARNED}",
    )
    seeds = serializers.ListField(
        child=Whole(min_value=0, max_value=2**63 - 1),
        required=False,
        min_length=1,
        max_length=orders.MOST_SEEDS,
        help_text="a system is trained with each; else with 1",
    )
    options = SystemOptions(required=False, help_text="that are not the defaults")

    def to_internal_value(self, data: Any) -> Any:
        """Where the document has faults, also say for what else no system of this campaign could be trained."""
        try:
            return super().to_internal_value(data)
        except serializers.ValidationError as fault:
            faults: dict[str, Any] = dict(fault.detail)
            if "system" not in (right := _right(self, data, faults)):
                raise
            named = set(faults) | set(faults.get("options", ()))
            order = orders.Wanted(**{"name": "", "features": ""} | right)
            more = order.faults(self.context["resource"].participant.campaign)
            faults |= {name: words for name, words in more.items() if name not in named}
            raise serializers.ValidationError(faults) from fault


def _right(body: Body, data: Any, faults: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a document that are right by themselves, and add the faults of the others."""
    found = {}
    for name in body.fields.keys() & data.keys() if isinstance(data, dict) else ():
        try:
            found[name] = body.fields[name].run_validation(data[name])
        except serializers.ValidationError as fault:
            faults[name] = fault.detail
            if isinstance(body.fields[name], Body):
                found[name] = _right(body.fields[name], data[name], {})
    return found


def _with_jobs(rows: list[TrainedSystem]) -> list[Any]:
    jobs, ahead = jobs_of(rows), waiting()
    found = [(row, jobs.get(row.pk)) for row in rows]
    return [annotated(row, job=job, before=ahead.before(job) if job else None) for row, job in found]


class Systems(Resource, at=f"{CAMPAIGN}/systems", name="systems"):
    @reads(Page(SystemSerializer))
    def get(self) -> Any:
        """The systems of a campaign, the newest first."""
        rows = self.participant.campaign.systems.select_related("by", "submission", "run")
        return Rows(rows, ("-number",), _with_jobs)

    @starts(SystemSerializer(many=True), ONCE, UNFIT, body=NewSystem, scope=RUNS)
    def post(self) -> Any:
        """Have systems trained, one with each seed; each submits its run."""
        made = orders.ask_to_train(self.participant, orders.Wanted(**self.data))
        return self.under_way(train_system.jobs(made[0]).get(), _with_jobs(made))


class OneSystem(Resource, at=f"{CAMPAIGN}/systems/<int:number>", name="system"):
    @reads(inline("OneSystemSerializer", SystemSerializer, curves=PointSerializer(many=True, source="rows_of_curves")))
    def get(self, number: int) -> Any:
        """A system, how far it is, and its curves."""
        return _with_jobs([access.trained_system(self.participant, number)])[0]

    @changes(scope=RUNS)
    def delete(self, number: int) -> Any:
        """Remove a system that one has asked for, or as a lead any; a training ends, and a run stays."""
        orders.remove(access.removable_system(self.participant, number))


class SystemAgain(Resource, at=f"{CAMPAIGN}/systems/<int:number>/again", name="system-again"):
    @starts(SystemSerializer, scope=RUNS)
    def post(self, number: int) -> Any:
        """Go on with a training that has failed."""
        row = access.trained_system(self.participant, number)
        return self.under_way(orders.ask_again(row), _with_jobs([row])[0])


class SystemCurves(Resource, at=f"{CAMPAIGN}/systems/<int:number>/curves/<slug:format>", name="system-curves"):
    @reads(FILE_TYPES)
    def get(self, number: int, format: str) -> Any:
        """The curves of a training: their points as CSV, the drawing as JSON (Vega-Lite), SVG or PDF."""
        return curves_file(access.trained_system(self.participant, number), format)


class SearchedWords(QueryParameters):
    q = Text(max_length=LONGEST_QUERY, help_text="the query")


class SystemHit(serializers.Serializer):
    moment = serializers.CharField(help_text="its id in TREC files")
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    score = serializers.FloatField()
    clip = ClipAddress()


class SystemFound(serializers.Serializer):
    found = serializers.BooleanField(help_text="false until the job has ended")
    job = JobSerializer(allow_null=True, help_text="that searches, with its error if it has failed")
    hits = SystemHit(many=True, help_text="the best first")


class SystemSearches(Resource, at=f"{CAMPAIGN}/systems/<int:number>/search", name="system-search"):
    @reads(SystemFound, OR_LATER, query=SearchedWords)
    def get(self, number: int) -> Any:
        """The moments that a trained system finds for a query; 202 while a job searches."""
        row = access.trained_system(self.participant, number)
        search = orders.ask_to_search(row, self.params["q"], self.participant)
        found = search.moments is not None
        job = None if found else orders.search_with_system.jobs(search).first()
        data = {"found": found, "job": job, "hits": orders.hits_of(search, self.participant.campaign)}
        return self.under_way(job if job and job.is_unfinished else None, data)
