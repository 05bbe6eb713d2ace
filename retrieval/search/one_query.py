"""Encoding one query without torch, so that a web process can do it.

Models of the BERT and RoBERTa families are computed with NumPy from the weights that `retrieval.embedding` uses. The
vectors differ from those by rounding (below 1e-5). They serve a search only, and are never stored.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from retrieval.embedding import Vectors
from retrieval.encoders import folder_of
from systems.encoders import BUNDLED, bundled_folder, is_simcse

Weights = dict[str, NDArray[np.float32]]
FIRST_POSITION = {"bert": 0, "roberta": 2, "xlm-roberta": 2}  # by type of model; RoBERTa's begin after padding
MODULES = ["Transformer", "Pooling", "Normalize"]  # of sentence-transformers; others are not computed here


def encode_here(text: str) -> Vectors | None:
    """Return the vector of a text, of length 1; None if the weights of the model are not here or of a known kind."""
    model = _model(str(settings.ENCODER))
    if model is None:
        return None
    # Threads that wait for each other cost more than such small products.
    with _libraries().limit(limits=1, user_api="blas"):
        return model.encode(text)


@cache
def _libraries() -> ThreadpoolController:
    """Return what limits the threads of NumPy. Finding the libraries takes as long as encoding a query."""
    return ThreadpoolController()


@cache
def _model(name: str) -> SmallModel | None:
    try:
        folder = bundled_folder() if name == BUNDLED else folder_of(name)
    except ModuleNotFoundError:  # only workers need the package
        return None
    if folder is None or not all((folder / file).exists() for file in ("config.json", "tokenizer.json")):
        return None
    weights, pooling = folder / "model.safetensors", _pooling(name, folder)
    config = json.loads((folder / "config.json").read_bytes())
    known = config.get("model_type") in FIRST_POSITION and config.get("hidden_act") == "gelu"
    if not (known and pooling and weights.exists()):
        return None
    return SmallModel.load(folder, config, pooling)


def _pooling(name: str, folder: Path) -> str:
    """Return how the vectors of tokens become one, `mean` or `cls`; empty if it is done in another way."""
    if not (folder / "modules.json").exists():
        return "cls" if is_simcse(name) else "mean"
    modules = json.loads((folder / "modules.json").read_bytes())
    if [module["type"].rpartition(".")[2] for module in modules] not in (MODULES, MODULES[:2]):
        return ""
    if modules[0]["path"]:
        return ""
    config = json.loads((folder / modules[1]["path"] / "config.json").read_bytes())
    chosen = {key.removeprefix("pooling_mode_") for key, value in config.items() if value is True}
    chosen -= {"include_prompt"}
    mode = config.get("pooling_mode", "")
    return mode if mode in ("mean", "cls") else {"mean_tokens": "mean", "cls_token": "cls"}.get("".join(chosen), "")


@dataclass(frozen=True)
class SmallModel:
    """A transformer's weights and what is needed to compute it."""

    weights: Weights
    tokenizer: Any
    config: dict[str, Any]
    pooling: str

    @classmethod
    def load(cls, folder: Path, config: dict[str, Any], pooling: str) -> SmallModel | None:
        """Load the weights and the tokenizer, or return None if the weights are not numbers that NumPy knows."""
        from safetensors import safe_open
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_longest(folder, config))
        weights: Weights = {}
        with safe_open(folder / "model.safetensors", framework="numpy") as stored:
            for name in stored.keys():  # noqa: SIM118 - it is no dictionary
                short = name.removeprefix(f"{config['model_type'].replace('-', '_')}.").removeprefix("roberta.")
                if short.startswith(("embeddings.", "encoder.")) and not short.endswith("position_ids"):
                    try:
                        weights[short] = stored.get_tensor(name).astype(np.float32)
                    except TypeError:  # bfloat16
                        return None
        return cls(weights, tokenizer, config, pooling)

    def encode(self, text: str) -> Vectors:
        """Return the text's vector, of length 1 and shape (dimensions,)."""
        ids = np.array(self.tokenizer.encode(text).ids, np.intp)
        hidden = self._embedded(ids)
        for number in range(self.config["num_hidden_layers"]):
            hidden = self._layer(hidden, f"encoder.layer.{number}")
        pooled = hidden[0] if self.pooling == "cls" else hidden.mean(axis=0)
        vector: Vectors = (pooled / np.linalg.norm(pooled)).astype(np.float32)
        return vector

    def _embedded(self, ids: NDArray[np.intp]) -> Vectors:
        positions = np.arange(len(ids)) + FIRST_POSITION[self.config["model_type"]]
        total = (
            self.weights["embeddings.word_embeddings.weight"][ids]
            + self.weights["embeddings.position_embeddings.weight"][positions]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        return self._normalised(total, "embeddings.LayerNorm")

    def _layer(self, hidden: Vectors, name: str) -> Vectors:
        from scipy.special import erf  # slow to import, and needed by searches only

        attended = self._linear(self._attention(hidden, f"{name}.attention.self"), f"{name}.attention.output.dense")
        hidden = self._normalised(hidden + attended, f"{name}.attention.output.LayerNorm")
        inner = self._linear(hidden, f"{name}.intermediate.dense")
        inner = (inner * 0.5 * (1.0 + erf(inner / math.sqrt(2.0)))).astype(np.float32)  # GELU
        return self._normalised(hidden + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, hidden: Vectors, name: str) -> Vectors:
        heads = self.config["num_attention_heads"]
        query, key, value = (
            self._linear(hidden, f"{name}.{part}").reshape(len(hidden), heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.float32(math.sqrt(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = scores / scores.sum(axis=-1, keepdims=True)
        attended: Vectors = (shares @ value).swapaxes(0, 1).reshape(len(hidden), -1)
        return attended

    def _linear(self, values: Vectors, name: str) -> Vectors:
        product: Vectors = values @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return product

    def _normalised(self, values: Vectors, name: str) -> Vectors:
        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(self.config["layer_norm_eps"]))
        normalised: Vectors = centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return normalised


def _longest(folder: Path, config: dict[str, Any]) -> int:
    """Return the number of tokens after which sentence-transformers cuts a text."""
    room = int(config["max_position_embeddings"]) - FIRST_POSITION[config["model_type"]]
    limits = {"sentence_bert_config.json": "max_seq_length", "tokenizer_config.json": "model_max_length"}
    lengths = [
        json.loads((folder / file).read_bytes()).get(name) for file, name in limits.items() if (folder / file).exists()
    ]
    return int(min([room, *filter(None, lengths)]))
