"""Enlarging the pool: what runs found is proposed, judged and released; scores with both pools stand side by side."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.urls import reverse

from base.errors import BadValue, WrongState
from campaigns.models import Campaign, Membership
from corpus.models import Moment
from jobs.models import Job
from jobs.running import work_off
from judging.audit import audit
from judging.models import Action, Batch, Candidate, Query
from judging.review.actions import begin, named_rows, undo_action
from judging.review.frontier import frontier
from judging.review.reviewing import review
from releases.archive import ReleaseArchive
from releases.checks import verify
from releases.freezing import freeze
from releases.models import Release
from reports.tables.costs import action_cost
from runs.measures import NDCG
from runs.models import Enlargement, Near, PoolScore, Run, Score, Source
from runs.pools.comparing import ask_to_compare, batches_of, comparison
from runs.pools.enlarging import PoolPlan, ask_to_propose, prepare_opening
from tests.cast import browser, claim, content_of, judge_all, text_between_tags
from tests.remembered import remembered
from tests.runs.conftest import best
from tests.runs.uploading import Predictions, uploaded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]

MEASURE = "nDCG_IoU(iou=0.5)@10"
NEW = ("secret-video-5", 60.0, 64.0)  # what the seer alone finds, for every query
NEAR = ("secret-video-0", 1.25, 4.2)  # overlaps rank 1 by 0.91


@pytest.fixture
def leo(member: Callable[..., Membership]) -> Membership:
    return member("leo", "lead")


@pytest.fixture
@remembered
def closed(release: Release, leo: Membership) -> Campaign:
    """All six queries are judged, reviewed and released."""
    for batch in Batch.objects.filter(state=Batch.State.SETTLED):
        review(batch, leo, "close")
    assert not release.campaign.queries.pool().filter(closed=False).exists()
    return release.campaign


def seer(campaign: Campaign) -> Predictions:
    """Perfect but for one moment before all others, which nobody has judged."""
    return {query: [(*NEW, 99.0), *rows] for query, rows in best(campaign).items()}


@pytest.fixture
def two(closed: Campaign, rio: Membership) -> list[Run]:
    """By the first pool, the seer is behind."""
    return [uploaded(rio, best(closed), name="plain"), uploaded(rio, seer(closed), name="seer")]


def proposed(leo: Membership, runs: list[Run], **more: Any) -> Enlargement:
    made = ask_to_propose(leo, PoolPlan([run.number for run in runs], **more))
    assert work_off(StringIO()) == []
    made.refresh_from_db()
    return made


def opened(leo: Membership, made: Enlargement, taken: int, near: str = Near.LEAVE) -> Action:
    action = begin(prepare_opening(made, leo, taken, near), leo)
    assert work_off(StringIO()) == []
    made.refresh_from_db()
    action.refresh_from_db()
    return action


def judge(member: Callable[..., Membership], grade: int) -> None:
    """Two annotators judge all that is open, and a lead closes it."""
    for name in ("ada", "bob"):
        person = member(name)
        while Batch.objects.filter(free=True).exclude(assignments__annotator=person).exists():
            judge_all(claim(person), lambda candidate: grade)
    for batch in Batch.objects.filter(state=Batch.State.SETTLED):
        review(batch, member("leo", "lead"), "close")


def released(leo: Membership) -> Release:
    found = freeze(leo.campaign, leo, "CC0-1.0")
    assert work_off(StringIO()) == []
    found.refresh_from_db()
    return found


def scores(release: Release) -> dict[str, float | None]:
    rows = Score.objects.filter(scoring__release=release, convention="paper", measure=MEASURE)
    return {row.scoring.run.name: row.value for row in rows.select_related("scoring__run")}


def test_the_order_changes_once_what_one_system_found_is_judged(
    two: list[Run], release: Release, leo: Membership, member: Callable[..., Membership], rio: Membership
) -> None:
    """From end to end, on the pages: proposed, opened, judged by others, reviewed, released, scored anew."""
    before, pools = scores(release), reverse("unjudged", args=["films"])
    assert before["plain"] > before["seer"]  # type: ignore[operator]
    lead = browser(leo)
    assert lead.get(reverse("unjudged-csv", args=["films"])).status_code == 404
    assert "Nobody has enlarged the pool" in lead.get(pools).content.decode()
    form = {"run": [str(run.number) for run in two], "depth": "10", "iou": "0.5"}
    page = lead.post(reverse("unjudged-propose", args=["films"]), form)["Location"]
    assert "waits for a worker" in lead.get(page).content.decode()
    assert work_off(StringIO()) == []
    assert lead.get(page, headers={"hx-request": "true"})["HX-Refresh"] == "true"
    text = text_between_tags(lead.get(page).content.decode())
    assert "6 moments of 6 queries can be judged. 2 overlap a judged moment" in text
    assert "seer at 1" in text
    made = Enlargement.objects.get()
    free = made.to_judge(Near.LEAVE)
    assert sorted(each["query"] for each in free) == [f"q{n}" for n in range(6)]
    assert {tuple(each["ranks"].items()) for each in free} == {((str(two[1].number), 1),)}
    # On rank 2 of two queries the annotators found no consensus: it is in no qrels, and judged all the same.
    assert [each["query"] for each in made.moments if each["near"]] == ["q0", "q3"]

    assert 'value="6"' in lead.get(page).content.decode()  # 50, if there were so many
    preview = lead.post(reverse("unjudged-open", args=["films", 1]), {"taken": "6", "near": "leave"})["Location"]
    words = text_between_tags(lead.get(preview).content.decode())
    assert "Nothing has happened yet" in words
    assert "the first 6 moments of enlargement 1" in words
    assert not Source.objects.exists()
    lead.post(f"{preview}change", {"change": "begin"})
    assert work_off(StringIO()) == []
    assert set(Source.objects.values_list("run__name", "rank")) == {("seer", 1)}
    assert Moment.everything.filter(predicted=True).count() == 1  # the same stretch for all queries
    sees_nothing(member("ada"))
    assert batches_of(made) == [("open", 6)]
    judge(member, 4)
    assert not any(audit(leo.campaign).values())

    after = released(leo)
    now = scores(after)
    assert now["seer"] > now["plain"]  # type: ignore[operator]
    assert scores(release) == before
    found = comparison(leo, after, MEASURE)
    assert found
    places = [(row.run.name, row.place_first, row.place_whole) for row in found.rows]
    assert (places, found.tau) == ([("seer", 2, 1), ("plain", 1, 2)], -1)
    seer_row, plain_row = found.rows
    assert (seer_row.first, plain_row.first) == pytest.approx((before["seer"], before["plain"]))
    assert (seer_row.whole, plain_row.whole) == pytest.approx((now["seer"], now["plain"]))
    # Only the seer found them: without its part it scores as in the first pool, and the other run as it does.
    assert (seer_row.without, plain_row.without) == pytest.approx((before["seer"], now["plain"]))
    with after.file.open("rb") as file:
        archive = ReleaseArchive(file)
        assert not any(verify(archive).values())
        pairs = [(row["rank"], row["similarity"], row["pool"]) for row in archive.rows("pairs.csv")]
        assert "The pool was enlarged: 6 pairs" in "".join(archive.lines("README.md"))
    assert pairs.count(("5", "", "further")) == 6
    assert {pool for _, near, pool in pairs if near} == {"first"}

    for each in (lead, browser(rio)):
        text = text_between_tags(each.get(f"{pools}?measure={NDCG[1]}").content.decode())
        assert "With the first pool plain leads" in text
        assert "with the enlarged one seer does" in text
        assert "grade 4" in each.get(page).content.decode()
    table = lead.get(reverse("unjudged-csv", args=["films"]), {"measure": NDCG[1]})
    assert table["Content-Disposition"] == f'attachment; filename="films-v{after.version}-pools.csv"'
    lines = list(csv.DictReader(StringIO(content_of(table).decode())))
    found_places = [(line["name"], int(line["place_first"]), int(line["place_whole"])) for line in lines]
    assert found_places == places
    assert float(lines[0]["bias"]) == pytest.approx(now["seer"] - before["seer"])  # type: ignore[operator]
    assert (lines[0]["release"], lines[0]["convention"], lines[0]["reused"]) == (f"{after.version}", "paper", "")
    two[1].show_to("private")
    assert b"seer" not in content_of(lead.get(reverse("unjudged-csv", args=["films"])))
    assert lead.get(f"{reverse('unjudged-csv', args=['films'])}?measure=nothing").status_code == 400
    assert "seer" not in lead.get(pools).content.decode()
    assert "a private run" in lead.get(page).content.decode()
    assert lead.get(f"{pools}?measure=nothing").status_code == 400


def sees_nothing(annotator: Membership) -> None:
    """An annotator claims a further batch, and nothing says where its moments come from."""
    client = browser(annotator)
    answer = client.post(reverse("claim", args=["films"]), headers={"accept": "application/json"})
    held = annotator.assignments.live().get()
    assert held.batch.further
    page = client.get(reverse("workplace", args=[held.token])).content.decode()
    for word in ("further", "seer", "predicted", "secret", "enlarge", "source"):
        assert word not in answer.content.decode() + page


def test_seeds_are_left_out_together_and_grades_are_reused_on_a_leads_word_alone(
    closed: Campaign, rio: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    """One run predicts rank 1 twice, of which the second is free, because the moment is taken, and is near it."""
    twice = {query: [*rows[:1], (*NEAR, 49.5), *rows[1:]] for query, rows in best(closed).items()}
    descriptions = [{"name": "twice"}, {"name": "seer-1", "group": "seer"}, {"name": "seer-2", "group": "seer"}]
    predictions = [twice, seer(closed), seer(closed)]
    runs = [uploaded(rio, found, **each) for found, each in zip(predictions, descriptions, strict=True)]
    made = proposed(leo, runs)
    first = Candidate.objects.get(query__query_id="q0", rank=1)
    [near] = [each["near"] for each in made.moments if each["query"] == "q0" and each["end"] == NEAR[2]]
    assert near == {"candidate": first.pk, "iou": 0.908}
    assert len(made.to_judge(Near.LEAVE)) == 6
    assert len(made.to_judge(Near.JUDGE)) == 14  # and the two without a consensus
    opened(leo, made, 6, Near.REUSE)
    assert Candidate.objects.filter(batch__further=True).count() == 6
    judge(member, 3)
    after = released(leo)
    for score in PoolScore.objects.filter(run__group="seer", measure=MEASURE):
        assert score.without == pytest.approx(score.first)
    # The reused grade is in no qrels, and only the column of its own counts it.
    row = PoolScore.objects.get(release=after, run=runs[0], measure=MEASURE)
    assert row.whole == pytest.approx(scores(after)["twice"])
    assert row.reused is not None
    assert row.reused > row.whole  # type: ignore[operator]
    with after.file.open("rb") as file:
        assert "secret-video-0@1250-4200" not in "".join(ReleaseArchive(file).lines("qrels.txt"))


def test_what_is_refused_and_what_is_left_out(two: list[Run], leo: Membership) -> None:
    numbers, queries = [run.number for run in two], leo.campaign.queries
    strange: list[tuple[dict[str, Any], str]] = [
        ({"depth": 0}, "depth"),
        ({"depth": 101}, "depth"),
        ({"iou": 0.4}, "iou"),
        ({"runs": numbers[:1]}, "from 2 to 30"),
        ({"runs": [*numbers, 9]}, "shared or public"),
    ]
    for more, what in strange:
        with pytest.raises(BadValue, match=what):
            ask_to_propose(leo, PoolPlan(**({"runs": numbers} | more)))
    two[1].show_to("private")
    with pytest.raises(BadValue, match="shared or public"):
        ask_to_propose(leo, PoolPlan(numbers))
    two[1].show_to("shared")

    queries.filter(query_id="q0").update(closed=False)
    made = proposed(leo, two)
    assert made.found["not_closed"] == 2  # type: ignore[index]
    assert sorted(each["query"] for each in made.to_judge(Near.LEAVE)) == [f"q{n}" for n in range(1, 6)]
    for taken in (0, 6):
        with pytest.raises(BadValue, match="taken"):
            prepare_opening(made, leo, taken, Near.LEAVE)
    queries.filter(query_id="q1").update(closed=False)  # meanwhile
    action = opened(leo, made, 5)
    with pytest.raises(WrongState, match="opened already"):
        prepare_opening(made, leo, 1, Near.LEAVE)
    there = set(Source.objects.values_list("candidate__query__query_id", flat=True))
    assert there == {"q2", "q3", "q4", "q5"}
    assert [(query.query_id, "is not closed" in why) for query, why in named_rows(action, 5)] == [("q1", True)]
    job = Job.objects.get(kind="act")
    Job.objects.filter(pk=job.pk).update(state=Job.State.WAITING)
    assert work_off(StringIO()) == []  # run again, it adds nothing
    assert Batch.objects.filter(further=True).count() == 4
    ask_to_compare(leo.campaign.releases.get())
    assert work_off(StringIO()) == []
    assert not PoolScore.objects.exists()  # nothing of the further batches is released yet


def test_the_price_is_known_before_and_all_of_it_is_undone_after(two: list[Run], leo: Membership) -> None:
    made, before = proposed(leo, two), stored(leo.campaign)
    action = prepare_opening(made, leo, 4)
    cost = action_cost(action)
    assert (cost.queries, cost.left) == (4, 0)
    assert cost.judgements >= 2 * 4  # two people each, and some once more
    assert cost.ready == frontier(leo.campaign).sample == 6
    assert cost.ready_after is not None
    assert cost.ready_after < 6
    assert stored(leo.campaign) == before
    action = opened(leo, made, 4)
    assert (made.taken, made.opened_by, stored(leo.campaign) == before) == (4, leo, False)
    assert frontier(leo.campaign).sample == cost.ready_after
    for _ in range(2):
        undo_action(action, leo)
    assert work_off(StringIO()) == []
    made.refresh_from_db()
    assert (made.taken, made.opened, stored(leo.campaign)) == (None, None, before)
    assert not any(audit(leo.campaign).values())
    opened(leo, made, 6)  # as if nothing had been
    assert Candidate.objects.filter(batch__further=True).count() == 6


def test_what_somebody_has_begun_is_not_undone(
    two: list[Run], leo: Membership, member: Callable[..., Membership]
) -> None:
    made = proposed(leo, two)
    action = opened(leo, made, 2)
    claim(member("ada"))
    undo_action(action, leo)
    assert work_off(StringIO()) == []
    assert [why for _, why in named_rows(action, 5)] == [
        "Somebody has begun to judge its moments. What is judged there stays."
    ]
    made.refresh_from_db()
    assert made.opened
    assert Candidate.objects.filter(batch__further=True).count() == 1
    assert not any(audit(leo.campaign).values())


def stored(campaign: Campaign) -> list[tuple[Any, ...]]:
    """Each query with whether it is closed, its batches and the candidates in them."""
    queries = Query.objects.filter(campaign=campaign).order_by("pk")
    return [(query.query_id, query.closed, query.batches.count(), _judged(query)) for query in queries]


def _judged(query: Query) -> list[tuple[int, str]]:
    return sorted(query.candidates.filter(batch__isnull=False).values_list("rank", "outcome"))
