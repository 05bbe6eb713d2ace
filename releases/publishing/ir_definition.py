"""A definition of this release for ir_datasets, which reads the files beside it and needs no network.

A release holds this file. Import it in the folder where the release is unpacked, then load a split:

    import ir_datasets, ir_datasets_definition
    ir_datasets.load("reeljudge/CAMPAIGN/vRELEASE/test")
"""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ir_datasets
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericDoc, GenericQuery, TrecQrel
from ir_datasets.indices import Docstore

FOLDER = Path(__file__).resolve().parent
GRADES = {0: "unrelated", 1: "few points", 2: "partly", 3: "all but a detail", 4: "perfect"}


def records(name: str) -> Iterator[dict[str, Any]]:
    with (FOLDER / "beir" / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


class Moments(BaseDocs):
    """The moments, by their captions."""

    def docs_iter(self) -> Iterator[GenericDoc]:
        return (GenericDoc(record["_id"], record["text"]) for record in records("corpus.jsonl"))

    def docs_count(self) -> int:
        return sum(1 for _ in records("corpus.jsonl"))

    def docs_store(self) -> Docstore:
        return MomentStore()


class MomentStore(Docstore):
    """The moments by their ids, in memory."""

    def __init__(self) -> None:
        super().__init__(GenericDoc)
        self.documents = {each.doc_id: each for each in Moments().docs_iter()}

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[GenericDoc]:
        return (self.documents[doc_id] for doc_id in doc_ids if doc_id in self.documents)


class Queries(BaseQueries):
    """The queries of a split."""

    def __init__(self, split: str) -> None:
        self.split = split

    def queries_iter(self) -> Iterator[GenericQuery]:
        for record in records("queries.jsonl"):
            if record["metadata"]["split"] == self.split:
                yield GenericQuery(record["_id"], record["text"])


class Qrels(BaseQrels):
    """The final grades of a split."""

    def __init__(self, split: str) -> None:
        self.file = FOLDER / "beir" / "qrels" / f"{split}.tsv"

    def qrels_iter(self) -> Iterator[TrecQrel]:
        with self.file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                yield TrecQrel(row["query-id"], row["corpus-id"], int(row["score"]), "0")

    def qrels_cls(self) -> type[TrecQrel]:
        return TrecQrel

    def qrels_defs(self) -> dict[int, str]:
        return GRADES


ABOUT = json.loads((FOLDER / "MANIFEST.json").read_text(encoding="utf-8"))
for each in ABOUT["splits"]:
    name = f"reeljudge/{ABOUT['campaign']}/v{ABOUT['version']}/{each}"
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(name, ir_datasets.Dataset(Moments(), Queries(each), Qrels(each)))
