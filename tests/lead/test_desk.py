"""The overview: what needs the lead, how it goes and when it ends; and the table of queries; bounded however large."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import reverse
from django.utils import timezone

from benchmarks.inside import BARE, addresses
from campaigns.invitations import MAIL, Person, invite_all
from campaigns.models import Campaign, Membership
from demo.generating import generate
from jobs.models import Job
from judging.models import Assignment, Batch, Candidate, Flag, Query, Review, Sitting
from judging.pool.clips import cut_clips
from judging.pool.ranking import RankingPlan, ask_for_study, rank_candidates
from judging.review.decisions import withdraw
from lead.desk import jobs_of
from releases.freezing import freeze
from reports.campaign_summaries import PROGRESS, store_summaries
from reports.digest import needs
from reports.figures.numbers import FigureSubject, burn_up_rows
from reports.models import Summary
from reports.statistics.arrays import read
from reports.statistics.progress import burn_up, progress
from reports.tables.queries import QUERIES, queries_of
from tests.cast import browser, claim, content_of, judge_all, make_query, settle, settle_round_one
from tests.conftest import Case
from tests.remembered import remembered


def desk(who: Membership, **params: str) -> str:
    answer = browser(who).get(reverse("campaign", args=["films"]), params)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def listed(page: str) -> list[str]:
    """What needs the lead now, without the keys."""
    found = re.findall(r"<li><a [^>]*><b>([^<]*)</b> <span>([^<]*)</span>", page)
    return [f"{number} {words}" for number, words in found]


def test_nothing_needs_the_lead_at_first(campaign: Campaign, leo: Membership) -> None:
    page = desk(leo)
    assert listed(page) == []
    assert "Nothing yet." in page


def test_all_that_needs_the_lead_is_listed_most_urgent_first(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    settle_round_one(batch, ada, bob, apart=2)
    later = make_query(batch.query.campaign, "2", "A person waves.").batches.get()
    settle(later, ada, bob)
    flag = Assignment.objects.filter(batch=later).earliest("pk")
    Flag.objects.create(assignment=flag, candidate=later.candidates.earliest("rank"), reason="clip")
    Assignment.objects.update(submitted=timezone.now() - timedelta(days=2))
    cleo.pause(leo, "a word first")
    Sitting.objects.create(member=dan, round=1, result=Sitting.Result.FAILED)
    rank_candidates.ask(batch.query.campaign)
    Job.objects.update(state=Job.State.FAILED)
    page = desk(leo)
    stuck = browser(leo).get(reverse("queries", args=["films"]), {"show": "stuck"}).content.decode()
    assert "A person waves." not in stuck
    assert batch.query.text in stuck
    assert listed(page) == [
        "1 job failed",
        "1 annotator is paused",
        "1 contested batch has had no annotator for a day",
        "1 examinee failed the exam",
        "1 flag to look at",
        "1 batch to review",
    ]
    for key, name, tab in ((2, "annotators", ""), (4, "exam", ""), (5, "inbox", ""), (6, "queries", "?view=batches")):
        assert f'<a href="{reverse(name, args=["films"])}{tab}" data-key="{key}">' in page


@pytest.mark.both_databases
def test_an_exam_that_waits_for_others_comes_to_the_desk_after_a_day(
    campaign: Campaign, ada: Membership, leo: Membership
) -> None:
    sitting = Sitting.objects.create(member=ada, round=1, ended=timezone.now())
    assert listed(desk(leo)) == []
    Sitting.objects.filter(pk=sitting.pk).update(ended=timezone.now() - timedelta(days=2))
    assert listed(desk(leo)) == ["1 examinee waits for others or for your grades"]


def test_whatever_failed_is_tried_again_from_the_desk(batch: Batch, leo: Membership) -> None:
    campaign = batch.query.campaign
    release = freeze(campaign, leo, "MIT")
    ask_for_study(campaign, RankingPlan())
    Job.objects.update(state=Job.State.FAILED, error="the disk is full")
    assert listed(desk(leo))[0] == "2 jobs failed"
    assert 'hx-trigger="every 2s"' not in browser(leo).get(reverse("releases", args=["films"])).content.decode()
    for job in Job.objects.all():
        answer = browser(leo).post(reverse("job-again", args=[job.pk]))
        assert answer.status_code == 302
    assert set(Job.objects.values_list("state", "kind", "row")) == {
        ("waiting", "freeze-release", release.pk),
        ("waiting", "start-study", campaign.pk),
    }
    done = Job.objects.create(kind="count-agreement", owner="campaign 0", state=Job.State.FAILED, due=timezone.now())
    assert browser(leo).post(reverse("job-again", args=[done.pk])).status_code == 404


@pytest.mark.both_databases
def test_a_cancelled_job_is_not_a_failed_one(batch: Batch, leo: Membership) -> None:
    jobs = [cut_clips.ask(make_query(leo.campaign, number, f"Query {number}.").batches.get()) for number in ("2", "3")]
    Job.objects.filter(pk=jobs[0].pk).update(state=Job.State.FAILED, error="the film is gone", ended=timezone.now())
    assert jobs[1].end()
    address = reverse("activity", args=["films"])
    context = browser(leo).get(address, {"view": "jobs"}).context
    numbers = {words: number for _, words, number, _ in context["states"]}
    assert (numbers["All"], numbers["Failed"], numbers["Cancelled"]) == (2, 1, 1)
    for state, job in (("failed", jobs[0]), ("cancelled", jobs[1])):
        page = browser(leo).get(address, {"view": "jobs", "state": state})
        assert [listed.pk for listed in page.context["page"]] == [job.pk]
    assert "Cancelled" in page.content.decode()
    assert jobs_of(leo)["n_failed"] == 1


def test_withdrawn_queries_are_not_counted_as_ranked(batch: Batch, leo: Membership) -> None:
    withdraw(make_query(leo.campaign, "2", "A person waves."), "out of focus")
    assert "1 of 1 queries are ranked." in desk(leo)


def test_a_contested_batch_is_stuck_only_after_a_day_without_anybody(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    settle_round_one(batch, ada, bob, apart=2)
    assert needs(batch.query.campaign, 0) == []
    Assignment.objects.update(submitted=timezone.now() - timedelta(hours=25))
    assert [need.number for need in needs(batch.query.campaign, 0)] == [1]
    judge_all(claim(cleo), lambda candidate: 2)
    assert needs(batch.query.campaign, 0) == []


def test_the_forecast_by_hand(batch: Batch, ada: Membership, bob: Membership) -> None:
    """Forty judgements yesterday and today, of which 4 pairs of 20 were contested; what is left follows."""
    campaign = batch.query.campaign
    settle_round_one(batch, ada, bob, apart=4)
    numbers = progress(campaign, read(campaign))
    # Four contested pairs want two more each; the second batch is opened for half of what nobody has reviewed:
    # 0.5 × 20 candidates × (2 + 2 × 4/20) judgements.
    assert numbers["left"] == 4 * 2 + 0.5 * 20 * 2.4
    assert (numbers["judgements"], numbers["pace"]) == (40, 40)
    assert numbers["end"] == (timezone.localdate() + timedelta(days=1)).isoformat()
    assert numbers["seconds_left"] == pytest.approx(32 * numbers["seconds"] / 40)
    assert numbers["outcomes"] | {"contested": 4, "settled": 16} == numbers["outcomes"]
    assert np.sum(numbers["grades"]) == 16


def test_nothing_left_has_no_end(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    campaign = batch.query.campaign
    settle(batch, ada, bob)
    Query.objects.update(closed=True)
    assert progress(campaign, read(campaign))["end"] is None
    assert "All judged" in desk(leo)


def test_the_overview_says_between_which_days_it_ends(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.campaign_summaries.AT_ONCE", 10)
    list(generate("ending", 8, annotators=4, seed=1))
    campaign = Campaign.objects.get(name="ending")
    store_summaries(campaign)
    kept = Summary.objects.get(campaign=campaign, name=PROGRESS)
    lead = browser(campaign.memberships.get(role="lead"))
    for earliest, latest, words in [
        ("2027-01-03", "2027-02-09", "3 Jan 2027 – 9 Feb 2027"),
        ("2027-01-03", None, "After 3 Jan 2027"),
        (None, None, "About 20 Jan 2027"),
    ]:
        kept.counts |= {"left": 300, "end": "2027-01-20", "earliest": earliest, "latest": latest}
        kept.save()
        page = html.unescape(lead.get(reverse("campaign", args=["ending"])).content.decode())
        assert words in page
        assert "300 judgements to go" in page


def test_the_cost_to_come_is_told_in_the_campaigns_currency(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    Campaign.objects.update(hourly_rate=3600, currency="SGD")
    settle_round_one(batch, ada, bob, apart=4)
    numbers = progress(batch.query.campaign, read(batch.query.campaign))
    assert f"SGD {numbers['seconds']:,.0f}" in desk(leo)
    whole = numbers["seconds"] + numbers["seconds_left"]
    assert f"of about {whole:,.0f}" in desk(leo) or numbers["seconds_left"] < 180  # which is no tenth of an hour


@pytest.fixture
@remembered
def many(batch: Batch, ada: Membership, bob: Membership) -> Campaign:
    """One query to review, one in work, one withdrawn."""
    campaign = batch.query.campaign
    settle(batch, ada, bob)
    make_query(campaign, "2", "A person waves.")
    claim(ada)
    make_query(campaign, "3", "A dog barks.")
    Query.objects.filter(query_id="3").update(
        withdrawn=timezone.now(), withdrawn_for="query", withdrawn_why="no person"
    )
    return campaign


TABLES: list[tuple[dict[str, str], list[str]]] = [  # and the queries on them
    ({}, ["1", "2"]),
    ({"show": "review"}, ["1"]),
    ({"show": "work"}, ["2"]),
    ({"show": "closed"}, []),
    ({"show": "withdrawn"}, ["3"]),
    ({"show": "unheard of"}, []),
    ({"sort": "neither"}, ["1", "2"]),
    ({"q": "WAVES"}, ["2"]),
    ({"q": "1"}, ["1"]),
    ({"q": "\0"}, []),
    ({"sort": "text"}, ["1", "2"]),
    ({"sort": "-text"}, ["2", "1"]),
    ({"sort": "mean"}, ["1", "2"]),
    ({"sort": "-mean"}, ["1", "2"]),  # what is unknown comes last either way
    ({"mean_from": "0"}, ["1"]),
    ({"mean_from": "5"}, []),
    ({"contested_to": "0", "show": "review"}, ["1"]),
    ({"contested_from": "1"}, []),
    ({"discarded": "on"}, []),
    ({"flagged": "on"}, []),
    ({"worker": "1"}, ["1"]),
    ({"worker": "77"}, []),
    ({"days_to": "1"}, ["1"]),
    ({"days_from": "1"}, []),
    ({"similarity_from": "0.5", "similarity_to": "1"}, ["1", "2"]),
    ({"split": "val"}, []),
]


@pytest.mark.both_databases
def test_queries_are_filtered_found_and_sorted(many: Campaign, leo: Membership, case: Case) -> None:
    for params, wanted in TABLES:
        with case(str(params)):
            choices = QUERIES.choices(QueryDict(urlencode(params)))
            found = queries_of(many, choices.filters.get("show", ""))
            part = choices.part(found)
            assert [row.query.query_id for row in part.lines] == wanted
            answer = browser(leo).get(reverse("queries", args=["films"]), params)
            assert answer.status_code == (200 if choices.form.is_valid() else 400)
            assert answer.content.decode().count('name="row"') == len(wanted)
            listed = browser(leo).get(reverse("queries", args=["films"]), params | {"format": "csv"})
            assert [line.split(",")[0] for line in b"".join(listed).decode().splitlines()[1:]] == wanted


def test_pages_and_the_api_count_queries_alike(many: Campaign, leo: Membership) -> None:
    """One number for each word: on the overview, in the table, in its file, in the API and in the picture."""
    make_query(many, "4", "A cat sleeps.")
    Query.objects.filter(query_id="4").update(closed=True)
    make_query(many, "5", "A bird sings.")
    client, queries = browser(leo), reverse("queries", args=["films"])
    finished = client.get("/api/v1/campaigns/films/progress").json()["numbers"]["queries"]
    assert finished == {"all": 4, "closed": 1, "begun": 2, "new": 1}
    assert "1 <small>of 4 queries" in desk(leo)
    for state, number in (("closed", 1), ("begun", 2), ("new", 1), ("", 4)):
        assert client.get(queries, {"show": state}).content.decode().count('name="row"') == number
        file = content_of(client.get(queries, {"show": state, "format": "csv"})).decode()
        assert len(file.splitlines()) == 1 + number
    counts = progress(many, read(many))
    rows = burn_up_rows(counts, FigureSubject(many))
    assert [(row["finished"], row["all"]) for row in rows if "all" in row] == [(1, 4)]
    assert counts["judgements"] == int(numbers_of_judgements(client))


def numbers_of_judgements(client: Client) -> str:
    """How many judgements that count are in the list."""
    page = client.get(reverse("judgements", args=["films"])).content.decode()
    found = re.search(r"<strong>([\d,]+)</strong>", page)
    return found[1] if found else ""


def test_the_burn_up_by_hand(db: None) -> None:
    """Begun with the first submission, finished with the last review, ready once all before it are finished."""
    list(generate("days", 4, annotators=4, seed=1))
    campaign = Campaign.objects.get(name="days")
    queries = list(campaign.queries.order_by("place"))
    Review.objects.all().update(undone=timezone.now())
    Query.objects.update(closed=False)
    first = timezone.now() - timedelta(days=9)
    Assignment.objects.filter(batch__campaign=campaign).update(submitted=first)
    for place, days in ((0, 3), (1, 1), (3, 2)):  # the third in the order stays open
        batch = queries[place].batches.order_by("number")[0]
        at = first + timedelta(days=days)
        Review.objects.create(batch=batch, verdict="close", at=at)
        Query.objects.filter(pk=queries[place].pk).update(closed=True)
    today = timezone.localdate(first)
    assert burn_up(campaign) == [
        [str(today), 4, 0, 0],
        [str(today + timedelta(days=1)), 4, 1, 0],
        [str(today + timedelta(days=2)), 4, 2, 0],
        [str(today + timedelta(days=3)), 4, 3, 2],
    ]


@pytest.mark.both_databases
def test_a_researcher_sees_no_buttons_and_nothing_that_only_a_lead_may_open(many: Campaign, member: Any) -> None:
    rita = member("rita", "researcher")
    page = desk(rita)
    assert "Needs you" not in page
    client = browser(rita)
    links = {link for link in re.findall(r'<a [^>]*href="([^"#]+)', page) if link.startswith("/campaigns/")}
    assert len(links) > 4
    assert [link for link in links if client.get(html.unescape(link)).status_code != 200] == []
    listed_for_her = client.get(reverse("queries", args=["films"])).content.decode()
    assert 'name="row"' not in listed_for_her
    assert "Preview" not in listed_for_her


def test_no_page_asks_more_of_a_larger_campaign(db: None) -> None:
    few, more = (_questions(name, queries) for name, queries in (("few", 20), ("more", 60)))
    shared = few.keys() & more.keys()
    assert len(shared) > 20
    assert {name: few[name] for name in shared} == {name: more[name] for name in shared}


def test_the_list_of_campaigns_asks_as_much_for_six_as_for_two(
    campaign: Campaign, batch: Batch, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    settle(batch, ada, bob)
    make_query(campaign, "2", "A person waves.")
    claim(cleo)
    client, address, counts = browser(leo), reverse("campaigns"), []
    for more in (1, 4):
        for _ in range(more):
            another = Campaign.objects.create(name=f"n{Campaign.objects.count()}", corpus=campaign.corpus)
            another.add_member(leo.user, "lead")
        with CaptureQueriesContext(connection) as captured:
            page = client.get(address).content.decode()
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 15
    numbers = re.findall(r'<td class="n">\s*(?:<a [^>]*>)?(\d+)', page)
    assert numbers == ["2", "0", "1", "1"] + ["0"] * 20


def test_the_screens_of_a_meeting(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    address = reverse("meeting", args=["films"])
    assert "Nothing is judged yet." in browser(leo).get(address).content.decode()
    settle(batch, ada, bob)
    page = browser(leo).get(address).content.decode()
    titles = ["Queries by day", "Agreement", "Agreement by week", "People today", "Severity and spread"]
    assert re.findall("<h2>(.*?)</h2>", page) == [
        *titles, "Clips with the largest spread of grades", "Order of systems", "Price"
    ]  # fmt: skip
    page = browser(member("rio", "researcher")).get(address).content.decode()
    assert "Price" not in page
    assert "Forecast" in page
    assert 'data-key="m"' in desk(leo)


@pytest.mark.both_databases
@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's own")
@pytest.mark.django_db
def test_no_question_is_compiled() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)


def _questions(name: str, queries: int) -> dict[str, int]:
    """How many questions each page of the lead asks the database."""
    list(generate(name, queries, annotators=6, seed=1))
    client = browser(Membership.objects.leads().get(campaign__name=name))
    counts = {}
    for page, address in addresses(name).items():
        client.get(address)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200, page
        counts[page] = len(captured)
    return counts


MOST_CALLS = 8  # times those of a bare page


def _calls(client: Client, address: str) -> int:
    """How many functions are called to answer: what a page costs, where a clock would tell of the machine as well."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    client.get(address)
    sys.setprofile(count)
    try:
        client.get(address)
    finally:
        sys.setprofile(None)
    return calls


def test_a_kept_campaign_is_shown_in_few_questions_and_calls(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a large one, whose numbers a job has counted."""
    monkeypatch.setattr("reports.campaign_summaries.AT_ONCE", 10)
    list(generate("kept", 20, annotators=6, seed=1))
    store_summaries(Campaign.objects.get(name="kept"))
    lead = Membership.objects.leads().get(campaign__name="kept")
    for places in (None, 3):
        lead.campaign.invite("annotator", lead, timedelta(days=1), places=places)
    with override_settings(MAILS=True):
        invite_all(lead, [Person("Zoe", "zoe@example.org")], MAIL, 24, "en", "https://example.org")
    client, pages = browser(lead), addresses("kept")
    bare = _calls(client, pages[BARE])
    for page, address in pages.items():
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        assert len(captured) <= 15, (page, len(captured))
        assert _calls(client, address) <= MOST_CALLS * bare, page
    assert Candidate.objects.count() == 800
