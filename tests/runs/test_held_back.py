"""The split that is held back, how many runs a day, anonymous runs, and the leaderboard that everybody sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from io import StringIO
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from base.errors import BadValue, WrongState
from campaigns.models import Campaign, LogEntry, Membership
from jobs.running import work_off
from judging.models import Candidate
from judging.quality.examples import add_example, teachable
from judging.review.decisions import withdraw
from metrics import calc_aggregate
from releases.archive import ReleaseArchive
from releases.freezing import freeze
from releases.models import Release
from runs.board.held_back import MEASURES, enter, hold_back, open_scores
from runs.models import HeldScore, Run, Score
from runs.receiving import describe, is_taken, submit, unveil_runs
from runs.references import pool_of, reference_of
from runs.scoring import drawn_for
from tests.cast import browser, text_between_tags
from tests.remembered import remembered
from tests.runs.conftest import best
from tests.runs.uploading import ranking, send, submitted, uploaded
from tests.tampering import tampering

# The release is written by a thread with a connection of its own, which sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True)
OF_VAL = ("q0", "q1")


@pytest.fixture
def leo(campaign: Campaign, member: Callable[..., Membership]) -> Membership:
    return member("leo", "lead")


@pytest.fixture
@remembered
def held(judged: Campaign, leo: Membership, rio: Membership) -> Release:
    """The split of two queries is held back, and two runs are scored on the rest."""
    hold_back(leo, "val")
    judged.refresh_from_db()
    for each in (leo, rio):
        each.refresh_from_db()
    found = freeze(judged, leo, "CC0-1.0", with_unfinished=True)
    assert work_off(StringIO()) == []
    found.refresh_from_db()
    uploaded(
        rio, best(judged), name="perfect", visibility="listed", citation="Rio (2026).", code="https://x.example/code"
    )
    uploaded(rio, best(judged, skip=2), name="late")
    return found


def held_scores() -> dict[str, float | None]:
    rows = HeldScore.objects.filter(measure=MEASURES[1]).values_list("run__name", "value")
    return dict(rows)


@pytest.mark.any_database
def test_no_other_number_counts_its_queries(held: Release, rio: Membership) -> None:
    reference = held.scoring_reference
    assert [row[0] for row in reference.queries] == ["q2", "q3", "q4", "q5"]
    assert len(reference.ranked) == 4
    client = browser(rio)
    assert client.get(reverse("explain", args=["films"]), {"run": "1", "query": "q0"}).status_code == 404
    listed = client.get(reverse("compare", args=["films"]), {"run": 1}).content.decode()
    assert "4 queries" in listed
    numbers = json.loads(client.get(reverse("leaderboard-file", args=["films", "json"])).content)
    assert numbers["queries"] == 4
    # Neither do the intervals over annotators: with all queries, they are others.
    score = Score.objects.get(scoring__run__name="late", convention="paper", measure=MEASURES[1])
    with_all = _unlike(held)
    assert score.spread is not None
    assert with_all.spread != score.spread


def _unlike(held: Release) -> Score:
    """The same score of the same run on a release that holds nothing back."""
    campaign = held.campaign
    leo = campaign.memberships.get(user__username="leo")
    hold_back(leo, "")
    freeze(Campaign.objects.get(pk=campaign.pk), leo, "CC-BY-4.0", with_unfinished=True)
    assert work_off(StringIO()) == []
    return Score.objects.get(
        scoring__run__name="late", scoring__release__version=2, convention="paper", measure=MEASURES[1]
    )


def entered(name: str, is_entered: bool = True) -> Run:
    run = Run.objects.get(name=name)
    enter(run, is_entered)
    return run


def opened(leo: Membership) -> None:
    open_scores(leo, True)
    assert work_off(StringIO()) == []


@pytest.mark.any_database
def test_entered_runs_are_scored_on_opening_to_two_decimals(held: Release, rio: Membership, leo: Membership) -> None:
    entered("late")
    assert work_off(StringIO()) == []
    assert held_scores() == {}
    opened(leo)
    expected = next(
        iter(calc_aggregate([MEASURES[1]], _judged(held), best(held.campaign, skip=2, only=OF_VAL)).values())
    )
    assert expected
    assert held_scores() == {"late": round(expected, 2)}
    assert round(expected, 2) != expected
    assert {each.measure for each in HeldScore.objects.all()} == set(MEASURES)


def _judged(release: Release) -> Any:
    """The moments and grades of the split's queries, from the release's file."""
    judged: dict[str, list[Any]] = {query: [] for query in OF_VAL}
    with release.file.open("rb") as file:
        for each in ReleaseArchive(file).records("qrels.jsonl"):
            if each["query_id"] in judged:
                judged[each["query_id"]].append((each["video_name"], *each["timestamp"], each["relevance"]))
    return judged


@pytest.mark.any_database
def test_opening_closes_the_list_of_runs(held: Release, rio: Membership, leo: Membership) -> None:
    """Hiding the scores, another release and another split do not open it again."""
    with pytest.raises(WrongState, match="No run is entered"):
        open_scores(leo, True)
    run = entered("perfect")
    opened(leo)
    uploaded(rio, best(held.campaign, skip=1), name="later")
    with pytest.raises(WrongState, match="its list of runs is final"):
        entered("later")
    open_scores(leo, False)
    with pytest.raises(WrongState, match="its list of runs is final"):
        enter(run, False)
    assert set(held_scores()) == {"perfect"}
    client = browser(rio)
    assert (
        client.put(reverse("api-run-entry", args=["films", 1]), {"entered": False}, "application/json").status_code
        == 409
    )
    freeze(held.campaign, leo, "CC-BY-4.0", with_unfinished=True)
    assert work_off(StringIO()) == []
    with pytest.raises(WrongState, match="its list of runs is final"):
        entered("later")
    opened(leo)
    assert set(held_scores()) == {"perfect"}
    assert HeldScore.objects.values("reference").distinct().count() == 2


def test_a_person_enters_a_limited_number_of_runs(held: Release, rio: Membership, leo: Membership) -> None:
    Campaign.objects.update(held_back_runs=1)
    client, page = browser(rio), reverse("run-entry", args=["films", 1])
    assert client.post(page, {"entered": "yes"}).status_code == 302
    assert client.post(page, {"entered": "yes"}).status_code == 302
    text = text_between_tags(client.get(reverse("run", args=["films", 1])).content.decode())
    assert "You have entered 1 of at most 1 runs" in text
    with pytest.raises(WrongState, match="You have entered 1 run, the limit for one person"):
        entered("late")
    uploaded(leo, best(held.campaign, skip=1), name="of the lead")
    entered("of the lead")
    client.post(page, {"entered": "no"})
    answer = client.put(reverse("api-run-entry", args=["films", 2]), {"entered": True}, "application/json")
    assert answer.json()["entered"] == "val"
    assert (
        browser(leo).put(reverse("api-run-entry", args=["films", 2]), {"entered": True}, "application/json").status_code
        == 404
    )


@pytest.mark.any_database
def test_an_entry_for_an_earlier_split_is_none_for_this_one(held: Release, rio: Membership, leo: Membership) -> None:
    Campaign.objects.update(held_back_runs=1)
    Run.objects.filter(name="late").update(entered="train")
    entered("perfect")
    with pytest.raises(WrongState, match="You have entered 1 run"):
        entered("late")


@pytest.mark.any_database
def test_a_run_of_few_queries_is_not_scored(held: Release, rio: Membership, leo: Membership) -> None:
    """It would reveal the grades of these queries."""
    probe = uploaded(rio, best(held.campaign, only=("q0", "q2", "q3")), name="probe", visibility="listed")
    with pytest.raises(WrongState, match="answers 1 of 2 queries of val; at least 2 are needed"):
        enter(probe, True)
    Run.objects.filter(name="probe").update(entered="val")  # as if the release had had fewer queries then
    opened(leo)
    assert held_scores() == {"probe": None}


def test_nobody_sees_the_scores_until_a_lead_opens_them(held: Release, rio: Membership, leo: Membership) -> None:
    entered("perfect")
    entered("late")
    reader, lead = browser(rio), browser(leo)
    change, where = (reverse(name, args=["films"]) for name in ("held-back-change", "leaderboard"))
    where += "?view=held-back"
    texts = {who: who.get(where).content.decode() for who in (reader, lead)}
    assert all('aria-label="Scores on the held-back split"' not in text for text in texts.values())
    assert "Open the scores" in texts[lead]
    assert "Open the scores" not in texts[reader]
    assert reader.post(change, {"open": "yes"}).status_code == 404
    for _ in range(2):
        assert lead.post(change, {"open": "yes"}).status_code == 302
    assert work_off(StringIO()) == []
    assert LogEntry.objects.filter(what__startswith="Scores on val").count() == 1
    text = reader.get(where).content.decode()
    assert text.index(">perfect</a>") < text.index(">late</a>")
    open_scores(leo, False)
    assert ">perfect</a>" not in reader.get(where).content.decode()


@pytest.mark.any_database
def test_a_campaign_that_holds_a_split_back_limits_runs_a_day(judged: Campaign, leo: Membership) -> None:
    hold_back(leo, "val")
    assert Campaign.objects.get().runs_a_day == 20
    Campaign.objects.update(runs_a_day=5)
    for split in ("", "val"):
        hold_back(leo, split)
    assert Campaign.objects.get().runs_a_day == 5


def test_researchers_see_no_judgements_meanwhile(held: Release, rio: Membership, leo: Membership) -> None:
    reader, lead = browser(rio), browser(leo)
    closed = ("releases", "judgements", "queries", "inbox", "activity")
    for name in closed:
        assert reader.get(reverse(name, args=["films"])).status_code == 404, name
        assert lead.get(reverse(name, args=["films"])).status_code == 200, name
    assert reader.get(reverse("release", args=["films", 1])).status_code == 404
    desk = reader.get(reverse("campaign", args=["films"]))
    assert desk["Location"] == reverse("leaderboard", args=["films"])
    for name in ("leaderboard", "measures", "unjudged", "systems", "run-upload"):
        page = reader.get(reverse(name, args=["films"]))
        assert page.status_code == 200, name
        assert reverse("agreement", args=["films"]) not in page.content.decode()
    hold_back(leo, "")
    assert reader.get(reverse("releases", args=["films"])).status_code == 200


def test_no_pair_of_it_is_an_example(held: Release, rio: Membership, leo: Membership) -> None:
    campaign = held.campaign
    pair = Candidate.objects.in_pool(campaign).filter(query__query_id="q0", outcome="settled").first()
    assert pair
    hold_back(leo, "")
    add_example(leo, pair, 4, "All of it is seen.")
    assert "All of it is seen." in browser(rio).get(reverse("tutorial", args=["films"]), {"step": 3}).content.decode()
    hold_back(leo, "val")
    reader, lead = browser(rio), browser(leo)
    for step in range(1, 7):
        assert "All of it" not in reader.get(reverse("tutorial", args=["films"]), {"step": step}).content.decode()
    for address in ("examples", "guideline"):
        assert "All of it" not in reader.get(f"/api/v1/campaigns/films/{address}").content.decode()
    listed = lead.get("/api/v1/campaigns/films/examples").json()["results"]
    assert [each["hidden"] for each in listed] == [True]
    for each in (campaign, leo):
        each.refresh_from_db()
    assert not teachable(leo.campaign).filter(query__query_id="q0").exists()
    with pytest.raises(WrongState, match="of the split val, which is held back"):
        add_example(leo, pair, 4, "Again.")


def test_a_query_that_is_withdrawn_stays_held_back(held: Release, rio: Membership, leo: Membership) -> None:
    """What the release holds decides, not the campaign as it is later."""
    queries = held.campaign.queries
    withdraw(queries.get(query_id="q0"), "It is unclear.", by=leo)
    queries.filter(query_id="q1").update(split="train")
    held.scoring_reference.delete()
    reference = reference_of(Release.objects.get(pk=held.pk))
    assert [row[0] for row in reference.queries] == ["q2", "q3", "q4", "q5"]
    assert reference.held_queries == [*OF_VAL]
    pool = pool_of(reference)
    assert pool
    assert not {*OF_VAL} & {*pool.queries}
    ground, _ = drawn_for(reference.release)
    assert not {*OF_VAL} & {*ground.queries}


@pytest.mark.any_database
def test_what_has_been_seen_cannot_be_held_back(release: Release, rio: Membership, leo: Membership) -> None:
    hold_back(leo, "val")  # no run has a score yet
    hold_back(leo, "")
    uploaded(rio, best(release.campaign), name="perfect")
    with pytest.raises(WrongState, match="Runs have scores on val in release 1"):
        hold_back(leo, "val")
    with pytest.raises(BadValue, match='test"; expected one of val'):
        hold_back(leo, "test")
    release.campaign.queries.update(split="val")
    with pytest.raises(BadValue, match="other queries"):
        hold_back(leo, "val")
    with pytest.raises(WrongState, match="holds no split back"):
        open_scores(leo, True)


@pytest.mark.any_database
def test_so_many_runs_a_day(campaign: Campaign, rio: Membership, leo: Membership) -> None:
    Campaign.objects.update(runs_a_day=1)
    for each in (rio, leo):
        each.campaign.refresh_from_db()
    early, wrong = _waiting(rio, "early"), submitted(rio, "{", name="wrong")
    assert wrong.findings["count"] == 1
    submitted(rio, ranking(_one(campaign)), name="first")
    assert campaign.runs.count() == 1
    with pytest.raises(WrongState, match="takes 1 run of a researcher on a day, and you have uploaded 1 today"):
        submit(early)
    client = browser(rio)
    form = {"name": "early", "visibility": "shared"}
    assert client.post(reverse("upload-check", args=["films", early.token]), form).status_code == 409
    with tampering():
        Run.objects.update(at=timezone.now() - timedelta(days=1))
    other = _waiting(rio, "other")
    submit(early)
    submit(other)  # both before the first of them is checked: the check counts again
    assert work_off(StringIO()) == []
    other.refresh_from_db()
    assert set(campaign.runs.values_list("name", flat=True)) == {"first", "early"}
    assert "takes 1 run" in other.findings["told"][0]
    for name in ("lead-1", "lead-2"):
        assert submitted(leo, ranking(_one(campaign)), name=name).run


def _waiting(member: Membership, name: str) -> Any:
    submission = describe(member, {"name": name})
    send(submission, "run", "run.json", ranking(_one(member.campaign)).encode())
    return submission


def _one(campaign: Campaign) -> Any:
    return {campaign.queries.pool().first().query_id: [("secret-video-0", 1.0, 2.0, 1.0)]}  # type: ignore[union-attr]


def test_an_anonymous_run(
    campaign: Campaign, rio: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    """Others see a number on every page and in the API until the day; the owner and the leads see who made it."""
    until = timezone.localdate() + timedelta(days=30)
    details = {"name": "rionet-1", "system": "RioNet", "group": "RioNet", "description": "By Rio.", "citation": "Rio."}
    details |= {"code": "https://rio.example/code", "paper": "https://rio.example/paper"}
    submitted(rio, ranking(_one(campaign)), "rionet.json", **details, anonymous_until=until, visibility="public")
    run = campaign.runs.get()
    assert (run.name, run.filename, run.system, run.worker) == ("Anonymous run 1", "run.json", "", None)
    other = browser(member("mia", "researcher"))
    board = reverse("leaderboard", args=["films"])
    pages = [reverse("run", args=["films", 1]), board, f"{board}?view=runs"]
    pages += [reverse("api-run", args=["films", 1]), reverse("public-run", args=["films", run.token])]
    for page in pages:
        text = other.get(page).content.decode()
        assert "rionet" not in text.casefold(), page
        assert "rio.example" not in text, page
        assert "rio" not in text_between_tags(text.replace(run.token, "")).casefold(), page
        assert f"worker {rio.worker}" not in text
    for known in (rio, leo):
        assert "rionet-1" in browser(known).get(pages[0]).content.decode()
    assert is_taken(campaign, "rionet-1")
    with pytest.raises(BadValue, match="does not begin with"):
        describe(rio, {"name": "Anonymous run 2"})
    unveil_runs()
    run.refresh_from_db()
    assert run.veiled
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.update(sha256="0")
    Run.objects.update(anonymous_until=timezone.localdate())
    for _ in range(2):
        unveil_runs()
    run.refresh_from_db()
    assert {name: getattr(run, name) for name in details} == details
    assert (run.filename, run.worker, run.veiled) == ("rionet.json", rio.worker, {})
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.update(name="another")
    submitted(rio, ranking(_one(campaign)), name="past", anonymous_until=date(2020, 1, 1))
    assert campaign.runs.get(name="past").veiled == {}


def _content(run: Run) -> bytes:
    with run.file.open() as file:
        return bytes(file.read())


@pytest.mark.any_database
def test_the_leaderboard_that_everybody_sees(held: Release, leo: Membership, ada: Membership) -> None:
    where, anybody = reverse("public-leaderboard", args=["films"]), Client()
    assert anybody.get(where).status_code == 404
    Campaign.objects.update(public_board=True)
    text = anybody.get(where).content.decode()
    assert held.citation in text
    assert held.sha256 in held.citation
    assert "Rio (2026)." in text
    assert 'href="https://x.example/code"' in text
    assert ">late<" not in text  # shared, not listed
    assert "Held-back split" not in text
    entered("perfect")
    entered("late")
    opened(leo)
    text = anybody.get(where).content.decode()
    assert "Held-back split val" in text
    assert ">late<" not in text
    assert browser(ada).get(where).status_code == 404
    run = Run.objects.get(name="perfect")
    file = anybody.get(reverse("public-run-file", args=["films", run.token]))
    assert b"".join(file.streaming_content) == _content(run)  # type: ignore[attr-defined]
    run.show_to("public")  # with its link, without its file
    assert anybody.get(reverse("public-run", args=["films", run.token])).status_code == 200
    assert anybody.get(reverse("public-run-file", args=["films", run.token])).status_code == 404
    assert ">perfect<" not in anybody.get(where).content.decode()
