"""A lead steers work: which strata come first, which group judges what in round one, and how much everybody judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from base.errors import WrongState
from campaigns.models import Campaign, Event, Membership
from judging import order
from judging.audit import audit
from judging.models import Batch, Query, Review
from judging.models.states import Priority
from judging.pool.queries import draw_order, give_to_group, load_queries, set_priority
from judging.review.frontier import frontier, reach
from judging.review.reviewing import review
from judging.settings import LimitsForm, set_up
from judging.work import claiming, places
from judging.work.claiming import without_annotators
from judging.work.places import limit_reached
from releases.contents import estimates
from releases.exports import ExportScope
from reports.steering import outlook, steered
from tests.api.asking import Program
from tests.cast import browser, claim, judge_all, small_batches
from tests.remembered import remembered

FIRST, USUAL, LAST = Priority.FIRST, Priority.USUAL, Priority.LAST


@pytest.fixture
@remembered
def strata(campaign: Campaign) -> Campaign:
    """Eight queries of two clips each, in two strata that alternate."""
    small_batches(campaign, 8, size=2)
    for number, query in enumerate(campaign.queries.order_by("place")):
        Query.objects.filter(pk=query.pk).update(stratum="ab"[number % 2])
    draw_order(campaign)
    return campaign


def of(campaign: Campaign, **which: str) -> Any:
    return campaign.queries.filter(**which)


def finish(person: Membership) -> Batch:
    held = claim(person)
    judge_all(held, lambda candidate: 1)
    held.batch.refresh_from_db()
    return held.batch


def sound(campaign: Campaign) -> bool:
    campaign.refresh_from_db()
    return not any(audit(campaign).values())


def test_a_stratum_that_comes_first_is_judged_in_its_own_order(
    strata: Campaign, ada: Membership, leo: Membership
) -> None:
    assert finish(ada).query.stratum == strata.queries.order_by("place")[0].stratum
    assert set_priority(leo, of(strata, stratum="b"), FIRST) == 4
    assert set_priority(leo, of(strata, stratum="b"), FIRST) == 0  # twice is harmless
    assert leo.events.filter(kind=Event.Kind.STEERED).count() == 1
    handed = [finish(ada).query for _ in range(7)]
    assert [query.stratum for query in handed[:4]].count("b") >= 3
    for name in "ab":
        places = [query.place or 0 for query in handed if query.stratum == name]
        assert places == sorted(places)
    assert sound(strata)


def test_what_has_begun_goes_on_first_only_within_its_priority(
    strata: Campaign, ada: Membership, bob: Membership, leo: Membership
) -> None:
    begun = claim(ada).batch
    others = "b" if begun.query.stratum == "a" else "a"
    set_priority(leo, of(strata, stratum=others), FIRST)
    assert claim(bob).batch.query.stratum == others


def test_a_part_of_a_stratum_is_refused(strata: Campaign, leo: Membership) -> None:
    some = of(strata, stratum="a").order_by("text")[:2]
    with pytest.raises(WrongState, match="2 of the 4 queries of no split, stratum a"):
        set_priority(leo, Query.objects.filter(pk__in=[each.pk for each in some]), FIRST)
    with pytest.raises(WrongState, match="no such queries"):
        set_priority(leo, of(strata, stratum="c"), FIRST)
    assert set_priority(leo, of(strata), LAST) == 8  # a union of whole strata
    assert sound(strata)


def test_queries_that_are_added_take_the_priority_of_their_stratum(
    campaign: Campaign, leo: Membership, tmp_path: Any
) -> None:
    set_priority(leo, of(campaign), LAST)
    file = tmp_path / "queries.json"
    file.write_text('[{"query_id": "9", "query": "A dog barks."}]')
    load_queries(campaign, file)
    assert campaign.queries.get(query_id="9").priority == LAST
    assert sound(campaign)


def close(batch: Batch, *two: Membership) -> None:
    for person in two:
        judge_all(batch.hand_to(person), lambda candidate: 1)
        batch.refresh_from_db()
    review(batch, None, Review.Verdict.CLOSE)


def test_the_frontier_and_a_release_wait_for_every_stratum(
    strata: Campaign, ada: Membership, bob: Membership, leo: Membership
) -> None:
    """What is finished of one stratum alone is no sample of all, and nothing says that it is one."""
    assert reach(strata) is None
    set_priority(leo, of(strata, stratum="b"), FIRST)
    waits = min(query.place or 0 for query in of(strata, stratum="a"))
    least = strata.queries.filter(place__lt=waits).count()
    assert reach(strata) == least <= 1
    for batch in Batch.objects.filter(query__stratum="b"):
        close(batch, ada, bob)
    found = frontier(strata)
    assert (found.sample, found.sample + found.beyond, found.is_random) == (least, 4, True)
    assert reach(strata) is None  # all that is left has one priority
    scope = ExportScope(strata, with_finished=True, with_unfinished=False)
    of_release = estimates(scope)
    assert (of_release["sample"], of_release["beyond"], of_release["random"]) == (least, 4 - least, True)
    assert sum(each.sample for each in scope.order) == least
    row = next(each for each in steered(strata).strata if each.stratum == "b")
    assert (row.queries, row.finished, row.in_order, row.priority) == (4, 4, 4, "first")
    page = browser(leo).get(reverse("annotators", args=["films"]), {"view": "order"}).content.decode()
    assert "queries are finished in their order" in page
    assert sound(strata)


def test_a_query_that_has_to_wait_says_so(strata: Campaign, leo: Membership) -> None:
    set_priority(leo, of(strata, stratum="b"), FIRST)
    held = Program(leo).get("campaigns/films/frontier").json()
    assert {each["why"] for each in held["held"]} <= {"new", "later"}
    assert held["reach"] == reach(strata)
    page = browser(leo).get(reverse("campaign", args=["films"]) + "?drawer=blockers").content.decode()
    assert f"it gets no further than {reach(strata)}" in page


@pytest.fixture
@remembered
def night(strata: Campaign, member: Callable[..., Membership]) -> list[Membership]:
    """Four people in a group."""
    people = [member(f"n{number}") for number in range(4)]
    Membership.objects.filter(pk__in=[each.pk for each in people]).update(group="night")
    return [Membership.objects.get(pk=each.pk) for each in people]


@pytest.mark.both_databases
def test_round_one_of_a_groups_stratum_is_for_its_people(
    strata: Campaign, night: list[Membership], ada: Membership, leo: Membership
) -> None:
    assert give_to_group(leo, of(strata, stratum="a"), "night", 100) == 4
    assert give_to_group(leo, of(strata, stratum="a"), "night", 100) == 0
    handed = [finish(ada).query.stratum for _ in range(4)]
    assert handed == ["b"] * 4
    assert claiming.claim(ada) is None
    ada.campaign.refresh_from_db()
    assert not claiming.has_work(ada)
    assert {finish(night[0]).query.stratum for _ in range(8)} == {"a", "b"}
    give_to_group(leo, of(strata, stratum="a"), "night", 0)
    assert claim(ada).batch.query.stratum == "a"
    assert sound(strata)


def contest(batch: Batch, first: Membership, second: Membership) -> None:
    """Both differ by four on each clip."""
    for person, grade in ((first, 0), (second, 4)):
        judge_all(batch.hand_to(person), partial(lambda given, candidate: given, grade))
        batch.refresh_from_db()
    assert batch.round == 2


@pytest.mark.both_databases
def test_round_two_goes_to_the_group_first_and_then_to_anybody_new(
    strata: Campaign, night: list[Membership], ada: Membership, leo: Membership
) -> None:
    give_to_group(leo, of(strata), "night", 100)
    first = Batch.objects.order_by("place")[0]
    contest(first, *night[:2])
    assert claiming.claim(ada) is None  # two of the group are new to it
    assert claim(night[2]).batch == first
    assert not without_annotators().exists()
    for person in night[3:]:
        person.pause(leo, "ill")
    held = claim(ada)
    assert (held.batch, held.round) == (first, 2)


@pytest.mark.both_databases
def test_a_share_is_drawn_whatever_the_places_are(strata: Campaign, leo: Membership, night: list[Membership]) -> None:
    Membership.objects.filter(pk=night[3].pk).update(group="day")
    give_to_group(leo, of(strata), "night", 50)
    own = set(of(strata, group="night").values_list("query_id", flat=True))
    by_lot = sorted(strata.queries.values_list("query_id", flat=True), key=lambda key: order.lot(7, key))
    assert own == set(by_lot[:4])
    give_to_group(leo, of(strata), "day", 25)
    assert of(strata, group="day").count() == 2
    assert of(strata, group="night").count() == 4
    with pytest.raises(WrongState, match="Other groups have 4 of these 8"):
        give_to_group(leo, of(strata), "day", 75)
    assert sound(strata)


@pytest.mark.both_databases
def test_the_audit_finds_a_batch_or_a_stratum_that_is_steered_otherwise(strata: Campaign) -> None:
    query = strata.queries.order_by("pk")[0]
    changes: list[tuple[QuerySet[Any], dict[str, Any], str]] = [
        (Batch.objects.filter(query=query), {"priority": FIRST}, "another priority or group than its query"),
        (Batch.objects.filter(query=query), {"group": "night"}, "another priority or group than its query"),
        (Query.objects.filter(pk=query.pk), {"priority": FIRST}, "have 2 priorities"),
        (Query.objects.filter(pk=query.pk), {"group": "night"}, "said to have no queries for groups"),
    ]
    for rows, fields, words in changes:
        rows.update(**fields)
        assert words in "; ".join(fault for faults in audit(strata).values() for fault in faults)
        rows.update(priority=USUAL, group="")
    assert sound(strata)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("limits", "words", "began"),
    [
        ({"most_a_day": 5}, "5 clips for today", "start_of_day"),
        ({"most_a_week": 5}, "5 clips for this week", "start_of_week"),
        ({"most_in_all": 5}, "5 clips in all", ""),
    ],
)
def test_a_batch_is_handed_out_while_a_whole_one_fits(
    strata: Campaign,
    ada: Membership,
    leo: Membership,
    monkeypatch: pytest.MonkeyPatch,
    limits: dict[str, int],
    words: str,
    began: str,
) -> None:
    for _ in range(2):
        Membership.objects.filter(pk=ada.pk).steer(leo, "a limit", **limits)
    assert ada.events.filter(kind=Event.Kind.STEERED).count() == 1
    ada.refresh_from_db()
    for _ in range(2):
        finish(ada)
    assert claiming.claim(ada) is None
    assert not claiming.has_work(ada)
    client = browser(ada)
    for page in (client.get(reverse("work")), client.post(reverse("claim", args=["films"]), follow=True)):
        assert words in page.content.decode()
    assert Program(ada).post("campaigns/films/claim").status_code == 204
    assert words in Program(ada).get("campaigns/films/mine").json()["limit"]
    if began:  # a new day, or a new week
        monkeypatch.setattr(places, began, timezone.now)
        assert claim(ada)


def test_a_batch_in_hands_is_finished_whatever_the_limit(strata: Campaign, ada: Membership, leo: Membership) -> None:
    held = claim(ada)
    Membership.objects.filter(pk=ada.pk).steer(leo, "less", most_in_all=2)
    ada.refresh_from_db()
    assert claim(ada) == held
    finish(ada)
    assert claiming.claim(ada) is None


def test_the_quota_of_a_week_counts_what_all_did_and_hold(
    strata: Campaign, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    assert not set_up(leo, {"week_quota": 1}, partial=True).is_valid()  # no batch fits
    assert set_up(leo, {"week_quota": 5}, partial=True).is_valid()
    for person in (ada, bob, cleo):
        person.campaign.refresh_from_db()
    finish(ada)
    claim(bob)
    assert claiming.claim(cleo) is None
    assert "5 clips that all of you judge in a week" in limit_reached(cleo)


def test_who_has_no_work_left_for_good_leaves_batches_without_annotators(
    strata: Campaign, ada: Membership, bob: Membership, leo: Membership
) -> None:
    """Before it is set, a lead reads which; a limit of a day takes nobody away for good."""
    finish(ada)
    form = LimitsForm(leo, {"who": "all", "most_in_all": "2"})
    assert form.is_valid()
    found = outlook(form.campaign, form.apply)
    assert (found.number, found.before) == (0, 0)  # Bob may judge one more
    finish(bob)
    found = outlook(form.campaign, form.apply)
    assert found.number == len(found.batches) == 7
    ada.refresh_from_db()
    assert ada.most_in_all is None  # nothing is set yet
    form.apply()
    assert {*without_annotators()} == {*found.batches}
    form = LimitsForm(leo, {"who": "all", "most_a_day": "2"})
    assert form.is_valid()
    form.apply()
    assert not without_annotators().exists()


def test_the_page_sets_nothing_before_it_has_been_looked_at(strata: Campaign, ada: Membership, leo: Membership) -> None:
    client, share = browser(leo), {"stratum": "a", "group": "night", "percent": "100"}
    address, drawer = reverse("steer", args=["films", "share"]), reverse("annotators", args=["films"])
    assert client.post(address, share).status_code == 400  # there is no such group
    into = {"who": str(ada.worker), "group": "night"}
    assert client.post(reverse("steer", args=["films", "group"]), into).status_code == 302
    ada.pause(leo, "ill")
    page = " ".join(client.get(drawer, share | {"view": "order", "drawer": "share"}).content.decode().split())
    assert "4 batches would have nobody left who may judge them." in page
    assert not of(strata, group="night").exists()
    dry = Program(leo).ask("PUT", "campaigns/films/steering/share", share | {"percent": 100, "dry_run": True}).json()
    assert (dry["nobody"], len(dry["batches"])) == (4, 4)
    assert not of(strata, group="night").exists()
    assert client.post(address, share).status_code == 302
    assert of(strata, group="night").count() == 4
    assert client.post(reverse("steer", args=["films", "weather"])).status_code == 404


@pytest.mark.both_databases
def test_the_api_steers_as_the_page_does(strata: Campaign, ada: Membership, leo: Membership) -> None:
    lead, place = Program(leo), "campaigns/films/steering"
    assert lead.ask("PUT", f"{place}/limits", {"who": str(ada.worker), "most_a_day": 4}).status_code == 200
    assert lead.ask("PUT", f"{place}/limits", {"who": "all", "most_a_day": 1}).status_code == 422  # no batch fits
    assert lead.ask("PUT", f"{place}/limits", {"who": "group x", "most_a_day": 4}).status_code == 422
    assert lead.ask("PUT", f"{place}/group", {"who": "all", "group": "night"}).status_code == 200
    assert lead.ask("PUT", f"{place}/priority", {"stratum": "b", "priority": "first"}).status_code == 200
    assert lead.ask("PUT", f"{place}/priority", {"stratum": "c", "priority": "first"}).status_code == 409
    found = lead.get(place).json()
    assert found["annotators"][0] | {"week": 0} == {
        "worker": ada.worker, "group": "night", "today": 0, "week": 0,
        "most_a_day": 4, "most_a_week": None, "most_in_all": None,
    }  # fmt: skip
    assert {row["stratum"]: row["priority"] for row in found["strata"]} == {"a": "as usual", "b": "first"}
    assert [(row["name"], row["annotators"]) for row in found["groups"]] == [("", 0), ("night", 1)]
