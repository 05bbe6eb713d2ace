"""Numbers about a campaign: progress, agreement, the judgements behind them, and the paper's tables and figures."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.utils.urls import replace_query_param

from api.fields import Text, Whole
from api.operations import ONCE, UNFIT, annotated, reads, starts
from api.problems import checked
from api.resource import CAMPAIGN, Resource
from api.serializers import Body, QueryParameters
from base.forms import LARGEST, LARGEST_KEY
from base.sites import site_address
from campaigns.models import Campaign
from judging.consensus import GRADES
from judging.models import Kind
from judging.models.judgement import DOUBTFUL
from judging.pool.ranking import MOST_CANDIDATES, MOST_QUERIES, RankingPlan, ask_for_study
from reports.campaign_summaries import AGREEMENT, FIGURES, PROGRESS, QUERIES, SEVERITY, count_agreement, current_summary
from reports.figures.catalogue import DRAWN, TABLES, CampaignFigure
from reports.figures.files import campaign_figure_file, subject_of
from reports.figures.numbers import FigureSubject, annotator_of, disputed, matrix, opposed, severities, week_name
from reports.tables.judgements import ONLY, counted_judgements, judgements_listing
from reports.tables.queries import numbers_in_states

HOURS = ("seconds", "mean", "seconds_left")  # which a researcher is not told
FILE_TYPES = ("text/csv", "application/json", "image/svg+xml", "application/pdf")


class Counted(serializers.Serializer):
    made = serializers.DateTimeField(allow_null=True, help_text="when their judgements were read")
    counting = serializers.BooleanField(help_text="whether newer numbers are being counted")


class Numbers(Counted):
    """Numbers about a campaign. Those of a large one are counted by a job, and may be some minutes old."""

    counting = serializers.BooleanField(help_text="whether newer ones are being counted")
    numbers = serializers.DictField(child=serializers.JSONField(), allow_null=True, help_text="null until counted")


class QueryAgreement(serializers.Serializer):
    query = serializers.IntegerField(help_text="the id of the query's resource")
    text = serializers.CharField()
    pairs = serializers.IntegerField(help_text="of grades")
    contested = serializers.FloatField(allow_null=True)
    discarded = serializers.IntegerField()
    distance = serializers.FloatField(allow_null=True, help_text="mean difference of two grades")
    mean = serializers.FloatField(allow_null=True, help_text="of the grades")


class QueriesAgreement(Counted):
    queries = QueryAgreement(many=True, help_text="those with most disagreement first")


class AnnotatorSeverity(serializers.Serializer):
    worker = serializers.IntegerField()
    ratings = serializers.IntegerField(help_text="grades of pairs that others judged too")
    difference = serializers.FloatField(allow_null=True, help_text="mean of the own grade minus the co-judge's")
    severity = serializers.FloatField(
        allow_null=True, help_text="grades above the mean of all annotators; null, as the next: too few ratings"
    )
    severity_low = serializers.FloatField(allow_null=True, help_text="of the 95 % interval, as the next")
    severity_high = serializers.FloatField(allow_null=True)
    spread = serializers.FloatField(allow_null=True, help_text="standard deviation around the pairs' latent grades")
    spread_low = serializers.FloatField(allow_null=True)
    spread_high = serializers.FloatField(allow_null=True)
    careful = serializers.BooleanField(help_text="whether the spread is below the middle one")


class OpposedPair(serializers.Serializer):
    query = serializers.IntegerField(help_text="the id of the query's resource")
    query_id = serializers.CharField()
    text = serializers.CharField()
    candidate = serializers.IntegerField()
    batch = serializers.IntegerField()
    rank = serializers.IntegerField()
    consensus = serializers.IntegerField()
    latent = serializers.FloatField(help_text="the grade that the model gives the pair")
    error = serializers.FloatField(help_text="its standard deviation")
    difficulty = serializers.FloatField(help_text="the factor of everybody's spread")
    by = serializers.CharField(help_text="worker numbers of the careful annotators, with blanks between")


class DisputedQuery(serializers.Serializer):
    query = serializers.IntegerField(help_text="the id of the query's resource")
    query_id = serializers.CharField()
    text = serializers.CharField()
    pairs = serializers.IntegerField(help_text="of grades")
    annotators = serializers.IntegerField()
    ratio = serializers.FloatField(help_text="disagreement beside what is expected of these annotators")
    least = serializers.FloatField(help_text="the same, whoever is left out")


class SeveritySerializer(Counted):
    annotators = AnnotatorSeverity(many=True)
    opposed = OpposedPair(many=True, help_text="pairs on which careful annotators oppose the consensus")
    disputed = DisputedQuery(many=True, help_text="queries whose disagreement is everybody's")


class Progress(Resource, at=f"{CAMPAIGN}/progress", name="progress"):
    @reads(Numbers)
    def get(self) -> Any:
        """How far a campaign is, how fast it goes, and when it ends at this pace.

        `queries` counts those that are closed, begun and not closed, and new, as they are now.
        """
        summary = current_summary(self.member.campaign, PROGRESS)
        numbers = dict(summary.counts) if summary.counts else None
        if numbers:
            states = numbers_in_states(self.member.campaign_id)
            numbers["queries"] = {"all": states[""]} | {state: states[state] for state in ("closed", "begun", "new")}
        if numbers and not self.member.may_review:
            numbers = {key: value for key, value in numbers.items() if key not in HOURS}
            numbers["days"] = [[day, judgements] for day, judgements, _ in numbers["days"]]
        return annotated(summary, numbers=numbers)


class Agreement(Resource, at=f"{CAMPAIGN}/agreement", name="agreement"):
    @reads(Numbers)
    def get(self) -> Any:
        """How far annotators agree, in all, each of them, and each two."""
        return _agreement(self.member.campaign)

    @starts(Numbers)
    def post(self) -> Any:
        """Have everything counted again."""
        campaign = self.lead.campaign
        return self.under_way(count_agreement.ask(campaign), _agreement(campaign))


class AnnotatorAgreement(Resource, at=f"{CAMPAIGN}/agreement/annotators/<int:worker>", name="agreement-annotator"):
    @reads(Numbers)
    def get(self, worker: int) -> Any:
        """How far one annotator agrees with the others, by week and with each."""
        campaign = self.member.campaign
        member = get_object_or_404(campaign.memberships, worker=worker)
        summary = current_summary(campaign, AGREEMENT)
        own = annotator_of(summary.counts, member) if summary.counts else None
        return annotated(summary, numbers=_of_one(campaign, own) if own else None)


class SeverityOfAnnotators(Resource, at=f"{CAMPAIGN}/agreement/severity", name="severity"):
    @reads(SeveritySerializer)
    def get(self) -> Any:
        """How severe and how exact each annotator is, and the pairs and queries that this calls into question."""
        campaign = self.member.campaign
        summary, subject = current_summary(campaign, SEVERITY), FigureSubject(campaign)
        lists = {"annotators": severities, "opposed": opposed, "disputed": disputed}
        found = {name: rows(summary.counts, subject) if summary.counts else [] for name, rows in lists.items()}
        return annotated(summary, **found)


class AgreementByQuery(Resource, at=f"{CAMPAIGN}/agreement/queries", name="agreement-queries"):
    @reads(QueriesAgreement)
    def get(self) -> Any:
        """How far annotators agree on each query."""
        summary = current_summary(self.member.campaign, QUERIES)
        texts = dict(self.member.campaign.queries.values_list("pk", "text"))
        names = ("query", "pairs", "contested", "discarded", "distance", "mean")
        rows = [dict(zip(names, row, strict=True)) for row in summary.counts or [] if row[0] in texts]
        return annotated(summary, queries=[row | {"text": texts[row["query"]]} for row in rows])


def _agreement(campaign: Campaign) -> Any:
    """Return the numbers with worker numbers in place of keys of the database."""
    summary = current_summary(campaign, AGREEMENT)
    if summary.counts is None:
        return annotated(summary, numbers=None)
    people = [
        {key: value for key, value in row.items() if not isinstance(value, list | dict)}
        for row in _named(campaign, summary.counts["annotators"])
    ]
    numbers = {key: value for key, value in summary.counts.items() if not isinstance(value, list)}
    each_two = matrix(summary.counts, FigureSubject(campaign))
    return annotated(summary, numbers=numbers | {"annotators": people, "matrix": each_two})


def _of_one(campaign: Campaign, own: Any) -> Any:
    """Return an annotator's numbers, those by week and beside each other annotator too."""
    [numbers] = _named(campaign, [own])
    weeks = [each | {"week": week_name(each["week"])} for each in own["weeks"] if each["week"]]
    return numbers | {"weeks": weeks, "others": _named(campaign, own["others"])}


