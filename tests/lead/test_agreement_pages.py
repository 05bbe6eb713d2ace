"""The lead's pages of agreement: the numbers, the judgements behind each, and how old they may be."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, Membership
from jobs.models import Job
from jobs.running import work_off, worker_name
from judging.models import Assignment, Batch, Query
from judging.review.decisions import withdraw
from lead.marks import ruler
from reports import campaign_summaries
from reports.models import Summary
from tests.api.asking import Program
from tests.cast import browser, claim, judge_all, settle_round_one, text_between_tags
from tests.remembered import remembered


@pytest.fixture
@remembered
def contested(batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership) -> Batch:
    """Ada and Bob are far apart on ranks 1-3, which Cleo and Dan judge again."""
    settle_round_one(batch, ada, bob, apart=3)
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 4)
    return batch


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every campaign is too large to be counted while somebody waits."""
    monkeypatch.setattr(campaign_summaries, "AT_ONCE", 0)


def page(client: Client, name: str, *arguments: object, **params: str | int) -> str:
    answer = client.get(reverse(name, args=["films", *arguments]), params)
    assert answer.status_code == 200
    return answer.content.decode()


def listed(client: Client, **params: str | int) -> list[tuple[int, int]]:
    """Rank and grade of each judgement of a list."""
    text = page(client, "judgements", **params)
    ranks = re.findall(r">rank (\d+)<", text)
    own = re.findall(r'data-label="Grade"><span class="dot g(\d)">', text)
    return list(zip(map(int, ranks), map(int, own), strict=False))


@pytest.mark.both_databases
def test_the_numbers_are_there_at_once(contested: Batch, leo: Membership) -> None:
    text = page(browser(leo), "agreement")
    assert "3 of 20 pairs of round one" in text
    assert "of 17 pairs" in text
    assert "of 46 judgements" in text
    assert "15.0 %" in text
    assert not Job.objects.filter(kind=campaign_summaries.count_agreement.code).exists()


def test_researchers_see_numbers_for_names(
    contested: Batch, leo: Membership, member: Callable[..., Membership]
) -> None:
    rio = browser(member("rio", "researcher"))
    for name, *arguments in (("agreement",), ("annotator", 1), ("judgements",)):
        view = {"view": "agreement"} if arguments else {}
        assert "bob" in page(browser(leo), name, *arguments, **view)
        assert "bob" not in text_between_tags(page(rio, name, *arguments, **view))


def test_an_annotators_page(contested: Batch, leo: Membership, ada: Membership) -> None:
    text = page(browser(leo), "annotator", ada.worker, view="agreement")
    assert "+0.45" in text  # three of twenty are three grades above Bob's
    assert f"?worker={ada.worker}&amp;own=4&amp;other=1" in text
    assert browser(leo).get(reverse("annotator", args=["films", 99])).status_code == 404


def test_who_has_judged_nothing_has_a_page(batch: Batch, leo: Membership, ada: Membership) -> None:
    assert "Nothing is submitted yet" in page(browser(leo), "agreement")
    assert "count yet" in page(browser(leo), "annotator", ada.worker, view="agreement")
    assert "No judgement that counts" in page(browser(leo), "judgements")


