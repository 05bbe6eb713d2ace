"""The study of grade against similarity: deeper than the pool, judged like it, and never in qrels."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch, Candidate, Kind
from judging.pool.ranking import rank_candidates
from releases.exports import FILES
from reports.statistics.arrays import read
from reports.statistics.collection import collection
from tests.cast import browser, claim, judge_all
from tests.terminal import printed, refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def ranked(campaign: Campaign) -> Campaign:
    """Two queries over sixty moments, ranked by the real model, in batches of ten."""
    campaign.queries.all().delete()
    campaign.batch_size = 10
    campaign.save()
    for number, text in enumerate(("secret caption 2 3", "secret caption 5 7"), 1):
        campaign.queries.create(query_id=str(number), text=text)
    rank_candidates.ask(campaign)
    assert work_off() == []
    return campaign


def begin(campaign: Campaign, *options: object) -> list[Candidate]:
    printed("start_study", campaign.name, "--queries", 1, "--top", 15, "--random", 15, *options)
    assert work_off() == []
    rows = Candidate.objects.filter(query__campaign=campaign, query__kind=Kind.STUDY).order_by("rank")
    return list(rows.select_related("query", "batch"))


def test_the_top_and_a_draw_from_the_rest(ranked: Campaign) -> None:
    found = begin(ranked)
    assert [each.rank for each in found[:15]] == list(range(1, 16))
    assert len(found) == 30
    assert all(15 < each.rank <= 60 for each in found[15:])
    assert [each.rank for each in found[15:]] != list(range(16, 31))
    similarities = [each.similarity or 0.0 for each in found]
    assert similarities == sorted(similarities, reverse=True)
    pool = ranked.queries.get(kind=Kind.POOL, text=found[0].query.text)
    assert found[0].query.query_id == f"study:{pool.query_id}"
    at_the_top = list(pool.candidates.order_by("rank").values_list("moment", flat=True))[:15]
    assert [each.moment_id for each in found[:15]] == at_the_top


@pytest.mark.both_databases
def test_batches_mix_the_top_and_the_draw(ranked: Campaign) -> None:
    found = begin(ranked)
    batches = Batch.objects.filter(kind=Kind.STUDY).order_by("number")
    assert [(each.number, each.candidates.count(), each.state) for each in batches] == [
        (1, 10, "open"),
        (2, 10, "open"),
        (3, 10, "open"),
    ]
    for number in (1, 2, 3):
        ranks = [each.rank for each in found if each.batch and each.batch.number == number]
        assert min(ranks) <= 15 < max(ranks)


def test_a_seed_draws_the_same(ranked: Campaign) -> None:
    first = [each.rank for each in begin(ranked)]
    for seed, same in ((1, True), (2, False)):
        Batch.objects.filter(kind=Kind.STUDY).delete()
        ranked.queries.filter(kind=Kind.STUDY).delete()
        assert ([each.rank for each in begin(ranked, "--seed", seed)] == first) is same


def test_it_is_judged_like_the_pool_and_stays_out_of_qrels(
    ranked: Campaign, ada: Membership, bob: Membership, leo: Membership
) -> None:
    begin(ranked)
    Batch.objects.filter(kind=Kind.POOL).update(state=Batch.State.REVIEWED)
    for who in (ada, bob):
        for _ in range(3):
            judge_all(claim(who), lambda candidate: 4 if candidate.rank <= 15 else 0)
    assert Candidate.objects.settled().filter(query__kind=Kind.STUDY).count() == 30
    counts = collection(ranked, read(ranked))
    assert (counts["source"], counts["source_queries"]) == ("study", 1)
    by_rank = {each["from"]: each["grades"] for each in counts["by_rank"]}
    assert by_rank[1] == by_rank[6] == by_rank[11] == [0, 0, 0, 0, 5]
    assert counts["final"] == [0] * 5  # the pool's
    exported = {export.file: "".join(export.lines(ranked)) for export in FILES}
    assert exported["qrels.txt"] == ""
    assert not any("study" in text for text in exported.values())
    assert not Batch.objects.to_review().exists()
    page = browser(leo).get(reverse("releases", args=["films"]), {"figure": "figure-4a"}).content.decode()
    assert "30 settled candidates of the study’s 1 queries" in page


@pytest.mark.both_databases
def test_a_campaign_has_one_study(ranked: Campaign, leo: Membership) -> None:
    begin(ranked)
    assert "has a study already" in refused("start_study", ranked.name)
    answer = browser(leo).post(reverse("start-study", args=["films"]), follow=True)
    assert "has a study already" in answer.content.decode()
    job = Job.objects.get(kind="start-study")
    job.try_again()  # delivered twice
    assert work_off() == []
    assert Candidate.objects.filter(query__kind=Kind.STUDY).count() == 30


def test_the_lead_starts_it_from_the_page(ranked: Campaign, leo: Membership) -> None:
    form = {"queries": "2", "top": "5", "random": "5", "seed": "3"}
    assert browser(leo).post(reverse("start-study", args=["films"]), form).status_code == 302
    assert Job.objects.get(kind="start-study").arguments["plan"] == [2, 5, 5, 3]


@pytest.mark.parametrize(("field", "value"), [("queries", "0"), ("top", "5000"), ("random", "x"), ("seed", "-1")])
def test_numbers_out_of_range_are_named(ranked: Campaign, leo: Membership, field: str, value: str) -> None:
    answer = browser(leo).post(
        reverse("start-study", args=["films"]), {field: value}, headers={"accept": "application/json"}
    )
    assert (answer.status_code, json.loads(answer.content)["field"]) == (400, field)


def test_a_study_needs_a_ranked_pool(campaign: Campaign) -> None:
    Candidate.objects.all().delete()
    Batch.objects.all().delete()
    assert "No query has candidates yet" in refused("start_study", campaign.name)