def _named(campaign: Campaign, rows: Any) -> list[dict[str, Any]]:
    workers = dict(campaign.memberships.values_list("pk", "worker"))
    return [
        {"worker": workers[row["member"]]} | {key: value for key, value in row.items() if key != "member"}
        for row in rows
        if row["member"] in workers
    ]


class JudgementSerializer(serializers.Serializer):
    id = serializers.IntegerField(source="judgement.pk")
    candidate = serializers.IntegerField(source="judgement.candidate_id")
    query = serializers.IntegerField(source="judgement.candidate.query_id")
    rank = serializers.IntegerField(source="judgement.candidate.rank")
    worker = serializers.IntegerField(source="judgement.annotator.as_worker.worker")
    grade = serializers.IntegerField(source="judgement.grade")
    seconds = serializers.FloatField(allow_null=True, help_text="before the first grade")
    other = serializers.IntegerField(source="other.grade", allow_null=True, default=None, help_text="the co-judge's")
    seat = serializers.IntegerField(source="judgement.seat")
    doubt = serializers.BooleanField(source="judgement.is_doubtful", help_text=DOUBTFUL)


class JudgementsPage(serializers.Serializer):
    next = serializers.CharField(allow_null=True, help_text="the address of the page with older ones")
    results = JudgementSerializer(many=True)


