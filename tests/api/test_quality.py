"""Examples, the exam and quiet checks over the API, as their pages have them."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.models import Campaign, Membership
from corpus.models import Moment
from judging.models import Batch, Candidate
from judging.quality.exam import set_exam
from tests.api.asking import Program, problem_in
from tests.cast import by_rank, claim, judge_all, make_query, small_batches

pytestmark = pytest.mark.django_db
FILMS = "campaigns/films"


def test_an_example_is_made_seen_and_removed(settled: Batch, ada: Membership, leo: Membership) -> None:
    lead, annotator = Program(leo), Program(ada)
    [pair, *_] = lead.get(f"{FILMS}/examples/candidates", find="sits").json()["results"]
    body = {"candidate": pair["candidate"], "grade": pair["grade"], "why": "As it is."}
    made = lead.post(f"{FILMS}/examples", body, idempotency_key="e")
    assert made.status_code == 201
    assert lead.post(f"{FILMS}/examples", body, idempotency_key="e").json() == made.json()
    own = Moment.objects.filter(candidates__isnull=True).select_related("video")[0]
    example = {"query": "A person waves.", "video": own.video.name, "start": own.start, "end": own.end}
    other = lead.post(f"{FILMS}/examples", example | {"grade": 0, "why": "Nobody waves."}).json()
    wrong = lead.post(f"{FILMS}/examples", example | {"grade": 0, "why": "w", "start": 0.1})
    assert problem_in(wrong, 422)["fields"].keys() == {"start"}
    seen = annotator.get(f"{FILMS}/examples").json()["results"]
    assert [(each["query"], each["grade"]) for each in seen] == [
        ("A person sits down.", pair["grade"]),
        ("A person waves.", 0),
    ]
    assert all(each.keys() == {"id", "query", "grade", "why", "clip"} for each in seen)
    assert lead.ask("DELETE", f"{FILMS}/examples/{other['id']}").status_code == 204
    assert [each["hidden"] for each in lead.get(f"{FILMS}/examples").json()["results"]] == [False]


def test_the_exam_is_made_and_its_truth_set_from_the_version_in_force(
    campaign: Campaign, ada: Membership, leo: Membership
) -> None:
    lead = Program(leo)
    assert lead.get(f"{FILMS}/exam").json()["batches"] == 0
    assert problem_in(lead.post(f"{FILMS}/exam", {"queries": 9}), 422)["fields"].keys() == {"queries"}
    made = lead.post(f"{FILMS}/exam", {"queries": 1, "depth": 3})
    assert (made.status_code, made.json()["pairs"]) == (201, 3)
    problem_in(lead.post(f"{FILMS}/exam", {"queries": 1, "depth": 3}), 409)
    [batch] = lead.get(f"{FILMS}/exam/batches").json()["results"]
    address = f"{FILMS}/exam/batches/{batch['id']}"
    found = lead.get(address)
    assert [pair["rank"] for pair in found.json()["pairs"]] == [1, 2, 3]
    body = {"truths": [{"rank": 2, "grade": 4, "why": "All of it."}]}
    problem_in(lead.ask("PATCH", address, body), 428)
    changed = lead.ask("PATCH", address, body, if_match=found["ETag"])
    assert [(pair["own"], pair["truth"]) for pair in changed.json()["pairs"]] == [(None, None), (4, 4.0), (None, None)]
    problem_in(lead.ask("PATCH", address, body, if_match=found["ETag"]), 412)
    strange = {"truths": [{"rank": 9, "grade": 4}]}
    problem_in(lead.ask("PATCH", address, strange, if_match=changed["ETag"]), 422)
    assert Program(ada).get(f"{FILMS}/mine").json()["exam"].startswith("Before you get work")
    decided = lead.post(f"{FILMS}/exam/people/{ada.worker}/verdict", {"verdict": "qualify", "reason": "known"})
    assert decided.json()["state"] == "works without the exam"
    ada.refresh_from_db()
    assert ada.qualified
    assert Program(ada).get(f"{FILMS}/mine").json()["exam"] == ""


def test_checks(campaign: Campaign, ada: Membership, bob: Membership, leo: Any) -> None:
    small_batches(campaign, 2, hidden=1)
    judge_all(claim(bob), by_rank)
    lead = Program(leo)
    rows = {each["worker"]: each for each in lead.get(f"{FILMS}/checks").json()["annotators"]}
    assert (rows[bob.worker]["judgements"], rows[bob.worker]["pairs"]) == (5, 1)
    assert rows[ada.worker]["pairs"] == 0
    for show, number in (("all", 1), ("missed", 0), ("newest", 1)):
        found = lead.get(f"{FILMS}/checks/{bob.worker}/pairs", show=show).json()["results"]
        assert [each["source"] for each in found] == ["repeat"] * number
    quick = lead.get(f"{FILMS}/checks/{bob.worker}/pairs", show="speed", limit=2).json()
    assert (len(quick["results"]), quick["results"][0]["seconds"]) == (2, 1.0)


def test_what_reopening_costs_is_told_before(settled: Batch, leo: Membership) -> None:
    found = Program(leo).get(f"{FILMS}/reopenings/cost", what="batch", id=settled.pk).json()
    assert (found["candidates"], found["judgements"]) == (20, 40)
    assert Candidate.objects.filter(batch=settled).settled().count() == 20


def test_agreement_and_figures_have_the_numbers_of_the_pages(settled: Batch, ada: Membership, leo: Membership) -> None:
    lead = Program(leo)
    own = lead.get(f"{FILMS}/agreement/annotators/{ada.worker}").json()["numbers"]
    assert (own["worker"], own["judged"]) == (ada.worker, 20)
    assert [each["text"] for each in lead.get(f"{FILMS}/agreement/queries").json()["queries"]] == [
        "A person sits down."
    ]
    figures = {each["key"]: each for each in lead.get(f"{FILMS}/figures").json()["figures"]}
    final = [row["candidates"] for row in figures["figure-5b"]["rows"]]
    assert final == [0, 10, 0, 0, 10]
    text = lead.get(f"{FILMS}/figures/figure-5b.csv").content.decode()
    assert text.splitlines()[2] == "1,10,0.5"
    problem_in(lead.get(f"{FILMS}/figures", query="99"), 422)
    problem_in(lead.get(f"{FILMS}/figures", query=""), 400)  # given, and nothing: not the same as not given


def test_judgements_are_chosen_and_read_page_by_page(
    settled: Batch, ada: Membership, leo: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("base.listing.ON_A_PAGE", 15)
    lead, pages = Program(leo), [Program(leo).get(f"{FILMS}/judgements", worker=ada.worker).json()]
    assert "worker=" in pages[0]["next"]
    pages.append(lead.ask("GET", pages[0]["next"].removeprefix("http://testserver")).json())
    assert (pages[1]["next"], [len(page["results"]) for page in pages]) == (None, [15, 5])
    found = [row["id"] for page in pages for row in page["results"]]
    assert found == sorted(found, reverse=True)
    assert {(row["worker"], row["seat"]) for page in pages for row in page["results"]} == {(ada.worker, 1)}
    before = lead.get(f"{FILMS}/judgements", worker=ada.worker, before=found[17]).json()["results"]
    assert [row["id"] for row in before] == found[18:]
    assert problem_in(lead.get(f"{FILMS}/judgements", week="2026-W99"), 422)["fields"].keys() == {"week"}
    assert problem_in(lead.get(f"{FILMS}/judgements", only="none"), 400)["fields"].keys() == {"only"}


def test_an_exam_is_no_part_of_the_pool(campaign: Campaign, leo: Membership) -> None:
    make_query(campaign, "2", "A person stands up.")
    set_exam(campaign, 1, 1, 3)
    [batch] = Program(leo).get(f"{FILMS}/exam/batches").json()["results"]
    assert batch["id"] not in [each["id"] for each in Program(leo).get(f"{FILMS}/batches").json()["results"]]
