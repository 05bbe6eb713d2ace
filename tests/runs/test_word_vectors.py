"""Systems that have the token vectors of the campaign's encoder for words, beside those that learn the vectors."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from base.errors import Unfit
from campaigns.models import Campaign, Membership
from jobs.running import work_off
from retrieval.encoders import model_name
from runs.models import Run, TrainedSystem
from runs.systems import training
from runs.systems.orders import ask_to_search, ask_to_train, search_with_system
from runs.systems.training import index, queries_as_read, train
from systems.data import Query
from tests.cast import browser
from tests.runs.test_systems import CLIPS, OPTIONS_FORM, SMALL, arrays, done, failed, wanted, with_captions

pytestmark = pytest.mark.django_db
SHORT = SMALL | {"iterations": 4, "validate_every": 2}
FORM = OPTIONS_FORM | {
    "name": "from the page",
    "features": "i3d",
    "fit": "strict",
    "clip_seconds": 1,
    "depth": 1,
    "word_vectors": "encoder",
    "seeds": 1,
}
UNKNOWN = ("Jugglers rehearse.", "Turtles hatch.")  # words that no caption has


@pytest.fixture
def researcher(campaign: Campaign, rio: Membership, settings: Any, tmp_path: Path) -> Membership:
    """A researcher of a campaign over a corpus with features and objects."""
    settings.FEATURES_ROOT, settings.MODELS_ROOT = tmp_path / "features", tmp_path / "models"
    folder = tmp_path / "features" / "films"
    folder.mkdir(parents=True)
    np.savez(folder / "i3d.npz", **arrays())
    seen = [
        {"video": video, "clip": clip, "name": "cup", "box": [0.1, 0.2, 0.4, 0.6], "score": 0.9}
        for video in arrays()
        for clip in range(0, CLIPS, 7)
    ]
    (folder / "i3d.objects.jsonl").write_text("\n".join(map(json.dumps, seen)))
    return with_captions(rio)


def order(member: Membership, system: str = "mcn", name: str = "", **more: Any) -> TrainedSystem:
    options = more.pop("options", SHORT)
    [row] = ask_to_train(member, wanted(system, name=name or system, options=options, **more))
    return row


def scores(row: TrainedSystem, text: str) -> list[float]:
    row.refresh_from_db()
    run = row.made().search(queries_as_read(row, [Query("typed", text)]), 5)
    return [round(float(score), 4) for score in run.scores]


def test_with_the_encoder_a_system_tells_words_apart_that_it_never_met(researcher: Membership) -> None:
    learned, by_encoder = order(researcher, name="learned"), order(researcher, word_vectors="encoder")
    done()
    assert (learned.encoder, by_encoder.encoder) == ("", model_name())
    assert scores(learned, UNKNOWN[0]) == scores(learned, UNKNOWN[1])
    assert scores(by_encoder, UNKNOWN[0]) != scores(by_encoder, UNKNOWN[1])
    assert f"token vectors of {model_name()}" in Run.objects.get(name="mcn").description
    assert "token vectors" not in Run.objects.get(name="learned").description
    by_encoder.refresh_from_db()
    assert [step for step, _ in by_encoder.validations] == [2, 4]
    for row, message in ((learned, "learned here"), (by_encoder, f"by {model_name()}")):
        page = browser(researcher).get(reverse("system", args=["films", row.number])).content.decode()
        assert f"<dt>Words</dt><dd>{message}</dd>" in page


def test_a_job_and_the_commands_search_with_it(researcher: Membership, tmp_path: Path) -> None:
    row = order(researcher, word_vectors="encoder")
    done()
    row.refresh_from_db()
    search = ask_to_search(row, UNKNOWN[0], row.by)
    done()
    search.refresh_from_db()
    found = [round(score, 4) for *_, score in search.moments or []]
    assert found[:5] == scores(row, UNKNOWN[0])
    out = StringIO()
    call_command("search_system", "films", "1", "--query", UNKNOWN[0], "--depth", "5", stdout=out)
    assert [float(line.split()[0]) for line in out.getvalue().splitlines()] == found[:5]
    call_command("search_system", "films", "1", "--out", str(tmp_path / "run.json"), stdout=out)
    assert len(json.loads((tmp_path / "run.json").read_text())) == 1


def test_names_of_objects_have_vectors_of_the_encoder_in_each_index(researcher: Membership) -> None:
    row = order(researcher, "stal", word_vectors="encoder")
    done()
    before = scores(row, "A cup.")
    index(row, lambda done, total, text: None)
    assert scores(row, "A cup.") == before


def test_what_was_trained_with_another_encoder_is_refused(researcher: Membership) -> None:
    row = order(researcher, word_vectors="encoder")
    TrainedSystem.objects.update(encoder="other sha256:0123456789abcdef")
    fault = f"ENCODER: names {model_name()}; expected other sha256:0123456789abcdef"
    assert fault in failed(row)
    TrainedSystem.objects.update(trained="2026-01-01T00:00Z")
    row.refresh_from_db()
    search = ask_to_search(row, "A dog", row.by)
    work_off(StringIO())
    assert fault in search_with_system.jobs(search).get().error


def test_a_campaign_without_an_encoder_says_so(researcher: Membership) -> None:
    Campaign.objects.update(encoder="")
    researcher.campaign.refresh_from_db()
    fault = "encoder, but no encoder has ranked candidates of campaign films yet; expected learned"
    with pytest.raises(Unfit, match=fault):
        order(researcher, word_vectors="encoder")
    refused = browser(researcher).post(f"{reverse('systems', args=['films'])}?system=mcn", FORM)
    assert refused.status_code == 400
    assert fault in refused.content.decode()
    assert not TrainedSystem.objects.exists()


def test_the_page_asks_for_it_where_words_are_read(researcher: Membership) -> None:
    new = reverse("systems", args=["films"])
    for system, is_offered in (("mcn", True), ("conquer", True), ("prior", False), ("chance", False)):
        page = browser(researcher).get(new, {"system": system}).content.decode()
        assert ('name="word_vectors"' in page) == is_offered, system
    assert order(researcher, "prior", options={}, word_vectors="encoder").encoder == ""
    assert browser(researcher).post(f"{new}?system=mcn", FORM).status_code == 302
    assert TrainedSystem.objects.get(name="from the page").encoder == model_name()


def test_encoding_many_texts_says_how_far_it_is(researcher: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training set of the size of TVR's takes minutes, longer than a job's lease."""
    monkeypatch.setattr(training, "TEXTS_AT_A_TIME", 4)
    row, signs = order(researcher, word_vectors="encoder"), list[str]()
    train(row, lambda done, total, text: signs.append(text))
    assert "encoding words: 4 of " in "".join(signs)
