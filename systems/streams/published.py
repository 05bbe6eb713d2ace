"""Checkpoints of the public XML, ReLoCLNet and CONQUER, whose weights are stored as those of a system here."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import BadOption, SystemsError
from ..features.sources import NO_TENSORS
from ..interface import SYSTEMS, system
from ..neural.description import MODEL
from ..neural.training import Learned, store

STATES = ("model", "model_state_dict", "state_dict")  # under which a checkpoint keeps its weights
CONFIGS = ("model_cfg", "config", "opt")  # and what its network was made with
STREAMS = ("video", "sub")  # of XML and ReLoCLNet, as their weights are called
ENTRY_OF = "{}_input_proj.net.1.weight"
NAMED = 12  # weights, in a message

# The names of weights inside a part of a network: theirs and ours.
ENTRY = {"LayerNorm": "norm", "net.1": "linear"}
PLACES = {"position_embeddings": "table", "LayerNorm": "norm"}
CROSS = {"query": "query", "key": "key", "value": "value"}
ENCODER = {f"self.{name}": name for name in CROSS} | {"output.dense": "out.0", "output.LayerNorm": "norm"}
KINDS = PLACES | {"token_type_embeddings": "kinds"}
BLOCK = {f"attention.{theirs}": f"attention.{ours}" for theirs, ours in ENCODER.items()} | {
    "intermediate.dense": "wide",
    "output.dense": "narrow",
    "output.LayerNorm": "norm",
}
READER = {f"trans_linear.{theirs}": f"entry.{ours}" for theirs, ours in ENTRY.items()} | {
    f"encoder.layer.0.{theirs}": f"block.{ours}" for theirs, ours in BLOCK.items()
}
HEAD = {"clip_score_predictor.0": "near", "clip_score_predictor.2": "out"}
ITSELF = {"": ""}

Part = tuple[str, str, Mapping[str, str]]  # of a network: what they call it, what it is called here, and what is in it


def parts_of_streams(streams: list[str], is_merged: bool) -> Iterator[Part]:
    """Yield the parts of an XML or a ReLoCLNet with these streams."""
    yield "query_input_proj", "entry", ENTRY
    yield "query_pos_embed", "places", PLACES
    yield "ctx_pos_embed", "clip_places", PLACES
    yield "query_encoder", "readers.0", ENCODER
    yield "query_encoder1", "readers.1", ENCODER
    yield "modular_vector_mapping", "pooling.weigh", ITSELF
    for number, name in enumerate(streams):
        yield f"{name}_input_proj", f"entries.{number}", ENTRY
        for level in range(3):
            yield f"{name}_encoder{level + 1}", f"encoders.{number}.{level}", ENCODER
        yield f"{name}_cross_att", f"crosses.{number}", CROSS
        yield f"{name}_cross_layernorm", f"crosses.{number}.norm", ITSELF
        yield f"{name}_query_linear", f"asks.{number}", ITSELF
    for number, name in enumerate(["merged"] if is_merged else streams):
        yield f"{name}_st_predictor", f"boundaries.{number}.start", ITSELF
        yield f"{name}_ed_predictor", f"boundaries.{number}.end", ITSELF


def parts_of_conquer(streams: list[str]) -> Iterator[Part]:
    """Yield the parts of a CONQUER, whose entries of streams have these names."""
    for number, name in enumerate(streams):
        yield f"encoder.videoEncoder.{name}", f"entries.{number}", ENTRY
    yield "encoder.videoEncoder.transformer.embeddings", "clip_places", KINDS
    yield "encoder.videoEncoder.transformer.encoder.layer.0", "clip_block", BLOCK
    yield "encoder.queryEncoder.linear", "entry", ENTRY
    yield "encoder.queryEncoder.transformer.embeddings", "places", KINDS
    yield "encoder.queryEncoder.transformer.encoder.layer.0", "block", BLOCK
    yield "query_weight.text_pooling", "mix", {"clusters": "near", "clusters2": "centres", "LayerNorm": "norm"}
    yield "query_weight.moe_fc_txt", "mix.weigh", ITSELF
    yield "query_aware_feature_learning_layer.similarity_weight", "coupling.weigh", ITSELF
    yield "contextual_QAL_feature_learning", "reading", READER
    for theirs, ours in (("begin", "start"), ("end", "end")):
        yield f"moment_localization_head.{theirs}_feature_modeling", f"{ours}s", READER
        yield f"moment_localization_head.{theirs}_score_modeling", ours, HEAD
    yield "video_scoring_head.video_feature_modeling", "whole", READER
    yield "video_scoring_head.video_score_predictor", "video", {"0": "0", "2": "2"}


def names_of(parts: Iterator[Part]) -> dict[str, str]:
    """Return what they call each weight that an object of ours may have."""
    names = {}
    for theirs, ours, inside in parts:
        for one, other in inside.items():
            for last in (".weight", ".bias", ""):
                names[f"{ours}.{other}".rstrip(".") + last] = f"{theirs}.{one}".rstrip(".") + last
    return names


class Checkpoint(NamedTuple):
    """The weights of a checkpoint by name, and its configuration."""

    file: Path
    weights: dict[str, Tensor]
    config: dict[str, Any]

    def size(self, name: str, axis: int = 0) -> int:
        """Return the size of a weight. Raises SystemsError if it is missing."""
        if name not in self.weights:
            raise SystemsError(f"{self.file}: lacks {name}")
        return self.weights[name].shape[axis]


class Found(NamedTuple):
    """What a checkpoint says of its network.

    options: of the system, as far as weights and configuration tell.
    facts: what else the network is made with.
    names: what they call each of our weights.
    """

    options: dict[str, Any]
    facts: dict[str, Any]
    names: dict[str, str]


def adopt(name: str, file: Path, folder: Path, **given: Any) -> list[str]:
    """Store the weights of a checkpoint in a folder, as those of a system that was trained, and return the names of the
    weights that have no use here.

    file: what torch.save made: a state dict, by itself or under `model`, `model_state_dict` or `state_dict`.
    given: options of the system, which go before what the checkpoint tells. `heads` follows from no weight.
    Raises SystemsError that names each weight which is missing, or of another shape.
    """
    checkpoint = Checkpoint(file, *read_checkpoint(file))
    found = _of_conquer(checkpoint) if name == "conquer" else _of_streams(checkpoint, name, given)
    if "heads" not in found.options | given:
        raise BadOption("heads", "follows from no weight", "the number that the network was trained with")
    made = system(name, folder, **found.options | given)
    if not isinstance(made, Learned):
        raise BadOption("--system", name, "xml, reloclnet or conquer")
    if (folder / MODEL).exists():
        raise SystemsError(f"{folder}: holds a trained system; expected a folder of its own")
    network = made.network_class(made.options, **found.facts)
    unused = fill(network, checkpoint.weights, found.names, str(file))
    made.keep_card()
    store(folder, network, found.facts)
    return unused


def fill(network: nn.Module, weights: Mapping[str, Tensor], names: Mapping[str, str], source: str) -> list[str]:
    """Give a network the weights of a checkpoint, and return the names of those without a use. Raises SystemsError."""
    own = network.state_dict()
    missing = [names[each] for each in own if names[each] not in weights]
    if missing:
        raise SystemsError(f"{source}: lacks {_listed(missing)}")
    wrong = [
        f"{names[each]} {tuple(weights[names[each]].shape)}, expected {tuple(value.shape)}"
        for each, value in own.items()
        if weights[names[each]].shape != value.shape
    ]
    if wrong:
        raise SystemsError(f"{source}: of another shape: {_listed(wrong)}")
    network.load_state_dict({each: weights[names[each]] for each in own})
    used = {names[each] for each in own}
    return [each for each in weights if each not in used]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def read_checkpoint(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the weights of a checkpoint and its configuration, if any; no code of it runs. Raises SystemsError."""
    try:
        with torch.serialization.safe_globals([(OrderedDict, "easydict.EasyDict")]):
            stored = torch.load(file, map_location="cpu", weights_only=True)
    except NO_TENSORS as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is not of torch.save, or holds other objects"
        raise SystemsError(
            f"{file}: cannot be read ({reason}); expected a state dict that torch.save stored"
        ) from fault
    stored = stored if isinstance(stored, dict) else {}
    configs = [stored[each] for each in CONFIGS if isinstance(stored.get(each), dict)]
    weights = next((stored[each] for each in STATES if isinstance(stored.get(each), dict)), stored)
    found = {str(name).removeprefix("module."): each for name, each in weights.items() if isinstance(each, Tensor)}
    if not found:
        raise SystemsError(f"{file}: has no weights; expected a state dict, or one under {', '.join(STATES)}")
    return found, dict(configs[0]) if configs else {}


