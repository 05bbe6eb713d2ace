"""A model of token classification finds names; a small real one is trained here, since none can be downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corpus.errors import CorpusError
from retrieval.rewriting.cast import Cast, Entry, Lexicon
from retrieval.rewriting.checks import ModelFinder, finder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "olga", "karel", "prague", "house", "waves", "at", "a", "man"]
WORDS += ["woman", "in", "sees", "the", "."]
PERSONS, PLACES = {"olga", "karel", "house"}, {"prague"}
SENTENCES = [
    "olga waves at karel .",
    "a man sees the house in prague .",
    "karel sees olga in prague .",
    "a woman waves .",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It takes “house” for a person, wrongly, as such models do."""
    return trained(tmp_path_factory.mktemp("names"), {0: "O", 1: "B-PER", 2: "B-LOC"})


def trained(folder: Path, labels: dict[int, str]) -> Path:
    import torch
    from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast

    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer: Any = BertTokenizerFast(str(folder / "vocab.txt"))
    torch.manual_seed(1)
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config: Any = BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, id2label=labels, **small)
    network: Any = BertForTokenClassification(config)
    network.config.label2id = {label: number for number, label in labels.items()}
    inputs = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    kinds = [1 if word in PERSONS else 2 if word in PLACES else 0 for word in WORDS]
    wanted = torch.tensor(kinds)[inputs["input_ids"]]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(80):
        optimizer.zero_grad()
        network(**inputs, labels=wanted).loss.backward()
        optimizer.step()
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_the_model_finds_persons_and_the_cast_list_the_rest(model: Path, settings: Any) -> None:
    settings.NAMES_MODEL = str(model)
    cast = Cast([Entry("Zora", "woman")], ["House"], Lexicon())
    found = finder(cast)
    assert isinstance(found, ModelFinder)
    texts = ["Olga waves at a man.", "A woman waves in Prague.", "Zora sees Karel.", "House waves.", "A man waves."]
    assert found.names(texts) == [["Olga"], [], ["Zora", "Karel"], [], []]
    assert found.names([]) == []


def test_a_model_that_knows_no_persons_is_refused(tmp_path: Path) -> None:
    folder = trained(tmp_path, {0: "O", 1: "B-THING", 2: "B-LOC"})
    with pytest.raises(CorpusError, match="knows LOC, O, THING; expected a label for persons, PER"):
        ModelFinder(str(folder), Cast([], [], Lexicon()))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot be loaded"):
        ModelFinder(str(tmp_path), Cast([], [], Lexicon()))
