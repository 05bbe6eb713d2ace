"""A small model of pictures and texts, made here: it learns the names of four colours in a second or two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

COLOURS = {"red": (230, 30, 30), "green": (30, 200, 40), "blue": (30, 40, 230), "yellow": (230, 220, 30)}
WORDS = ["[PAD]", "[EOS]", "[UNK]", "a", "wall", *COLOURS]
SIDE = 32
SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
PICTURES: dict[str, Any] = {"image_size": SIDE, "patch_size": 16}
TEXTS: dict[str, Any] = {"vocab_size": len(WORDS), "max_position_embeddings": 8}


def picture(colour: str, seed: int = 0) -> np.ndarray:
    """A picture of a colour with noise: shape (SIDE, SIDE, 3), uint8."""
    noise = np.random.default_rng(seed).normal(0, 20, (SIDE, SIDE, 3))
    return np.clip(np.array(COLOURS[colour]) + noise, 0, 255).astype(np.uint8)


def store(folder: Path, kind: str = "clip", steps: int = 0) -> Path:
    """Store a model as transformers does, trained for so many steps on pictures and names of colours."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import (
        CLIPConfig,
        CLIPImageProcessor,
        CLIPModel,
        PreTrainedTokenizerFast,
        SiglipConfig,
        SiglipImageProcessor,
        SiglipModel,
    )

    torch.set_num_threads(1)  # threads that share so little work only wait for one another
    torch.manual_seed(1)
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(single="$A [EOS]", special_tokens=[("[EOS]", 1)])
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", eos_token="[EOS]", unk_token="[UNK]"
    )
    ids = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
    size = {"height": SIDE, "width": SIDE}
    made: Any
    prepare: Any
    if kind == "clip":
        config = CLIPConfig(
            text_config={**SIZES, **TEXTS, **ids}, vision_config={**SIZES, **PICTURES}, projection_dim=16
        )
        made, prepare = CLIPModel(config), CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size=size)
    else:
        made = SiglipModel(SiglipConfig(text_config={**SIZES, **TEXTS, **ids}, vision_config={**SIZES, **PICTURES}))
        prepare = SiglipImageProcessor(size=size)
    optimiser = torch.optim.Adam(made.parameters(), lr=0.003)
    for step in range(steps):
        seen = prepare(images=[picture(name, step) for name in COLOURS], return_tensors="pt")
        read = tokenizer([f"a {name} wall" for name in COLOURS], return_tensors="pt")
        scores = made(**seen, **read).logits_per_image
        loss = torch.nn.functional.cross_entropy(scores, torch.arange(len(COLOURS)))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for part in (made, prepare, tokenizer):
        part.save_pretrained(folder)
    return folder


def as_sentence_transformers(folder: Path, model: Path) -> Path:
    """Put a stored model where sentence-transformers keeps its CLIP."""
    folder.mkdir()
    (folder / "modules.json").write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "0_CLIPModel", "type": "sentence_transformers.models.CLIPModel"}])
    )
    (folder / "0_CLIPModel").symlink_to(model)
    return folder
