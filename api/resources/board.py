"""The leaderboard, one more measure, a benchmark judged again, why a score is so, and how reliable measures are."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import reverse
from rest_framework import serializers

from api.fields import Choice, Text, Whole
from api.operations import OR_LATER, RUNS, UNFIT, Answer, annotated, changes, reads
from api.resource import CAMPAIGN, ClipAddress, Resource
from api.resources.jobs import JobSerializer
from api.resources.numbers import FILE_TYPES
from api.resources.runs import OfRelease
from api.serializers import Body, parameters_of
from base.errors import WrongState
from base.forms import LARGEST
from campaigns.models import Membership
from runs.access import benchmark as benchmark_of
from runs.board.files import numbers_of
from runs.board.options import board_options, board_reference, measure_named
from runs.board.table import board
from runs.explain.cases import Side, case_of
from runs.explain.figures import run_figure_file
from runs.explain.queries import ExplanationOptions, explanation_options, scored_queries, texts_of
from runs.forms import LONGEST_MEASURE, BoardForm, ExplanationForm, RejudgedForm, ReliabilityForm
from runs.models import Run, ScoringReference
from runs.rejudging import HEADLINE, IN_GRADES, new_order
from runs.reliability.inquiries import (
    CONVENTIONS,
    MOST_RUNS,
    ReliabilityOptions,
    ask_to_examine,
    examination_file,
    job_of,
    reliability_options,
)
from runs.scoring import ask_for_measure, remove_measure, score_runs

BoardParameters = parameters_of(
    BoardForm,
    seeds=serializers.ChoiceField(["together"], required=False),
    means=serializers.ChoiceField(["plain"], required=False, help_text="of the judged queries, instead of estimates"),
)


class SampleSerializer(serializers.Serializer):
    judged = serializers.IntegerField(help_text="queries of the random sample")
    ranked = serializers.IntegerField(help_text="all queries; 0 if the release does not tell")
    flaw = serializers.CharField(help_text="why the sample is not random; empty if it is")


class BoardSerializer(serializers.Serializer):
    campaign = serializers.CharField()
    release = serializers.IntegerField()
    sha256 = serializers.CharField()
    convention = serializers.CharField()
    queries = serializers.IntegerField()
    sample = SampleSerializer()
    estimated = serializers.BooleanField(
        help_text="whether scores are of all ranked queries, estimated; `plain` is then their mean over the judged ones"
    )
    baseline = serializers.CharField(allow_null=True)
    level = serializers.FloatField(help_text="of significance")
    rows = serializers.ListField(child=serializers.DictField(), help_text="runs with their scores by measure")


class Leaderboard(Resource, at=f"{CAMPAIGN}/leaderboard", name="leaderboard"):
    @reads(BoardSerializer, UNFIT, query=BoardParameters)
    def get(self) -> Any:
        """The runs of a campaign beside each other."""
        options = dict(self.params)
        reference = _reference(self.participant, options.pop("release", None))
        return numbers_of(board(Run.objects.seen_by(self.participant), reference, board_options(reference, **options)))


class PlacedSerializer(serializers.Serializer):
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True, help_text="of the 95 % bootstrap interval over queries")
    high = serializers.FloatField(allow_null=True)
    place = serializers.IntegerField(allow_null=True, help_text="among the runs, from 1")


class NewOrderRow(serializers.Serializer):
    run = serializers.IntegerField(source="run.number")
    name = serializers.CharField(source="run.name")
    before = PlacedSerializer(help_text="on the benchmark")
    after = PlacedSerializer(many=True, help_text="in grades, by each of `measures`")


class NewOrderSerializer(serializers.Serializer):
    """The runs on a benchmark and in grades, the best in grades first."""

    measure = serializers.CharField(help_text="on the benchmark")
    queries = serializers.IntegerField(help_text="that are judged in both ways")
    release = serializers.IntegerField(source="release.version")
    measures = serializers.ListField(child=serializers.CharField(), help_text="in grades")
    taus = serializers.ListField(child=serializers.FloatField(allow_null=True), help_text="τ-b with the benchmark")
    rows = NewOrderRow(many=True)


class Rejudged(Resource, at=f"{CAMPAIGN}/leaderboard/judged-again", name="rejudged"):
    @reads(NewOrderSerializer, query=parameters_of(RejudgedForm))
    def get(self) -> Any:
        """How the order of systems changes once a leaderboard is judged again."""
        benchmark_of(self.participant)
        found = new_order(self.participant, self.params.get("own", HEADLINE))
        if found is None:
            raise Http404
        return annotated(found, measures=IN_GRADES)


class NewMeasure(Body):
    measure = Text(max_length=LONGEST_MEASURE, help_text="its name, as the library parses it")
    release = Whole(required=False, min_value=1, max_value=LARGEST, help_text="else the newest")


class MeasureSerializer(serializers.Serializer):
    measure = serializers.CharField()
    release = serializers.IntegerField()


class Measures(Resource, at=f"{CAMPAIGN}/leaderboard/measures", name="measures"):
    @changes(MeasureSerializer, OR_LATER, UNFIT, body=NewMeasure, scope=RUNS)
    def post(self) -> Any:
        """Have all runs scored by one more measure."""
        release = _reference(self.participant, self.data.get("release")).release
        measure = measure_named(self.data["measure"])
        ask_for_measure(release, measure, self.participant)
        job = score_runs.jobs(release).first()
        return self.under_way(job, {"measure": str(measure), "release": release.version})


class OneMeasure(Resource, at=f"{CAMPAIGN}/leaderboard/measures/<str:measure>", name="measure"):
    @changes(None, UNFIT, query=OfRelease)
    def delete(self, measure: str) -> Any:
        """Score runs no longer by a further measure, and list no scores by it."""
        release = _reference(self.lead, self.params.get("release")).release
        remove_measure(release, measure_named(measure), self.lead)


def _reference(member: Membership, version: int | None) -> ScoringReference:
    found = board_reference(member, version)
    if found is None:
        raise Http404
    return found


ExplanationParameters = parameters_of(ExplanationForm)
OneQueryParameters = parameters_of(ExplanationForm, query=Text(max_length=100, help_text="its id in runs"))


class LineSerializer(serializers.Serializer):
    query = serializers.CharField(help_text="its id in runs")
    value = serializers.FloatField(allow_null=True)
    other = serializers.FloatField(allow_null=True, help_text="of the first run beside it")
    difference = serializers.FloatField(allow_null=True, help_text="to the other run; of several, highest less lowest")
    values = serializers.ListField(child=serializers.FloatField(), help_text="of all runs, in the order of `runs`")
    text = serializers.CharField()


class QueriesSerializer(serializers.Serializer):
    release = serializers.IntegerField(source="reference.release.version")
    convention = serializers.CharField(source="convention.name")
    measure = serializers.CharField()
    queries = LineSerializer(many=True, help_text="the worst first; beside runs, by the size of the difference")
    runs = serializers.ListField(child=serializers.IntegerField(), source="run_numbers", help_text="their numbers")


class JudgedSerializer(serializers.Serializer):
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    grade = serializers.IntegerField()
    candidate = serializers.IntegerField(source="candidate.pk", allow_null=True, default=None)
    clip = ClipAddress(read_only=True)


class RankSerializer(serializers.Serializer):
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    score = serializers.FloatField(help_text="of the run")
    iou = serializers.FloatField(help_text="with what it matches, or nearly")
    gain = serializers.FloatField(allow_null=True)
    discount = serializers.FloatField(allow_null=True)
    counts = serializers.FloatField(allow_null=True, help_text="the gain over the discount")
    rank = serializers.IntegerField(source="number")
    match = serializers.IntegerField(allow_null=True, read_only=True, help_text="its place in `moments`, from 0")


class SideSerializer(serializers.Serializer):
    run = serializers.IntegerField(source="run.number")
    ideal = serializers.FloatField(allow_null=True)
    values = serializers.DictField(child=serializers.FloatField(allow_null=True), help_text="by convention")
    ranks = RankSerializer(many=True)


class CaseSerializer(serializers.Serializer):
    query = serializers.CharField()
    text = serializers.CharField()
    durations = serializers.DictField(child=serializers.FloatField(), help_text="seconds of each video")
    moments = JudgedSerializer(many=True, help_text="judged moments that take part")
    sides = SideSerializer(many=True, help_text="the run, and the others")


class RunQueries(Resource, at=f"{CAMPAIGN}/runs/<int:number>/queries", name="run-queries"):
    @reads(QueriesSerializer, UNFIT, query=ExplanationParameters)
    def get(self, number: int) -> Any:
        """What a run scores on each query."""
        options = _explained(self.participant, number, **self.params)
        lines = scored_queries(options)
        if lines is None:
            raise Http404
        texts = texts_of(options.run.campaign, lines)
        runs = [run.number for run in options.runs]
        return annotated(
            options, run_numbers=runs, queries=[annotated(line, text=texts.get(line.query, "")) for line in lines]
        )


class RunQuery(Resource, at=f"{CAMPAIGN}/runs/<int:number>/query", name="run-query"):
    @reads(CaseSerializer, UNFIT, query=OneQueryParameters)
    def get(self, number: int) -> Any:
        """What each rank of a run counts on one query."""
        options = dict(self.params)
        query = options.pop("query")
        case = case_of(_explained(self.participant, number, **options), query)
        if case is None:
            raise Http404
        places = {id(moment): place for place, moment in enumerate(case.moments)}
        return annotated(case, sides=[_side(side, places) for side in case.sides])


class RunScatter(Resource, at=f"{CAMPAIGN}/runs/<int:number>/scatter/<slug:format>", name="run-scatter"):
    @reads(FILE_TYPES, UNFIT, query=ExplanationParameters)
    def get(self, number: int, format: str) -> Any:
        """Two runs query by query: the numbers as CSV, the drawing as JSON (Vega-Lite), SVG or PDF."""
        options = explanation_options(self.participant, number, **self.params)
        return run_figure_file(options, self.params.get("against", []), "scatter", format)


def _explained(member: Membership, number: int, **options: Any) -> ExplanationOptions:
    found = explanation_options(member, number, **options)
    if found is None:
        raise WrongState("The run has no scores yet.")
    return found


def _side(side: Side, places: dict[int, int]) -> Any:
    """Return a run on the query; values that are not counted are null."""
    values = {name: None if value != value else value for name, value in side.values.items()}
    return annotated(
        side, values=values, ranks=[annotated(rank, match=places.get(id(rank.match))) for rank in side.ranks]
    )


ReliabilityParameters = parameters_of(ReliabilityForm)


class ExaminedSerializer(serializers.Serializer):
    release = serializers.IntegerField(source="release.version")
    convention = serializers.CharField()
    figure = serializers.CharField(source="figure.key")
    tells = serializers.CharField(help_text="what the figure shows, in words")
    runs = serializers.ListField(child=serializers.IntegerField(), source="run_numbers", help_text="their numbers")
    measures = serializers.ListField(child=serializers.CharField(), help_text="that were examined")
    examined = serializers.BooleanField(help_text="false until somebody has asked and the job has ended")
    job = JobSerializer(allow_null=True)
    rows = serializers.ListField(child=serializers.DictField(), help_text="its numbers")


class NewExamination(Body):
    """Some runs, or without them all that are scored."""

    runs = serializers.ListField(
        child=Whole(min_value=1, max_value=LARGEST), required=False, max_length=MOST_RUNS, help_text="numbers"
    )
    release = Whole(required=False, min_value=1, max_value=LARGEST, help_text="else the newest")
    convention = Choice(choices=CONVENTIONS, required=False)


class Examination(Resource, at=f"{CAMPAIGN}/believe", name="believe"):
    @reads(ExaminedSerializer, UNFIT, query=ReliabilityParameters)
    def get(self) -> Any:
        """What an examination of the measures found, figure by figure."""
        return _examined(_examination(self.participant, **self.params))

    @changes(ExaminedSerializer, OR_LATER, UNFIT, body=NewExamination, scope=RUNS)
    def post(self) -> Any:
        """Have the measures examined on some runs; the same runs are examined once."""
        options = _examination(
            self.participant, **{"run" if field == "runs" else field: value for field, value in self.data.items()}
        )
        ask_to_examine(options.runs, options.release, options.convention, self.participant)
        data = _examined(options)
        if data.examined or data.job is None:
            return data
        # The job may be about private runs, so the campaign's jobs do not have it.
        return Answer.later(
            f"{reverse('api-believe', args=[self.participant.campaign.name])}?{options.address()}", data
        )


class ExaminationFile(Resource, at=f"{CAMPAIGN}/believe/<slug:format>", name="believe-file"):
    @reads(FILE_TYPES, UNFIT, query=ReliabilityParameters)
    def get(self, format: str) -> Any:
        """A figure: its numbers as CSV, its drawing as JSON (Vega-Lite), SVG or PDF."""
        return examination_file(reliability_options(self.participant, **self.params), format)


def _examination(member: Membership, **options: Any) -> ReliabilityOptions:
    found = reliability_options(member, **options)
    if found is None:
        raise Http404
    return found


def _examined(options: ReliabilityOptions) -> Any:
    findings, job = options.findings, job_of(options.inquiry)
    runs, measures = [run.number for run in options.runs], findings["measures"] if findings else []
    return annotated(options, run_numbers=runs, measures=measures, examined=findings is not None, job=job)