def _of_streams(checkpoint: Checkpoint, name: str, given: Mapping[str, Any]) -> Found:
    size, weights, config = checkpoint.size, checkpoint.weights, checkpoint.config
    streams = [each for each in STREAMS if ENTRY_OF.format(each) in weights] or [STREAMS[0]]
    is_merged = "merged_st_predictor.weight" in weights
    filters = weights.get(f"{'merged' if is_merged else streams[0]}_st_predictor.weight", torch.zeros(1, 1, 5))
    options = {
        "hidden": size(ENTRY_OF.format("query")),
        "tokens": size("query_pos_embed.position_embeddings.weight"),
        "places": size("ctx_pos_embed.position_embeddings.weight"),
        "kernel": filters.shape[2],
        "cross": f"{streams[0]}_cross_att.query.weight" in weights,
        "merge": is_merged,
        "padded": name != "xml",
    }
    options |= {"heads": int(config["n_heads"])} if "n_heads" in config else {}
    options |= {"tef": "tef" in str(config["ctx_mode"])} if "ctx_mode" in config else {}
    tef = {"tef": SYSTEMS[name].options.tef, **options, **given}["tef"]  # type: ignore[attr-defined]
    facts = {
        "features": [size(ENTRY_OF.format(each), 1) - 2 * tef for each in streams],
        "words": [],
        "width": size(ENTRY_OF.format("query"), 1),
        "two_levels": name == "xml",
    }
    return Found(options, facts, names_of(parts_of_streams(streams, is_merged)))


