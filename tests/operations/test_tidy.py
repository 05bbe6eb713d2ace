"""`tidy`: what nobody needs goes, and nothing else; without `--delete` it only says what would."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.models.functions import Now

from campaigns.models import Campaign, Membership
from config.operations.management.commands import tidy as command
from corpus.models import Moment
from jobs.models import Job
from judging.models import Batch, Query
from retrieval.embedding import embed
from retrieval.encoders import model_key, model_name
from retrieval.models import Vector
from tests.cast import claim, judge_all

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
FORMER, RANKED = "sha256:00000000000000ff", "[CLS] sha256:00000000000000aa"


def tidy(*options: str) -> list[str]:
    call_command("tidy", *options, stdout=(out := StringIO()))
    return out.getvalue().splitlines()


def rows() -> dict[str, int]:
    """How many rows each table has, but for the two that `tidy` is about."""
    others = (model for model in apps.get_models() if model not in (Vector, Job))
    return {model._meta.label: model._base_manager.count() for model in others}


@pytest.fixture
def vectors(campaign: Campaign) -> set[str]:
    """Those that are needed: of the texts that there are, by the present model and by the one that ranked."""
    moment = Moment.objects.order_by("pk")[0]
    Moment.objects.filter(pk=moment.pk).update(description="What Phoebe does.")
    texts = {*Moment.objects.values_list("caption", flat=True), *Query.objects.values_list("text", flat=True)}
    embed(sorted({*texts, "What Phoebe does."}))
    present = list(Vector.objects.all())
    for model in (FORMER, RANKED):
        Vector.objects.bulk_create(Vector(model=model, hash=each.hash, values=each.values) for each in present)
    embed(["A caption that was reworded since."])
    Campaign.objects.filter(pk=campaign.pk).update(encoder=f"/models/mine {RANKED}")
    return {each.hash for each in present}


def job(kind: str, days: int, state: str = Job.State.DONE, lane: str = "judging") -> Job:
    return Job.objects.create(kind=kind, lane=lane, state=state, due=Now(), ended=Now() - timedelta(days=days))


def test_what_nobody_needs_is_named_and_then_deleted(
    vectors: set[str], batch: Batch, ada: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "ROWS_OF_A_BLOCK", 3)
    monkeypatch.setattr(command, "ROWS_AT_A_TIME", 2)
    judge_all(claim(ada), lambda candidate: 2)
    gone = [job(f"old-{number}", 31) for number in range(7)]
    kept = {job("new", 29), job("failed", 99, Job.State.FAILED), job("long", 99, lane="long")}
    kept |= {*Job.objects.exclude(pk__in=[each.pk for each in (*gone, *kept)])}
    before, had = rows(), (Vector.objects.count(), Job.objects.count())
    found = tidy()
    numbers = [line.removeprefix("would delete ").partition(" ")[::2] for line in found]
    assert numbers == [
        (str(len(vectors)), f"vectors of {FORMER}, by which no campaign is ranked"),
        ("1", "vectors of texts that no corpus and no campaign holds"),
        ("7", "quick jobs, and jobs for judging, that were done 30 days ago"),
    ]
    assert (Vector.objects.count(), Job.objects.count()) == had
    assert tidy("--delete") == [line.replace("would delete", "deleted") for line in found]
    assert rows() == before
    assert {*Job.objects.all()} == kept
    assert {*Vector.objects.values_list("model", "hash")} == {
        (model, hash) for model in (model_key(), RANKED) for hash in vectors
    }
    assert [line.split()[1] for line in tidy("--delete")] == ["0", "0"]


def test_a_vector_that_is_made_meanwhile_stays(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that comes while it looks is not among the texts, and its vector is left alone."""
    texts = command._texts
    monkeypatch.setattr(command, "_texts", lambda: [texts(), embed(["It came just now."])][0])
    embed(["It was there before."])
    assert tidy("--delete")[0].split()[:2] == ["deleted", "1"]
    assert Vector.objects.count() == 1
    assert tidy("--delete")[0].split()[:2] == ["deleted", "1"]  # the control: it was there before this look


def test_a_job_that_is_asked_for_again_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    again = job("cut", 31)
    delete = command._delete

    def asking(rows: object, keys: list[int]) -> int:
        Job.objects.ask("cut")
        return delete(rows, keys)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "_delete", asking)
    assert "deleted 0 quick jobs" in tidy("--delete")[-1]
    assert Job.objects.get(pk=again.pk).state == Job.State.WAITING


def test_the_model_that_ranks_now_is_used_before_it_has_ranked() -> None:
    embed(["It is said."])
    assert command._is_used(model_key())
    assert not command._is_used(FORMER)
    assert model_name().endswith(model_key())
