"""The lead's word on settled batches: recommended, said, undone, said of a list, or by the campaign's policy."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from base.errors import WrongState
from campaigns.models import Campaign, Membership
from jobs.running import work_off
from judging.audit import audit
from judging.models import Action, Assignment, Batch, Candidate, Judgement, Query, Review, Revision
from judging.pool.clips import cut_clips
from judging.review.reviewing import InLine, place_in_line, recommendation, review, review_in_force, undo
from judging.work import grading, submitting
from tests.cast import browser, claim, judge_all, make_query, regrade, settle, settle_round_one, text_between_tags
from tests.remembered import remembered
from tests.tampering import forget, tampering

TO_REVIEW = "/campaigns/films/queries/?view=batches"


def flag_first(assignment: Assignment) -> Candidate:
    """Flag the first place and grade the others 3."""
    flagged = assignment.candidates_in_order()[0]
    judge_all(assignment, lambda candidate: 3, submit=False)
    forget(assignment.judgements.get(candidate=flagged))
    grading.flag(assignment, 1, "clip", "black", fence=assignment.fence, key=uuid4())
    submitting.submit(assignment, assignment.fence)
    return flagged


def sound(campaign: Campaign) -> bool:
    return not any(audit(campaign).values())


@pytest.mark.parametrize(
    ("last", "verdict", "reason"),
    [
        (1, "close", "Last five average 1.0 (threshold 2.0). Close the query."),
        (2, "second", "Last five average 2.0 (threshold 2.0). Open the second batch."),
        (3, "second", "Last five average 3.0 (threshold 2.0). Open the second batch."),
    ],
)
def test_the_last_five_recommend_with_a_reason(
    batch: Batch, ada: Membership, bob: Membership, last: int, verdict: str, reason: str
) -> None:
    settle(batch, ada, bob, last)
    advice = recommendation(batch)
    assert (advice.verdict, advice.reason, advice.possible) == (verdict, reason, ("second", "close"))


def test_the_threshold_is_the_campaigns(settled: Batch, campaign: Campaign) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(second_from=0.75)
    assert (
        recommendation(Batch.objects.get()).reason == "Last five average 1.0 (threshold 0.75). Open the second batch."
    )


def test_only_consensus_counts_among_the_last_five(settled: Batch) -> None:
    regrade(Candidate.objects.filter(rank=20), outcome=Candidate.Outcome.DISCARDED, grade=None)
    regrade(Candidate.objects.filter(rank=19), outcome=Candidate.Outcome.ADJUDICATED, grade=4)
    regrade(Candidate.objects.filter(rank=18), grade=4)
    assert recommendation(settled).mean == 2.0


def test_without_any_final_grade_the_lead_decides_by_hand(settled: Batch, leo: Membership) -> None:
    regrade(Candidate.objects.filter(rank__gt=15), outcome=Candidate.Outcome.DISCARDED, grade=None)
    advice = recommendation(settled)
    assert (advice.verdict, advice.mean, advice.other) == (None, None, None)
    page = browser(leo).get(reverse("batch", args=["films", settled.pk])).content.decode()
    assert "Decide yourself." in page
    assert "accepts" not in page


@pytest.mark.both_databases
def test_a_flagged_candidate_waits_for_a_word_first(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    flagged = flag_first(claim(ada))
    judge_all(claim(bob), lambda candidate: 3)
    assert recommendation(batch).reason == "Resolve 1 flag first."
    flagged.flags.all().handle(leo)
    assert recommendation(batch).verdict == "second"


def test_after_the_second_batch_there_is_only_closing(
    settled: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    review(settled, leo, "second")
    second = settled.query.batches.get(number=2)
    for annotator in (ada, bob):
        judge_all(claim(annotator), lambda candidate: 4)
    advice = recommendation(second)
    assert (advice.verdict, advice.possible, advice.other) == ("close", ("close",), None)
    assert advice.reason == "Last five average 4.0 (threshold 2.0). A third batch is never opened. Close the query."


def test_where_no_more_is_ranked_there_is_only_closing(settled: Batch, campaign: Campaign, ada: Membership) -> None:
    settled.query.candidates.filter(batch=None).delete()
    regrade(Candidate.objects.filter(rank__gt=15), grade=4)
    assert recommendation(settled).reason.endswith("No more candidates are ranked. Close the query.")


def test_the_word_goes_on_to_the_next_batch(
    settled: Batch, campaign: Campaign, ada: Membership, bob: Membership, leo: Membership
) -> None:
    other = make_query(campaign, "2", "A person runs.").batches.get()
    settle(other, ada, bob)
    client = browser(leo)
    answer = client.post(reverse("review", args=["films", settled.pk]), {"verdict": "close"})
    assert answer["Location"] == reverse("batch", args=["films", other.pk])
    page = client.get(answer["Location"]).content.decode()
    assert "Closed: “A person sits down.”" in page
    last = client.post(reverse("review", args=["films", other.pk]), {"verdict": "second"})
    assert last["Location"] == TO_REVIEW
    assert "No batch waits for your review" in client.get(last["Location"]).content.decode()


@pytest.mark.both_databases
def test_two_leads_with_different_words_get_one_review(settled: Batch, leo: Membership) -> None:
    review(settled, leo, "close")
    with pytest.raises(WrongState):
        review(settled, leo, "second")
    answer = browser(leo).post(reverse("review", args=["films", settled.pk]), {"verdict": "second"}, follow=True)
    assert "is reviewed, not settled" in answer.content.decode()
    assert Review.objects.count() == 1


def test_closing_is_undone(settled: Batch, leo: Membership) -> None:
    before = list(Judgement.objects.order_by("pk").values())
    decision = review(settled, leo, "close")
    for _ in range(2):
        undo(decision, leo)
    settled.refresh_from_db()
    decision.refresh_from_db()
    assert (settled.state, settled.query.closed) == ("settled", False)
    assert (decision.undone is None, decision.undone_by) == (False, leo)
    assert list(Judgement.objects.order_by("pk").values()) == before
    assert review_in_force(review(settled, leo, "second").batch)
    assert sound(settled.query.campaign)


def test_opening_the_second_batch_is_undone_while_nobody_has_it(settled: Batch, leo: Membership) -> None:
    decision = review(settled, leo, "second")
    undo(decision, leo)
    query = settled.query
    assert list(query.batches.values_list("number", "state")) == [(1, "settled")]
    assert not query.candidates.filter(rank__gt=20, batch__isnull=False).exists()
    assert query.candidates.filter(rank__gt=20).count() == 20
    review(settled, leo, "second")
    assert query.batches.get(number=2).candidates.count() == 20
    assert sound(query.campaign)


def test_a_job_of_a_second_batch_that_was_undone_ends_quietly(settled: Batch, leo: Membership) -> None:
    decision = review(settled, leo, "second")
    cut_clips.ask(settled.query.batches.get(number=2))
    undo(decision, leo)
    assert work_off() == []


def test_a_second_batch_that_somebody_has_begun_stays(settled: Batch, leo: Membership, ada: Membership) -> None:
    decision = review(settled, leo, "second")
    begun = claim(ada)
    with pytest.raises(WrongState, match="begun the second batch"):
        undo(decision, leo)
    answer = browser(leo).post(reverse("undo", args=["films"]), {"review": decision.pk}, follow=True)
    assert (answer.status_code, "begun the second batch" in answer.content.decode()) == (200, True)
    begun.refresh_from_db()
    assert (begun.state, review_in_force(settled)) == ("live", decision)


def test_undo_skips_what_can_no_longer_be_undone_and_goes_on(
    three: list[Batch], leo: Membership, ada: Membership
) -> None:
    """Four verdicts once blocked five presses of the key, because the newest could not be undone."""
    client, page = browser(leo), TO_REVIEW
    first, second, third = (
        review(batch, leo, verdict) for batch, verdict in zip(three, ("close", "close", "second"), strict=True)
    )
    assert client.get(page).context["last"] == third
    begun = claim(ada)
    assert begun.batch.query == third.batch.query
    answer = client.post(reverse("undo", args=["films"]), {"review": third.pk}, follow=True)
    text = answer.content.decode()
    assert "begun the second batch" in text
    assert "A newer verdict can no longer be undone, because its second batch has begun." in text
    for expected, then in ((second, first), (first, None)):
        assert answer.context["last"] == expected
        answer = client.post(reverse("undo", args=["films"]), {"review": expected.pk}, follow=True)
        assert answer.context["last"] == then
    assert list(Review.objects.in_force()) == [third]
    own = client.get(reverse("batch", args=["films", third.batch_id]))
    assert "can no longer be undone" in own.content.decode()


def test_undoing_from_the_page_leads_back(settled: Batch, leo: Membership) -> None:
    decision, client = review(settled, leo, "close"), browser(leo)
    answer = client.post(reverse("undo", args=["films"]), {"review": decision.pk}, follow=True)
    assert "Undone: this batch is to be reviewed again" in answer.content.decode()
    assert "Undone by leo" in answer.content.decode()
    again = client.post(reverse("undo", args=["films"]), {"review": decision.pk}, follow=True)
    assert "There was nothing left to undo" in again.content.decode()


def test_another_campaigns_review_is_not_ones_own_to_undo(settled: Batch, leo: Membership) -> None:
    decision = review(settled, leo, "close")
    other = Campaign.objects.create(name="other", corpus=settled.query.campaign.corpus)
    lead = other.add_member(leo.user, "lead")
    browser(lead).post(reverse("undo", args=["other"]), {"review": [decision.pk, "x", "9" * 30]})
    decision.refresh_from_db()
    assert decision.undone is None


@pytest.mark.parametrize("form", [{}, {"verdict": "third"}, {"verdict": "close", "reason": "x" * 501}])
def test_a_wrong_form_is_refused(settled: Batch, leo: Membership, form: dict[str, str]) -> None:
    assert browser(leo).post(reverse("review", args=["films", settled.pk]), form).status_code == 400
    assert not Review.objects.exists()


# A list of batches ----------------------------------------------------------------------------------------


@pytest.fixture
@remembered
def three(settled: Batch, campaign: Campaign, ada: Membership, bob: Membership) -> list[Batch]:
    """Means 1, 3 and 1."""
    batches = [settled]
    for number, last in ((2, 3), (3, 1)):
        batch = make_query(campaign, str(number), f"Query {number}.").batches.get()
        settle(batch, ada, bob, last)
        batches.append(batch)
    return batches


def test_the_list_offers_to_follow_its_recommendations_as_one_action(three: list[Batch], leo: Membership) -> None:
    client = browser(leo)
    page = client.get(TO_REVIEW).content.decode()
    assert "Follow these 3 recommendations" in page
    assert page.count("Last five average 1.0 (threshold 2.0). Close the query.") == 2
    fields = {"verb": "accept", "row": [batch.query_id for batch in three]}
    answer = client.post(reverse("action-prepare", args=["films"]), fields)
    assert Action.objects.get().rows.count() == 3
    assert "Follow the recommendations" in client.get(answer["Location"]).content.decode()


def test_batches_are_chosen_alike_on_the_page_and_in_the_api(three: list[Batch], leo: Membership) -> None:
    review(three[0], leo, "close")
    make_query(leo.campaign, "4", "A person waits.")
    client, first = browser(leo), three[0].query
    numbers = {"show=review": 2, "show=all": 4, "show=reviewed": 1, "show=open": 1, "show=work": 0}
    numbers |= {"show=all&mean_from=2.5": 1, "show=all&q=waits": 1, f"show=all&q={first.query_id}": 1}
    numbers |= {"show=all&worker=1&sort=-mean": 3, "show=all&contested_to=0": 4, "show=all&flagged=on": 0}
    for address, number in numbers.items():
        listed = client.get(f"{TO_REVIEW}&{address}").context["listed"]
        answer = client.get(f"/api/v1/campaigns/films/batches?{address}").json()["results"]
        assert listed.keys == [each["id"] for each in answer], address
        assert len(listed.keys) == number, address
    means = client.get("/api/v1/campaigns/films/batches?sort=-mean").json()["results"]
    assert [each["mean"] for each in means] == [3, 1, 1, None]
    texts = client.get("/api/v1/campaigns/films/batches?sort=query&limit=2").json()
    again = client.get(texts["next"]).json()["results"]
    assert len({each["id"] for each in texts["results"] + again}) == 4


def test_page_list_and_api_go_through_one_order(three: list[Batch], leo: Membership) -> None:
    """The place in it, of how many, and both neighbours, round in a ring; what is reviewed has only neighbours."""
    client, keys = browser(leo), [batch.pk for batch in three]
    for number, batch in enumerate(three, 1):
        expected = InLine(number, 3, keys[number - 2], keys[number % 3])
        assert client.get(reverse("batch", args=["films", batch.pk])).context["line"] == expected
        answer = client.get(f"/api/v1/campaigns/films/batches/{batch.pk}")
        assert answer.json()["in_line"] == asdict(expected)
    listed = client.get("/api/v1/campaigns/films/batches/to-review").json()["results"]
    on_page = client.get(TO_REVIEW).context["listed"].keys
    assert [each["id"] for each in listed] == on_page == keys
    review(three[1], leo, "close")
    assert place_in_line(three[1]) == InLine(None, 2, keys[0], keys[2])
    assert place_in_line(three[0]) == InLine(1, 2, keys[2], keys[2])
    review(three[2], leo, "close")
    assert place_in_line(three[0]) == InLine(1, 1, None, None)


def test_a_batchs_page_asks_fifteen_questions_at_most(
    three: list[Batch], leo: Membership, django_assert_max_num_queries: Any
) -> None:
    client = browser(leo)
    review(three[0], leo, "close")
    for batch in three[:2]:
        with django_assert_max_num_queries(15):
            client.get(reverse("batch", args=["films", batch.pk]))


def test_a_script_learns_what_the_page_would_say(settled: Batch, leo: Membership, ada: Membership) -> None:
    """Each verdict and its undoing can be sent again, and a refusal is a problem document."""
    client = Client(headers={"accept": "application/json"})
    client.force_login(leo.user)
    for _ in range(2):
        answer = client.post(reverse("review", args=["films", settled.pk]), {"verdict": "second"})
        done = Review.objects.get()
        assert answer.json() == {"address": TO_REVIEW}
    refused = client.post(reverse("review", args=["films", settled.pk]), {"verdict": "close"})
    assert (refused.status_code, "is reviewed, not settled" in refused.json()["detail"]) == (409, True)
    for expected in (reverse("batch", args=["films", settled.pk]), TO_REVIEW):
        answer = client.post(reverse("undo", args=["films"]), {"review": done.pk})
        assert answer.json() == {"address": expected}
    again = review(settled, leo, "second")
    claim(ada)
    assert client.post(reverse("undo", args=["films"]), {"review": again.pk}).status_code == 409


def test_a_researcher_reads_and_sees_no_buttons(settled: Batch, member: Any) -> None:
    rio = browser(member("rio", "researcher"))
    page = rio.get(reverse("batch", args=["films", settled.pk])).content.decode()
    assert "Last five average" in page
    assert "<form" not in page.split("<main>")[1]
    assert "worker 1" in page.lower()
    assert "ada" not in text_between_tags(page.split("<main>")[1])
    assert "Accept" not in rio.get(TO_REVIEW).content.decode()


def test_the_lead_reads_who_said_what_and_how_long(settled: Batch, leo: Membership) -> None:
    with tampering():
        Revision.objects.update(seconds=2.5)  # as if she had taken her time
    page = browser(leo).get(reverse("batch", args=["films", settled.pk])).content.decode()
    assert page.count("Worker 1 (ada), 2.5 s, ") == 20
    assert page.count("<li") >= 20


# Policies -------------------------------------------------------------------------------------------------


@pytest.fixture
def automatic(campaign: Campaign) -> Campaign:
    Campaign.objects.filter(pk=campaign.pk).update(auto_second_from=2.5, auto_close_below=1.5)
    return campaign


@pytest.mark.parametrize(
    ("last", "verdict", "reason"),
    [
        (3, "second", "policy: last five mean 3.0 ≥ 2.5"),
        (1, "close", "policy: last five mean 1.0 < 1.5"),
        (2, None, None),
    ],
)
def test_a_policy_decides_outside_its_thresholds(
    automatic: Campaign,
    batch: Batch,
    ada: Membership,
    bob: Membership,
    last: int,
    verdict: str | None,
    reason: str | None,
) -> None:
    settle(batch, ada, bob, last)
    decision = review_in_force(batch)
    made = (decision.verdict, decision.reason, decision.lead) if decision else (None, None, None)
    assert made == (verdict, reason, None)
    assert batch.query.batches.filter(number=2).exists() == (verdict == "second")
    assert Query.objects.get().closed == (verdict == "close")
    assert sound(automatic)


def test_without_thresholds_nothing_is_automatic(settled: Batch) -> None:
    assert not Review.objects.exists()


def test_a_flagged_candidate_leaves_it_to_the_lead(
    automatic: Campaign, batch: Batch, ada: Membership, bob: Membership
) -> None:
    flag_first(claim(ada))
    judge_all(claim(bob), lambda candidate: 3)
    batch.refresh_from_db()
    assert (batch.state, Review.objects.exists()) == ("settled", False)


def test_a_policy_opens_no_third_batch(automatic: Campaign, batch: Batch, ada: Membership, bob: Membership) -> None:
    settle(batch, ada, bob, 3)
    settle(batch, ada, bob, 3)
    second = batch.query.batches.get(number=2)
    assert (second.state, review_in_force(second)) == ("settled", None)


def test_a_policys_word_is_undone_and_then_stays_by_hand(
    automatic: Campaign, batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    settle(batch, ada, bob)
    page = browser(leo).get(reverse("batch", args=["films", batch.pk])).content.decode()
    assert "Closed automatically, " in " ".join(page.split())
    undo(Review.objects.get(), leo)
    assert list(Batch.objects.to_review()) == [batch]
    assert not Query.objects.get().closed


def test_round_two_ends_in_the_policy_too(
    automatic: Campaign, batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership
) -> None:
    settle_round_one(batch, ada, bob, apart=2)
    assert not Review.objects.exists()
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 4)
    assert Review.objects.get().verdict == "close"
    assert Revision.objects.count() == 44