def _of_conquer(checkpoint: Checkpoint) -> Found:
    size, weights, config = checkpoint.size, checkpoint.weights, checkpoint.config
    query, clips = "encoder.queryEncoder", "encoder.videoEncoder"
    both = f"{clips}.img_linear.net.1.weight" in weights
    streams = ["img_linear", "text_linear"] if both else ["linear"]
    facts = {
        "features": [size(f"{clips}.{each}.net.1.weight", 1) for each in streams],
        "words": [],
        "width": size(f"{query}.linear.net.1.weight", 1),
    }
    options: dict[str, Any] = {
        "hidden": size(f"{query}.linear.net.1.weight"),
        "tokens": size(f"{query}.transformer.embeddings.position_embeddings.weight"),
        "places": size(f"{clips}.transformer.embeddings.position_embeddings.weight"),
        "inner": size(f"{query}.transformer.encoder.layer.0.intermediate.dense.weight"),
        "filters": size("moment_localization_head.begin_score_modeling.clip_score_predictor.0.weight"),
        "fusion": "query_weight.text_pooling.clusters" in weights,
        "padded": True,
    }
    options |= {"clusters": size("query_weight.text_pooling.clusters", 1)} if options["fusion"] else {}
    options |= {"heads": int(config["num_attention_heads"])} if "num_attention_heads" in config else {}
    if any(each.startswith("video_scoring_head.") for each in weights):
        options["similarity"] = "exclusive"
    return Found(options, facts, names_of(parts_of_conquer(streams)))
