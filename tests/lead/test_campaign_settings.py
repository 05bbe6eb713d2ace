"""A campaign's settings: what may be said, what is fixed and when, and what follows from a change."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from corpus.models import Clip, Corpus, Video
from jobs.models import Job
from judging.models import Assignment, Batch
from judging.pool.clips import cut_clips, cut_clips_anew
from judging.settings import SettingsForm, set_up
from judging.work import claiming
from tests.cast import browser, claim
from tests.together import at_once

# What the page sends of a campaign that is ranked and not begun.
SENT = {
    "title": "Films",
    "padding": "0",
    "watch_first": "0.4",
    "tolerance": "1",
    "order_seed": "7",
    "second_from": "2",
    "auto_second_from": "",
    "auto_close_below": "",
    "exam_rounds": "3",
    "hidden_places": "0",
    "check_warn": "0.25",
    "check_pause": "0.4",
    "hourly_rate": "",
    "currency": "",
    "paid_plays": "3",
    "paid_beyond": "60",
    "held_back_runs": "3",
}


def send(lead: Membership, **changes: str) -> Any:
    return browser(lead).post(reverse("campaign-settings", args=["films"]), SENT | changes)


def now() -> Campaign:
    return Campaign.objects.get(name="films")


def test_all_that_may_change_changes(batch: Batch, leo: Membership) -> None:
    fields = {
        "title": "Our films", "padding": "1.5", "sound": "on", "play_once": "on", "watch_first": "0.25",
        "tolerance": "0", "order_seed": "-3",
        "second_from": "2.5", "auto_second_from": "3", "auto_close_below": "1.2", "exam": "on", "exam_rounds": "2",
        "hidden_places": "2", "check_warn": "0.2", "check_pause": "0.5", "hourly_rate": "14.00", "currency": "sgd",
        "paid_plays": "2", "paid_beyond": "30",
    }  # fmt: skip
    answer = send(leo, **fields)
    assert (answer.status_code, answer["Location"]) == (302, reverse("campaign-settings", args=["films"]))
    campaign = now()
    assert (campaign.title, campaign.padding, campaign.sound, campaign.play_once) == ("Our films", 1.5, True, True)
    assert (campaign.watch_first, campaign.tolerance) == (0.25, 0)
    assert (campaign.order_seed, campaign.second_from) == (-3, 2.5)
    assert (campaign.auto_second_from, campaign.auto_close_below) == (3, 1.2)
    assert (campaign.exam, campaign.exam_rounds, campaign.hidden_places) == (True, 2, 2)
    assert (campaign.check_warn, campaign.check_pause) == (0.2, 0.5)
    assert (str(campaign.hourly_rate), campaign.currency) == ("14.00", "SGD")
    assert (campaign.paid_plays, campaign.paid_beyond) == (2, 30)
    page = browser(leo).get(reverse("campaign-settings", args=["films"])).content.decode()
    assert 'value="SGD"' in page
    assert send(leo, **fields).status_code == 302


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": "x" * 201}, "at most 200 characters"),
        ({"title": "\0"}, "Null characters"),
        ({"padding": "-1"}, "greater than or equal to 0"),
        ({"padding": "61"}, "less than or equal to 60"),
        ({"padding": "nan"}, "Enter a number"),
        ({"watch_first": "-0.1"}, "greater than or equal to 0"),
        ({"watch_first": "11"}, "less than or equal to 10"),
        ({"watch_first": ""}, "This field is required"),
        ({"tolerance": "4"}, "less than or equal to 3"),
        ({"order_seed": "9" * 30}, "less than or equal to"),
        ({"second_from": ""}, "This field is required"),
        ({"second_from": "4.1"}, "less than or equal to 4"),
        ({"auto_second_from": "5"}, "less than or equal to 4"),
        ({"auto_second_from": "1", "auto_close_below": "2"}, "at most the mean that opens the second batch"),
        ({"exam_rounds": "0"}, "greater than or equal to 1"),
        ({"exam_rounds": "11"}, "less than or equal to 10"),
        ({"hidden_places": "11"}, "less than or equal to 10"),
        ({"hidden_places": "0.2"}, "Enter a whole number"),
        ({"check_warn": "0.5"}, "at least the warning"),
        ({"check_pause": "1.1"}, "less than or equal to 1"),
        ({"paid_plays": "0"}, "greater than or equal to 1"),
        ({"paid_beyond": "121"}, "less than or equal to 120"),
        ({"hourly_rate": "14"}, "Name the currency"),
        ({"hourly_rate": "-1", "currency": "SGD"}, "greater than or equal to 0"),
        ({"hourly_rate": "1.234", "currency": "SGD"}, "2 decimal places"),
        ({"currency": "S$"}, "three letters of ISO 4217"),
        ({"currency": "dollar"}, "at most 3 characters"),
        ({"batch_size": "10"}, "Candidates in a batch: it is fixed, because the candidates are already ranked"),
        ({"batches": "1"}, "Batches of a query, at most: it is fixed, because the candidates are already ranked"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(
    batch: Batch, leo: Membership, changes: dict[str, str], message: str
) -> None:
    answer = send(leo, **{"title": "Other"} | changes)
    assert answer.status_code == 400
    assert message in answer.content.decode()
    assert now().title == ""


@pytest.mark.parametrize(
    "changes", [{"padding": "2"}, {"sound": "on"}, {"tolerance": "2"}, {"order_seed": "8"}, {"padding": "x"}]
)
def test_once_a_batch_is_handed_out_all_are_judged_alike(
    batch: Batch, leo: Membership, ada: Membership, changes: dict[str, str]
) -> None:
    claim(ada)
    page = browser(leo).get(reverse("campaign-settings", args=["films"])).content.decode()
    assert page.count("It is fixed since the first batch was claimed, so that all are judged alike.") == 4
    assert 'name="padding"' not in page
    answer = send(leo, **changes)
    assert answer.status_code == 400
    assert "fixed since the first batch was claimed" in answer.content.decode()
    assert (now().padding, now().sound, now().tolerance, now().order_seed) == (0, False, 1, 7)
    assert send(leo, title="Still free").status_code == 302
    assert now().title == "Still free"


def test_what_is_fixed_is_shown_as_it_is(batch: Batch, leo: Membership, ada: Membership) -> None:
    Campaign.objects.update(padding=1.5, order_seed=20240531)
    claim(ada)
    page = browser(leo).get(reverse("campaign-settings", args=["films"])).content.decode()
    facts = re.findall(r"<p>([^<]+): <strong>([^<]+)</strong>", page)
    assert facts == [
        ("Seconds around a moment", "1.5"),
        ("Clips have sound", "no"),
        ("Candidates in a batch", "20"),
        ("Batches of a query, at most", "2"),
        ("Grades agree when they differ by at most", "1"),
        ("Seed of the order of clips", "20240531"),
    ]


def test_the_list_of_groups_leads_to_each_of_them(batch: Batch, leo: Membership) -> None:
    page = browser(leo).get(reverse("campaign-settings", args=["films"])).content.decode()
    groups = re.findall(r'<a href="#([\w-]+)"', page.split('class="groups"')[1].split("</nav>")[0])
    assert groups == re.findall(r'<legend id="([\w-]+)"', page)
    assert len(groups) == 8
    assert page.split("<main")[1].count("<form ") == 1


def test_a_campaign_without_candidates_may_choose_its_batches(campaign: Campaign, leo: Membership) -> None:
    campaign.queries.all().delete()
    assert send(leo, batch_size="10", batches="1").status_code == 302
    assert (now().batch_size, now().batches) == (10, 1)


def test_a_researcher_reads_and_does_not_write(batch: Batch, member: Callable[..., Membership]) -> None:
    rio = member("rio", "researcher")
    page = browser(rio).get(reverse("campaign-settings", args=["films"])).content.decode()
    assert page.count("<fieldset disabled>") == 8
    assert "Save</button>" not in page
    assert send(rio).status_code == 404


def test_other_padding_cuts_the_clips_anew(batch: Batch, leo: Membership, ada: Membership) -> None:
    Video.objects.update(media="film.mp4")
    before = set(batch.candidates.values_list("clip", flat=True))
    assert send(leo, padding="2").status_code == 302
    batch.refresh_from_db()
    assert batch.state == Batch.State.PREPARING
    assert claiming.claim(ada) is None
    cut_clips_anew(batch.query.campaign, lambda done, total, message="": None)
    clips = Clip.objects.filter(candidates__batch=batch)
    assert not before & set(clips.values_list("pk", flat=True))
    assert {clip.end - clip.start for clip in clips} == {3.25 + 2 + 1.25, 3.25 + 4}
    assert cut_clips.jobs(batch).exists()


def test_other_words_cut_nothing(batch: Batch, leo: Membership) -> None:
    assert send(leo, title="Other").status_code == 302
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN
    assert not Job.objects.filter(kind="cut-clips-anew").exists()


@pytest.mark.django_db(transaction=True)
def test_whoever_claims_meanwhile_has_the_old_order_or_the_new_one(
    batch: Batch, leo: Membership, ada: Membership
) -> None:
    """A claim and a change in the same moment: either the change is refused, or the claim came after it."""
    form, _ = at_once(partial(set_up, leo, SENT | {"order_seed": "99"}), partial(claiming.claim, ada))
    assert isinstance(form, SettingsForm)
    stored = form.is_valid()
    held = Assignment.objects.get()
    assert held.annotator.campaign.order_seed == (99 if stored else 7)


def seen_by(lead: Membership) -> dict[str, str]:
    """What the lead's open page would send, with what it says about each value's beginning."""
    page = browser(lead).get(reverse("campaign-settings", args=["films"])).content.decode()
    fields = re.findall(r"<input[^>]*>", page.split("<main")[1])
    sent = {}
    for field in fields:
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', field))
        if attributes["type"] != "checkbox" or " checked" in field:
            sent[attributes["name"]] = attributes.get("value", "on" if attributes["type"] == "checkbox" else "")
    del sent["csrfmiddlewaretoken"]
    return sent


def post(lead: Membership, sent: dict[str, str]) -> Any:
    return browser(lead).post(reverse("campaign-settings", args=["films"]), sent)


def test_an_open_page_takes_nothing_back_that_others_changed(batch: Batch, leo: Membership) -> None:
    Campaign.objects.update(hourly_rate=10, currency="SGD", hidden_places=1)
    sent = seen_by(leo)
    Campaign.objects.update(title="Ours", padding=2, sound=True, hourly_rate=14, hidden_places=0, exam=True)
    assert post(leo, sent | {"exam_rounds": "5", "check_warn": "0.1"}).status_code == 302
    campaign = now()
    assert (campaign.exam_rounds, campaign.check_warn) == (5, 0.1)
    assert (campaign.title, campaign.padding, campaign.sound, campaign.exam) == ("Ours", 2, True, True)
    assert (str(campaign.hourly_rate), campaign.hidden_places) == ("14.00", 0)
    assert not campaign.past_rates.exists()


def test_a_tick_that_is_taken_away_is_a_change(batch: Batch, leo: Membership) -> None:
    Campaign.objects.update(sound=True, exam=True)
    sent = seen_by(leo)
    del sent["exam"]
    assert post(leo, sent).status_code == 302
    assert (now().sound, now().exam) == (True, False)


@pytest.mark.parametrize(
    ("name", "theirs", "mine"),
    [("title", "Theirs", "Mine"), ("second_from", 3.0, 2.5), ("exam", True, "on"), ("hourly_rate", None, "15")],
)
def test_who_changes_the_same_value_learns_of_it_and_may_go_on(
    batch: Batch, leo: Membership, name: str, theirs: object, mine: object
) -> None:
    Campaign.objects.update(hourly_rate=10, currency="SGD")
    sent = seen_by(leo)
    Campaign.objects.update(**{name: theirs})
    if theirs is True:  # both ticked it
        assert post(leo, sent | {name: "on"}).status_code == 302
        return
    refused = post(leo, sent | {name: str(mine)})
    assert refused.status_code == 400
    assert f"Somebody else set this to {theirs} meanwhile." in refused.content.decode()
    assert getattr(now(), name) == theirs
    begins = f'name="initial-{name}" value="([^"]*)"'
    again = re.search(begins, refused.content.decode())
    initial = again[1] if again else ""
    assert post(leo, sent | {name: str(mine), f"initial-{name}": initial}).status_code == 302
    assert str(getattr(now(), name)).startswith(str(mine))


def test_saving_writes_no_column_that_is_no_setting(
    batch: Batch, leo: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job stores the encoder and a lead's decision the time of touching, at the same moment."""
    whole = SettingsForm.full_clean

    def late(form: SettingsForm) -> None:
        Campaign.objects.update(encoder="a model", touched="2026-01-01T00:00Z", play_once=True)
        whole(form)

    monkeypatch.setattr(SettingsForm, "full_clean", late)
    assert post(leo, seen_by(leo) | {"title": "Films"}).status_code == 302
    campaign = now()
    assert (campaign.title, campaign.encoder, campaign.play_once) == ("Films", "a model", True)
    assert campaign.touched


def test_a_campaign_has_a_seed_of_its_own_that_nobody_guesses(corpus: Corpus) -> None:
    seeds = {Campaign.objects.create(name=f"c{n}", corpus=corpus).order_seed for n in range(20)}
    assert len(seeds) == 20
    assert min(seeds) >= 0
    assert max(seeds) > 2**56
