"""Finding names of persons by a model of token classification. It imports transformers, and does so late."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from corpus.errors import CorpusError
from retrieval.rewriting.cast import Cast

LEAST_SCORE = 0.8  # TVR-Ranking, appendix A
PERSONS = {"PER", "PERSON"}


class ModelFinder:
    """Finds what the model takes for persons' names, and the names of the cast list, which need no model.

    Raises
    ------
    CorpusError
        If the model cannot be loaded, or knows no persons.
    """

    def __init__(self, model: str, cast: Cast) -> None:
        self.classify, self.cast = _classifier(model), cast

    def names(self, texts: Sequence[str]) -> list[list[str]]:
        found = self.classify(list(texts), batch_size=32) if texts else []
        return [
            list(dict.fromkeys([*self.cast.names_in(text), *self._persons(text, entities)]))
            for text, entities in zip(texts, found, strict=True)
        ]

    def _persons(self, text: str, entities: list[dict[str, Any]]) -> list[str]:
        persons = [entity for entity in entities if entity["entity_group"].upper() in PERSONS]
        sure = [text[entity["start"] : entity["end"]] for entity in persons if entity["score"] >= LEAST_SCORE]
        return [name for name in sure if name not in self.cast.stays]


@cache
def _classifier(model: str) -> Any:
    from transformers import pipeline

    try:
        loaded = pipeline("token-classification", model=model, aggregation_strategy="simple", device=-1)
    except (OSError, ValueError, KeyError) as fault:
        raise CorpusError(
            f"NAMES_MODEL {model}: cannot be loaded ({str(fault).partition(chr(10))[0]}); "
            "expected a folder or the name of a model of token classification at a hub that this machine reaches"
        ) from fault
    labels = {label.rpartition("-")[2].upper() for label in loaded.model.config.id2label.values()}
    if not labels & PERSONS:
        raise CorpusError(
            f"NAMES_MODEL {model}: knows {', '.join(sorted(labels))}; expected a label for persons, PER"
        )
    return loaded