def test_the_judgements_behind_each_number(
    contested: Batch, leo: Membership, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    lead = browser(leo)
    assert sorted(listed(lead, worker=ada.worker, only="contested")) == [(1, 4), (2, 4), (3, 4)]
    assert sorted(listed(lead, worker=ada.worker, own=4, other=1)) == [(1, 4), (2, 4), (3, 4)]
    assert len(listed(lead, worker=ada.worker, **{"with": bob.worker})) == 20
    assert listed(lead, worker=ada.worker, **{"with": cleo.worker}) == []
    # Nobody knows the rounds of some imported ratings: then the others are all who judged the candidate.
    Campaign.objects.update(imported=timezone.now(), rounds_known=False)
    for other, ranks in ((cleo, ["1", "2", "3"]), (ada, [])):
        text = page(lead, "judgements", worker=ada.worker, **{"with": other.worker})
        assert sorted(re.findall(r">rank (\d+)<", text)) == ranks
    Campaign.objects.update(imported=None, rounds_known=True)
    assert len(listed(lead, only="never-escalated")) == 34
    assert len(listed(lead, only="round-one")) == 40
    assert len(listed(lead, worker=cleo.worker)) == 3
    assert listed(lead, worker=cleo.worker, only="contested") == []
    assert len(listed(lead, only="fast", worker=bob.worker)) == 20  # the cast takes a second each
    query = Query.objects.get()
    assert len(listed(lead, query=query.pk, worker=ada.worker)) == 20
    assert listed(lead, query=query.pk + 1) == []
    chips = re.findall(r"[^>]*<b>[^<]*", page(lead, "judgements", query=query.pk, only="round-one"))
    assert [each.replace("<b>", "") for each in chips] == ["Query this one", "Only round one"]


@pytest.mark.both_databases
def test_a_week_is_from_monday_to_sunday(contested: Batch, leo: Membership, ada: Membership) -> None:
    times = datetime(2026, 1, 4, 23, 59, tzinfo=UTC), datetime(2026, 1, 5, tzinfo=UTC)
    for time, week, found in zip(times, ("2026-W01", "2026-W02"), (20, 20), strict=True):
        Assignment.objects.filter(annotator=ada).update(submitted=time)
        assert len(listed(browser(leo), worker=ada.worker, week=week)) == found
    assert listed(browser(leo), worker=ada.worker, week="2026-W01") == []


def test_fifty_judgements_are_a_page(contested: Batch, leo: Membership, ada: Membership) -> None:
    lead = browser(leo)
    assert len(listed(lead)) == 46
    assert "Next →" not in page(lead, "judgements")


def test_the_heat_map_is_one_tab_stop_and_each_cell_opens_its_pairs(
    contested: Batch, leo: Membership, ada: Membership, bob: Membership
) -> None:
    lead = browser(leo)
    text = page(lead, "agreement")
    cells = re.findall(r'<a href="([^"]*drawer=pair[^"]*)" tabindex="(-?\d)"><title>([^<]*)', text)
    assert [stop for _, stop, _ in cells].count("0") == 1
    address, _, words = next(cell for cell in cells if f"one={ada.worker}&amp;other={bob.worker}" in cell[0])
    assert words.startswith("ada and bob: κ")
    assert "of 20 pairs" in words
    drawer = lead.get(reverse("agreement", args=["films"]) + address.replace("&amp;", "&")).content.decode()
    target = reverse("judgements", args=["films"])
    assert f'href="{target}?worker={ada.worker}&amp;with={bob.worker}"' in drawer
    assert f'name="with" value="{bob.worker}"' in drawer


@pytest.mark.parametrize(
    ("alpha", "look"), [(-0.3, "due"), (0.41, "due"), (0.66, "due"), (0.67, "firm"), (0.84, "firm")]
)
def test_a_low_alpha_looks_low_on_a_scale_with_landmarks(alpha: float, look: str) -> None:
    drawn = ruler(alpha, [alpha - 0.02, alpha + 0.02])
    assert f'class="ruler {look}"' in drawn
    assert '="-' not in drawn  # no place or width is negative
    for landmark in ("TVR-Ranking .615", ".667", ".8"):
        assert landmark in drawn


@pytest.mark.both_databases
def test_one_word_has_one_number_on_pages_in_the_api_and_in_files(
    contested: Batch, leo: Membership, ada: Membership
) -> None:
    lead, program = browser(leo), Program(leo)
    numbers = program.get("campaigns/films/agreement").json()["numbers"]
    assert (numbers["n_contested"], numbers["pairs"], numbers["contested"]) == (3, 20, 0.15)
    assert len(listed(lead, only="contested")) == 2 * numbers["n_contested"]
    [query] = program.get("campaigns/films/agreement/queries").json()["queries"]
    assert (query["contested"], query["pairs"]) == (numbers["contested"], numbers["pairs"])
    assert Query.objects.values_list("contested", "pairs").get() == (3, 20)  # as the list of queries has them
    hers = program.get(f"campaigns/films/agreement/annotators/{ada.worker}").json()["numbers"]
    assert "severity" not in hers  # which is a number of the model
    rows = {key: first_row(lead, f"{key}.csv") for key in ("annotators", "severity")}
    of_model = program.get("campaigns/films/agreement/severity").json()["annotators"][0]
    for difference in (rows["annotators"]["difference"], rows["severity"]["difference"], of_model["difference"]):
        assert float(difference) == hers["difference"] == 0.45
    assert "+0.45" in page(lead, "annotator", ada.worker, view="agreement")
    assert rows["severity"]["severity"] == ""
    assert of_model["severity"] is None


def first_row(client: Client, file: str) -> dict[str, str]:
    text = client.get(reverse("figure", args=["films", file])).content.decode()
    return next(iter(csv.DictReader(text.splitlines())))


def test_files_of_agreement(contested: Batch, leo: Membership) -> None:
    lead = browser(leo)
    for key, first in (
        ("annotators", "worker,judged,pairs,kappa,difference,"),
        ("matrix", "worker,other,pairs,kappa,kappa_low,kappa_high\r\n1,2,20,"),
        ("severity", "worker,ratings,difference,severity,"),
        ("opposed", ""),
        ("disputed", ""),
    ):
        answer = lead.get(reverse("figure", args=["films", f"{key}.csv"]))
        assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
        assert answer.content.decode().replace("\r\n", "\n").startswith(first.replace("\r\n", "\n"))


@pytest.mark.parametrize(
    ("field", "value"),
    [("worker", "ada"), ("worker", "9" * 30), ("week", "2026"), ("week", "2026-W60"), ("only", "odd"),
     ("own", "5"), ("other", "-1"), ("query", "²")],
)  # fmt: skip
def test_a_filter_that_cannot_be_read_is_named(batch: Batch, leo: Membership, field: str, value: str) -> None:
    answer = browser(leo).get(reverse("judgements", args=["films"]), {field: value})
    assert answer.status_code == 400
    assert field in answer.content.decode()


def test_a_large_campaign_is_counted_by_a_job(contested: Batch, leo: Membership, large: None) -> None:
    lead = browser(leo)
    assert "Waiting for a worker to count for the first time" in page(lead, "agreement")
    fragment = lead.get(reverse("agreement-counting", args=["films"]))
    assert "hx-get" in fragment.content.decode()
    assert "HX-Refresh" not in fragment
    page(lead, "agreement")
    assert Job.objects.filter(kind=campaign_summaries.count_agreement.code).count() == 1
    assert work_off() == []
    assert lead.get(reverse("agreement-counting", args=["films"]))["HX-Refresh"] == "true"
    assert "of 20 pairs of round one" in page(lead, "agreement")
    assert "A person sits down." in page(lead, "agreement")
    assert Job.objects.get(kind=campaign_summaries.count_agreement.code).state == Job.State.DONE


@pytest.mark.both_databases
def test_small_and_large_campaigns_show_the_same(
    contested: Batch, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {name: campaign_summaries.current_summary(campaign, name).counts for name in campaign_summaries.NAMES}
    campaign_summaries.store_summaries(campaign)
    monkeypatch.setattr(campaign_summaries, "AT_ONCE", 0)
    kept = {name: campaign_summaries.current_summary(campaign, name).counts for name in campaign_summaries.NAMES}
    assert kept["agreement"] == small["agreement"]
    assert kept["queries"] == small["queries"]
    assert kept["figures"]["by_rank"] == small["figures"]["by_rank"]


def test_newer_submissions_are_asked_for_after_a_minute(contested: Batch, campaign: Campaign, large: None) -> None:
    campaign_summaries.store_summaries(campaign)
    assert campaign_summaries.current_summary(campaign, "agreement").job is None
    Assignment.objects.update(submitted=timezone.now())
    assert campaign_summaries.current_summary(campaign, "agreement").job is None  # not worth it yet
    Summary.objects.update(made=timezone.now() - timedelta(minutes=2))
    assert campaign_summaries.current_summary(campaign, "agreement").counting


def test_what_takes_long_to_count_is_not_counted_all_the_time(
    contested: Batch, campaign: Campaign, large: None
) -> None:
    campaign_summaries.count_agreement.ask(campaign)
    assert work_off() == []
    Job.objects.update(started=F("ended") - timedelta(minutes=10))
    Assignment.objects.update(submitted=timezone.now())
    Summary.objects.update(made=timezone.now() - timedelta(minutes=90))
    assert not campaign_summaries.current_summary(campaign, "agreement").counting
    Summary.objects.update(made=timezone.now() - timedelta(minutes=110))
    assert campaign_summaries.current_summary(campaign, "agreement").counting


def test_what_a_lead_changes_is_counted_too(contested: Batch, campaign: Campaign, leo: Membership, large: None) -> None:
    campaign_summaries.store_summaries(campaign)
    Summary.objects.update(made=timezone.now() - timedelta(minutes=2))
    Assignment.objects.update(submitted=timezone.now() - timedelta(hours=1))
    assert campaign_summaries.current_summary(campaign, "agreement").job is None
    withdraw(contested.query, "not a sentence")
    assert campaign_summaries.current_summary(campaign, "agreement").counting


def test_counting_that_failed_waits_for_the_lead(contested: Batch, leo: Membership, large: None) -> None:
    lead = browser(leo)
    page(lead, "agreement")
    job = Job.objects.take(worker_name())
    assert job is not None
    job.fail("out of memory")
    text = page(lead, "agreement")
    assert "Counting failed: out of memory" in text
    assert "Count again" in text
    for _ in range(2):
        assert lead.post(reverse("agreement-count", args=["films"])).status_code == 302
    assert Job.objects.get().state == Job.State.WAITING


def test_queries_do_not_grow_with_what_is_shown(
    contested: Batch, leo: Membership, django_assert_max_num_queries: Any
) -> None:
    lead = browser(leo)
    addresses = [
        reverse("agreement", args=["films"]),
        reverse("annotator", args=["films", 1]),
        reverse("annotator", args=["films", 1]) + "?view=agreement",
        reverse("annotator", args=["films", 1]) + "?view=exam",
        *(f"{reverse('annotators', args=['films'])}?view={view}" for view in ("", "quality", "pay", "limits", "order")),
        reverse("judgements", args=["films"]),
    ]
    for address in addresses:
        with django_assert_max_num_queries(15):
            assert lead.get(address).status_code == 200, address
