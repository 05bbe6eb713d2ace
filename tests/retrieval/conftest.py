"""A tiny model, made in a second, for the tests of encoders and of training."""

from __future__ import annotations

from pathlib import Path

import pytest

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    *SPECIAL, "a", "person", "sits", "down", "stands", "up", "and", "opens", "the", "door", "red", "green", "blue",
    "small", "tall", "old", "cup", "box", "chair", "table", "lamp", "lifts", "drops", "shows",
]  # fmt: skip


@pytest.fixture(scope="session")
def simcse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as SimCSE's are: a BERT and its WordPiece tokenizer, and no word about pooling."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "sup-simcse-tiny"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.set_num_threads(1)  # threads that share so little work only wait for one another
    torch.manual_seed(1)
    small: dict[str, float] = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    small["initializer_range"] = 0.3  # so that texts get different vectors before any training
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **small)).save_pretrained(folder)
    return folder
