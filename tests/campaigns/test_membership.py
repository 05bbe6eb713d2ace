"""A membership's verbs: pause, leave, hand over, change of role; and a lead always stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from base.errors import BadValue, NotFound, WrongState
from campaigns.access import let_create
from campaigns.models import Campaign, Membership
from corpus.models import Corpus
from judging.audit import audit
from judging.models import Assignment, Batch, Judgement
from judging.review import decisions
from judging.work import claiming, grading
from tests.cast import browser, claim, judge_all, settle_round_one
from tests.terminal import printed, refused
from tests.together import at_once

DAY = timedelta(days=1)


def again(member: Membership) -> Membership:
    return Membership.objects.get(pk=member.pk)


def happened(member: Membership) -> list[tuple[str, str]]:
    """Events, oldest first."""
    return list(member.events.order_by("pk").values_list("kind", "reason"))


def test_a_pause_stops_work_and_keeps_the_batch_in_hand(ada: Membership, leo: Membership) -> None:
    held = claim(ada)
    ada.pause(leo, "too fast")
    with pytest.raises(WrongState):
        claiming.claim(ada)
    held.refresh_from_db()
    assert held.state == Assignment.State.LIVE
    assert held.batch.taken == 1
    ada.resume(leo, "talked to her")
    assert claim(ada).pk == held.pk
    assert happened(ada) == [("paused", "too fast"), ("resumed", "talked to her")]


@pytest.mark.parametrize("verb", [Membership.pause, Membership.resume, decisions.deactivate, decisions.hand_over])
def test_doing_it_twice_is_harmless(verb: Callable[..., None], ada: Membership, leo: Membership) -> None:
    if verb is Membership.resume:
        ada.pause(leo, "")
    if verb is decisions.hand_over:
        claim(ada)
    verb(ada, leo, "once")
    before = happened(ada)
    verb(ada, leo, "twice")
    assert happened(ada) == before
    assert before[-1][1] == "once"


def test_who_leaves_gives_up_the_batch_and_may_be_taken_back(ada: Membership, bob: Membership, leo: Membership) -> None:
    held = claim(ada)
    decisions.deactivate(ada, leo, "moved away")
    held.refresh_from_db()
    assert (again(ada).state, held.state, held.batch.taken) == ("left", "lapsed", 0)
    assert claim(bob).batch == held.batch
    ada.resume(leo, "not this way")
    assert again(ada).state == Membership.State.LEFT
    ada.take_back(leo, "back again")
    assert again(ada).state == Membership.State.ACTIVE
    assert [kind for kind, _ in happened(ada)] == ["left", "handed over", "resumed"]


def test_a_handed_over_batch_is_free_and_its_open_page_writes_no_more(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    held = claim(ada)
    grading.judge(held, 1, 3, fence=held.fence, key=uuid4())
    page, body = browser(ada), {"grade": 4, "fence": held.fence, "key": str(uuid4())}
    address = reverse("judge", args=[held.token, 1])
    decisions.hand_over(ada, leo, "on holiday")
    assert page.put(address, body, content_type="application/json").status_code == 404
    resume = reverse("resume", args=[held.token])
    assert page.post(resume, {}, content_type="application/json").status_code == 404
    with pytest.raises(NotFound):
        grading.judge(held, 1, 4, fence=held.fence, key=uuid4())
    judgement = Judgement.objects.get(annotator=ada)
    assert (judgement.grade, judgement.seat, judgement.revisions.count()) == (3, None, 1)
    settle_round_one(batch, bob, cleo)
    assert batch.state == Batch.State.SETTLED
    assert not any(audit(batch.query.campaign).values())


def test_what_is_submitted_is_not_handed_over(ada: Membership, leo: Membership) -> None:
    held = claim(ada)
    judge_all(held, lambda candidate: 2)
    decisions.hand_over(ada, leo, "")
    held.refresh_from_db()
    assert held.state == Assignment.State.SUBMITTED
    assert happened(ada) == []


def test_an_uncounted_batch_is_handed_over_without_a_place(batch: Batch, ada: Membership, leo: Membership) -> None:
    batch.lend_to(ada)
    decisions.hand_over(ada, leo, "")
    batch.refresh_from_db()
    assert batch.taken == 0
    assert not Assignment.objects.live().exists()


def test_the_only_lead_stays(leo: Membership, ada: Membership, member: Callable[..., Membership]) -> None:
    with pytest.raises(WrongState, match="only active lead"):
        leo.pause(leo, "")
    with pytest.raises(WrongState, match="only active lead"):
        decisions.deactivate(leo, leo, "")
    with pytest.raises(WrongState, match="only active lead"):
        decisions.change_role(leo, "researcher", leo, "enough")
    mina = member("mina", "lead")
    leo.pause(mina, "away")
    with pytest.raises(WrongState, match="only active lead"):
        decisions.deactivate(mina, mina, "")
    leo.resume(mina, "")
    decisions.deactivate(mina, leo, "")
    assert again(mina).state == Membership.State.LEFT


@pytest.mark.django_db(transaction=True)
def test_of_two_leads_who_leave_at_once_one_stays(leo: Membership, member: Callable[..., Membership]) -> None:
    pair = [leo, member("mina", "lead")]
    for _ in range(5):
        left = at_once(*[partial(decisions.deactivate, lead, lead, "") for lead in pair])
        assert sum(isinstance(each, WrongState) for each in left) == 1
        assert Membership.objects.leads().count() == 1
        Membership.objects.update(state=Membership.State.ACTIVE)


@pytest.mark.django_db(transaction=True)
def test_of_two_leads_who_take_each_others_role_at_once_one_stays(
    leo: Membership, member: Callable[..., Membership]
) -> None:
    lea = member("lea", "lead")
    at_once(
        *(partial(each.change_role, "researcher", by, "no more") for each, by in ((leo, lea), (lea, leo)) for _ in "12")
    )
    assert Membership.objects.leads().count() == 1


@pytest.mark.parametrize("role", ["lead", "researcher"])
def test_who_saw_the_hidden_side_never_annotates(role: str, leo: Membership, member: Callable[..., Membership]) -> None:
    person = member("mina", role)
    with pytest.raises(WrongState, match="has seen"):
        decisions.change_role(person, "annotator", leo, "short of hands")
    assert "has seen" in refused("add_member", "films", "mina")


@pytest.fixture
def same_films(campaign: Campaign) -> Campaign:
    """Another campaign over the same corpus."""
    return Campaign.objects.create(name="again", corpus=campaign.corpus)


@pytest.mark.parametrize("role", ["lead", "researcher"])
@pytest.mark.parametrize("state", ["active", "left"])
def test_who_saw_a_corpus_in_one_campaign_does_not_annotate_it_in_another(
    role: str, state: str, same_films: Campaign, member: Callable[..., Membership]
) -> None:
    mina = member("mina", role)
    Membership.objects.filter(pk=mina.pk).update(state=state)
    assert "has seen" in refused("add_member", "again", "mina")
    assert not same_films.memberships.exists()
    plays = Campaign.objects.create(name="plays", corpus=Corpus.objects.create(name="plays", format="tvr"))
    assert plays.add_member(mina.user, "annotator").is_annotator


@pytest.mark.parametrize("role", ["lead", "researcher"])
@pytest.mark.parametrize("state", ["active", "left"])
def test_who_annotates_a_corpus_in_one_campaign_does_not_see_it_in_another(
    role: str, state: str, same_films: Campaign, ada: Membership, leo: Membership
) -> None:
    Membership.objects.filter(pk=ada.pk).update(state=state)
    assert "must not see" in refused("add_member", "again", "ada", "--role", role)
    here = same_films.add_member(ada.user, "annotator")
    with pytest.raises(WrongState, match="must not see"):
        decisions.change_role(here, role, None, "knows it all")
    assert (again(here).role, again(ada).role) == ("annotator", "annotator")


@pytest.mark.django_db(transaction=True)
def test_of_two_invitations_at_once_that_would_end_blindness_one_is_refused(
    campaign: Campaign, leo: Membership
) -> None:
    for number in range(5):
        there = Campaign.objects.create(name=f"again-{number}", corpus=campaign.corpus)
        user = User.objects.create(username=f"u{number}")
        invitations = [campaign.invite("annotator", leo, DAY)[0], there.invite("researcher", None, DAY)[0]]
        answers = at_once(*(partial(each.accept, user) for each in invitations))
        assert [type(each) for each in answers].count(WrongState) == 1
        assert user.memberships.count() == 1


def test_who_may_create_campaigns_annotates_only_what_they_do_not_see(
    same_films: Campaign, ada: Membership, outsider: User
) -> None:
    for user in (ada.user, outsider):
        let_create(user)
    assert "has seen" in refused("add_member", "again", "oda")
    assert "annotator" in printed("add_member", "again", "ada")  # the corpus stayed closed to her


@pytest.mark.both_databases
def test_no_second_account_has_the_same_name_in_other_letters(ada: Membership) -> None:
    assert "there is an account ada; expected this name" in refused("add_member", "films", "Ada")
    assert list(User.objects.filter(username__iexact="ada")) == [ada.user]
    assert "has an account already" in printed("add_member", "films", "ada")


def test_an_annotator_who_leads_gives_up_the_batch_and_it_is_noted(ada: Membership, leo: Membership) -> None:
    held = claim(ada)
    with pytest.raises(BadValue, match="reason"):
        decisions.change_role(ada, "lead", leo, "  ")
    decisions.change_role(ada, "lead", leo, "knows it all")
    decisions.change_role(ada, "lead", leo, "twice")
    held.refresh_from_db()
    assert (again(ada).role, held.state) == ("lead", "lapsed")
    assert happened(ada)[-1] == ("role", "annotator to lead: knows it all")
