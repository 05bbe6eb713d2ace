"""What a lead does to many queries at once: prepared, done query by query, left where impossible, undone as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse

from base.errors import BadValue, Changed, WrongState
from campaigns.models import Campaign, Membership
from jobs.models import Job
from jobs.running import work_off
from judging.audit import audit
from judging.models import Action, ActionRow, Batch, Query, Review
from judging.review import actions
from judging.review.actions import begin, prepare, undo_action
from reports.tables.costs import action_cost
from tests.cast import browser, claim, make_query, settle
from tests.remembered import remembered


@pytest.fixture
@remembered
def three(batch: Batch, campaign: Campaign, ada: Membership, bob: Membership) -> list[Query]:
    """Three queries to review, of which the second asks for a second batch; and a fourth that nobody has judged."""
    batches = [batch, *(make_query(campaign, str(n), f"Query {n}.").batches.get() for n in (2, 3))]
    for number, each in enumerate(batches):
        settle(each, ada, bob, last=4 if number == 1 else 1)
    make_query(campaign, "4", "A person waits.")
    return [each.query for each in batches]


def done(action: Action) -> dict[str, int]:
    work_off()
    action.refresh_from_db()
    return {state: number for state, number in actions.numbers(action).items() if number}


def test_recommendations_are_followed_for_all_and_undone_as_one(
    three: list[Query], campaign: Campaign, leo: Membership
) -> None:
    action = prepare(leo, "accept", Query.objects.filter(campaign=campaign), "all queries")
    assert not Review.objects.exists()
    cost = action_cost(action)
    assert (cost.queries, cost.left) == (3, 1)
    assert cost.judgements == 40  # one second batch, nothing was contested so far
    begin(action, leo)
    begin(action, leo)
    assert done(action) == {"done": 3, "left": 1}
    assert sorted(Review.objects.values_list("verdict", flat=True)) == ["close", "close", "second"]
    assert action.ended
    undo_action(action, leo)
    undo_action(action, leo)
    assert done(action) == {"undone": 3, "left": 1}
    assert not Review.objects.in_force().exists()
    assert Batch.objects.to_review().count() == 3
    assert not any(audit(campaign).values())


def test_what_somebody_has_begun_is_not_undone_and_named(three: list[Query], leo: Membership, ada: Membership) -> None:
    action = begin(prepare(leo, "second", Query.objects.filter(pk__in=[each.pk for each in three])), leo)
    assert done(action) == {"done": 3}
    Query.objects.filter(query_id="4").delete()
    claim(ada)
    undo_action(action, leo)
    assert done(action) == {"undone": 2, "kept": 1}
    [(query, why)] = actions.named_rows(action, 10)
    assert query.batches.filter(number=2).exists()
    assert "can no longer be undone" in why


def test_queries_are_withdrawn_for_a_reason_and_brought_back(
    three: list[Query], campaign: Campaign, leo: Membership
) -> None:
    action = prepare(leo, "withdraw", Query.objects.filter(campaign=campaign))
    assert action_cost(action).judgements == -40  # of the query that nobody has judged
    with pytest.raises(BadValue, match="reason"):
        begin(action, leo)
    begin(action, leo, "the wrong film")
    assert done(action) == {"done": 4}
    assert set(Query.objects.values_list("withdrawn_why", flat=True)) == {"the wrong film"}
    undo_action(action, leo)
    assert done(action) == {"undone": 4}
    assert not Query.objects.filter(withdrawn__isnull=False).exists()


def test_queries_are_given_to_a_group_and_back(
    three: list[Query], campaign: Campaign, leo: Membership, ada: Membership
) -> None:
    with pytest.raises(BadValue, match="argument"):
        prepare(leo, "group", Query.objects.all(), argument="group:night")  # nobody is in it
    with pytest.raises(BadValue, match="argument"):
        begin(prepare(leo, "group", Query.objects.all()), leo)
    Membership.objects.filter(pk=ada.pk).update(group="night")
    new = Query.objects.filter(query_id__in=["3", "4"])
    action = prepare(leo, "group", new, argument="group:night")
    cost = action_cost(action)
    assert (cost.queries, cost.left, cost.nobody) == (2, 0, 0)
    assert not Query.objects.filter(group="night").exists()
    begin(action, leo)
    assert done(action) == {"done": 2}
    campaign.refresh_from_db()
    assert campaign.has_groups
    assert set(Batch.objects.filter(group="night").values_list("query__query_id", flat=True)) == {"3", "4"}
    assert not any(audit(campaign).values())
    assert action_cost(prepare(leo, "group", new, argument="everybody")).queries == 2
    another = begin(prepare(leo, "group", new.filter(query_id="4"), argument="everybody"), leo)
    assert done(another) == {"done": 1}
    undo_action(action, leo)  # what was set since stays
    assert done(action) == {"undone": 1, "kept": 1}
    campaign.refresh_from_db()
    assert not campaign.has_groups
    assert not Batch.objects.exclude(group="").exists()
    assert not any(audit(campaign).values())


@pytest.mark.both_databases
def test_a_group_that_leaves_nobody_is_told_before(
    three: list[Query], leo: Membership, ada: Membership, bob: Membership
) -> None:
    Membership.objects.filter(pk=ada.pk).update(group="night")
    ada.pause(leo, "")
    action = prepare(leo, "group", Query.objects.filter(query_id="4"), argument="group:night")
    cost = action_cost(action)
    assert cost.nobody == 1
    assert not Query.objects.filter(group="night").exists()


def test_the_page_chooses_what_is_set_and_so_does_the_api(
    three: list[Query], campaign: Campaign, leo: Membership, ada: Membership
) -> None:
    Membership.objects.filter(pk=ada.pk).update(group="night")
    client = browser(leo)
    form = {"verb": "group", "which": "all", "view": "show="}
    answer = client.post(reverse("action-prepare", args=["films"]), form)
    assert "Nothing has happened yet" not in client.get(answer["Location"]).content.decode()
    change = reverse("action-change", args=["films", Action.objects.get().pk])
    client.post(change, {"change": "choose", "argument": "group:night"})
    assert "Give to a group, group night (4 queries)" in client.get(answer["Location"]).content.decode()
    client.post(change, {"change": "begin"})
    work_off()
    assert "Give to a group: 4 queries, group night" in client.get(answer["Location"]).content.decode()
    assert set(Query.objects.values_list("group", flat=True)) == {"night"}

    def ask(**body: str) -> tuple[int, dict[str, object]]:
        answer = client.post("/api/v1/campaigns/films/actions", body, content_type="application/json")
        return answer.status_code, answer.json()

    assert ask(verb="group")[0] == 422
    assert ask(verb="group", argument="group:day")[0] == 422
    status, body = ask(verb="group", argument="everybody")
    assert (status, body["argument"]) == (201, "everybody")
    assert isinstance(cost := body["cost"], dict)
    assert (cost["queries"], cost["nobody"]) == (4, 0)


def test_a_job_that_is_run_again_goes_on_where_it_was(three: list[Query], leo: Membership) -> None:
    action = begin(prepare(leo, "close", Query.objects.filter(pk=three[0].pk)), leo)
    assert done(action) == {"done": 1}
    ActionRow.objects.create(action=action, row=three[1].pk)  # as if it had been stopped here
    Job.objects.filter(kind="act").update(state=Job.State.WAITING)
    assert done(action) == {"done": 2}
    assert Review.objects.count() == 2


def test_only_who_prepared_it_begins_it_and_nothing_is_undone_before_it_ends(
    three: list[Query], leo: Membership, member: Callable[..., Membership]
) -> None:
    lea = member("lea", "lead")
    action = prepare(leo, "close", Query.objects.filter(pk=three[0].pk))
    with pytest.raises(Changed):
        begin(action, lea)
    with pytest.raises(WrongState):
        undo_action(action, leo)
    begin(action, leo)
    with pytest.raises(WrongState):
        undo_action(action, lea)
    done(action)
    undo_action(action, lea)
    assert done(action) == {"undone": 1}
    with pytest.raises(WrongState, match="one query at least"):
        prepare(leo, "close", Query.objects.none())


def test_from_the_list_to_the_undo_on_the_pages(three: list[Query], campaign: Campaign, leo: Membership) -> None:
    client = browser(leo)
    form = {"verb": "close", "which": "all", "view": "show=review&mean_to=1.5"}
    answer = client.post(reverse("action-prepare", args=["films"]), form)
    page = client.get(answer["Location"]).content.decode()
    assert "State: To review, Last five to: 1.5" in page
    assert "Close (2 queries)" in page
    change = reverse("action-change", args=["films", Action.objects.get().pk])
    client.post(change, {"change": "begin", "reason": "nothing there"})
    assert "It is being done" in client.get(answer["Location"]).content.decode()
    work_off()
    assert ">Undo" in client.get(answer["Location"]).content.decode()
    assert Query.objects.filter(closed=True).count() == 2
    client.post(change, {"change": "undo"})
    work_off()
    assert "Undone by leo" in client.get(answer["Location"]).content.decode()
    assert not Query.objects.filter(closed=True).exists()


def test_what_is_possible_for_no_query_says_for_which_and_cannot_be_begun(three: list[Query], leo: Membership) -> None:
    pages = []
    for query in Query.objects.filter(pk=three[0].pk), Query.objects.exclude(pk__in=[each.pk for each in three]):
        action = prepare(leo, "close", query)
        pages.append(browser(leo).get(reverse("action", args=["films", action.pk])).content.decode())
    possible, impossible = pages
    assert "1 of the queries chosen would be left as it is: this can be done to queries with a batch to review." in (
        " ".join(impossible.split())
    )
    assert 'name="reason"' not in impossible
    assert 'value="begin"' not in impossible
    assert "would be left" not in possible
    assert 'name="reason"' in possible
    assert 'value="begin"' in possible


def test_ticked_rows_and_what_is_none_of_them(three: list[Query], leo: Membership) -> None:
    client, address = browser(leo), reverse("action-prepare", args=["films"])
    form = {"verb": "close", "which": "ticked", "row": [three[0].pk, three[2].pk]}
    client.post(address, form)
    assert list(ActionRow.objects.values_list("row", flat=True)) == [three[0].pk, three[2].pk]
    client.post(reverse("action-change", args=["films", Action.objects.get().pk]), {"change": "forget"})
    assert not Action.objects.exists()
    assert client.post(address, form | {"row": "x"}).status_code == 400
    assert client.post(address, form | {"verb": "burn"}).status_code == 400
    assert client.post(address, {"verb": "close", "which": "ticked"}).status_code == 302  # with a message
    assert not Action.objects.exists()


def test_views_are_kept_shared_and_forgotten(
    campaign: Campaign, leo: Membership, member: Callable[..., Membership]
) -> None:
    rita = member("rita", "researcher")
    address = reverse("saved-views", args=["films"])
    view = {"listing": "queries", "choices": "mean_from=3&sort=-contested", "name": "Worst"}
    browser(leo).post(address, view | {"shared": "on"})
    browser(leo).post(address, view | {"shared": "on", "choices": "mean_from=2"})  # in place of the first
    browser(rita).post(address, view | {"name": "Mine", "shared": "on"})  # only leads share
    desk = reverse("queries", args=["films"])
    assert "Worst" in (seen := browser(rita).get(desk).content.decode())
    assert "Mine" in seen
    assert "Mine" not in browser(leo).get(desk).content.decode()
    assert "?mean_from=2" in seen
    [worst] = campaign.saved_views.filter(name="Worst")
    assert browser(rita).post(address, {"remove": worst.pk}).status_code == 404
    browser(leo).post(address, {"remove": worst.pk})
    assert list(campaign.saved_views.values_list("name", flat=True)) == ["Mine"]
    assert browser(leo).post(address, view | {"name": " "}).status_code == 400