class JudgementsParameters(QueryParameters):
    worker = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)
    query = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY)
    week = Text(required=False, max_length=20, help_text="as 2026-W05")
    only = serializers.ChoiceField(list(ONLY), required=False)
    own = serializers.IntegerField(required=False, min_value=min(GRADES), max_value=max(GRADES))
    other = serializers.IntegerField(required=False, min_value=min(GRADES), max_value=max(GRADES))
    before = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, help_text="an id")
    with_ = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)


class Judgements(Resource, at=f"{CAMPAIGN}/judgements", name="judgements"):
    @reads(JudgementsPage, UNFIT, query=JudgementsParameters)
    def get(self) -> Any:
        """The judgements that count, the newest first."""
        rows, before = counted_judgements(self.member.campaign), self.params.get("before")
        choices = judgements_listing(self.member).choices(self.params)
        checked(choices.form)
        page = choices.part(rows if before is None else rows.filter(pk__lt=before), total=0)
        here = site_address(self.request) + self.request.get_full_path()
        following = str(replace_query_param(here, "before", page.keys[-1])) if page.after else None
        return {"next": following, "results": page.lines}


class FigureSerializer(serializers.Serializer):
    key = serializers.CharField(help_text="names it in addresses")
    title = serializers.CharField()
    caption = serializers.CharField()
    tells = serializers.CharField(help_text="what its numbers show, in words")
    rows = serializers.ListField(child=serializers.DictField())
    files = serializers.ListField(child=serializers.CharField(), help_text="names of its files")


class FiguresSerializer(Counted):
    study = serializers.IntegerField(help_text="queries of the study; 0 if there is none")
    figures = FigureSerializer(many=True, help_text="none before there is something to count")


class OfQuery(QueryParameters):
    query = Text(required=False, max_length=100, help_text="the query of figure 6, by its id in runs; else the first")


class OfFigure(OfQuery):
    worker = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST, help_text="of the figure `drift`")


class NewStudy(Body):
    queries = Whole(required=False, min_value=1, max_value=MOST_QUERIES)
    top = Whole(required=False, min_value=1, max_value=MOST_CANDIDATES, help_text="the most similar moments")
    random = Whole(required=False, min_value=0, max_value=MOST_CANDIDATES, help_text="drawn from the rest")
    seed = Whole(required=False, min_value=0, max_value=2**31 - 1)


class StudySerializer(serializers.Serializer):
    queries = serializers.IntegerField(help_text="0 until the job has made them")


class Figures(Resource, at=f"{CAMPAIGN}/figures", name="figures"):
    @reads(FiguresSerializer, UNFIT, query=OfQuery)
    def get(self) -> Any:
        """The numbers of the paper's tables and figures."""
        campaign = self.member.campaign
        subject = subject_of(campaign, **self.params)
        summary = current_summary(campaign, FIGURES)
        has_any = bool(summary.counts and summary.counts["splits"]["all"]["queries"])
        figures = [_figure(each, summary.counts, subject) for each in (*TABLES, *DRAWN) if has_any]
        return annotated(summary, figures=figures, study=_studied(campaign))


def _figure(figure: CampaignFigure, counts: Any, subject: FigureSubject) -> Any:
    rows, caption = figure.rows(counts, subject), figure.captioned(counts, subject)
    endings = ("csv", "json", "svg", "pdf") if figure.drawn else ("csv",)
    files = [f"{figure.key}.{ending}" for ending in endings]
    return vars(figure) | {"caption": caption, "tells": figure.tells(rows), "rows": rows, "files": files}


def _studied(campaign: Campaign) -> int:
    return campaign.queries.filter(kind=Kind.STUDY).count()


class FigureFile(Resource, at=f"{CAMPAIGN}/figures/<str:file>", name="figure"):
    @reads(FILE_TYPES, UNFIT, query=OfFigure)
    def get(self, file: str) -> Any:
        """A table or a figure: its numbers as CSV, its drawing as JSON (Vega-Lite), SVG or PDF."""
        return campaign_figure_file(subject_of(self.member.campaign, **self.params), file)


class Study(Resource, at=f"{CAMPAIGN}/study", name="study"):
    @starts(StudySerializer, ONCE, UNFIT, body=NewStudy)
    def post(self) -> Any:
        """Have the study of grade against similarity made; a campaign has one."""
        campaign = self.lead.campaign
        job = ask_for_study(campaign, RankingPlan(**self.data))
        return self.under_way(job, {"queries": _studied(campaign)})
