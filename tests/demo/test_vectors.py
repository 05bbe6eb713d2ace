"""The demo's vectors: with them its captions are reworded and its candidates ranked without an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from demo.management.commands import demo
from judging.models import Candidate
from judging.pool.ranking import rank_candidates
from retrieval import embedding
from retrieval.embedding import embed
from retrieval.models import Vector
from tools.films.files import write_tables
from tools.films.grades import QUERIES


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """The demo's tables, without its films."""
    settings.HOME = tmp_path
    write_tables(tmp_path)
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "film_01.mp4").touch()  # which nobody opens
    return tmp_path


def test_no_encoder_is_needed_for_the_demo(db: None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "encoder", None)
    demo._make_captions(folder)
    campaign = demo._campaign(folder)
    rank_candidates(campaign, lambda done, total, message="": None)
    assert Candidate.objects.in_campaign(campaign).count() > 0


@pytest.mark.long
def test_they_are_those_of_the_bundled_model(db: None) -> None:
    """But for the rounding to 16 bits, which is far below what tells two captions apart."""
    texts = [query.text for query in QUERIES]
    encoded = embed(texts)
    Vector.objects.all().delete()
    demo.store_vectors()
    stored = Vector.objects.count()
    assert np.abs((embed(texts) * encoded).sum(axis=1) - 1).max() < 1e-6
    assert Vector.objects.count() == stored  # all of them were known
