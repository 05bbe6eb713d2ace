"""What a release holds for others' tools: tables for dataset hubs, BEIR's layout, topics, citations and Croissant.

A hub's splits are `validation`, `test` and the like, whatever the campaign calls its own. A campaign without splits has
one, `test`, because everything in it is for evaluation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from django.utils import timezone

from judging.models import Judgement
from judging.models.states import WITH_CONSENSUS
from metrics.formats.moment_ids import as_word, moment_id
from releases.exports import (
    MILLISECONDS,
    MOMENT,
    WORKER,
    ExportScope,
    Lines,
    by_query,
    by_rank,
    in_order,
    pair_id,
    pair_rows,
    query_rows,
    round_of,
)
from releases.models import creator_of, title_of
from releases.publishing.parquet import (
    NUMBER,
    OF_JUDGEMENTS,
    OF_QRELS,
    TEXT,
    TRUTH,
    WHOLE,
    Columns,
    parquet,
    row_of_judgement,
)

VALIDATION, TEST, TRAIN, NO_SPLIT = "validation", "test", "train", "unsplit"
USUAL_NAMES = dict.fromkeys(("val", "valid", "validation", "dev"), VALIDATION) | {"test": TEST}
USUAL_NAMES |= dict.fromkeys(("train", "training"), TRAIN)
OF_PAIRS: Columns = {"query_id": TEXT, "query": TEXT, "video": TEXT, "start": NUMBER, "end": NUMBER}
OF_PAIRS |= {"relevance": WHOLE, "caption": TEXT, "moment_id": TEXT, "pair_id": TEXT}
OF_QUERIES: Columns = {"_id": TEXT, "text": TEXT, "split": TEXT, "aliases": TEXT, "sample": TRUTH, "place": WHOLE}
OF_QUERIES |= {"stratum": TEXT}
OF_CORPUS: Columns = {"_id": TEXT, "title": TEXT, "text": TEXT, "video": TEXT, "start": NUMBER, "end": NUMBER}
OF_CORPUS |= {"duration": NUMBER}
Made = Callable[[], Iterator[Any]]
Files = Mapping[str, Mapping[str, Any]]  # SHA-256 and bytes of each file that is written, by its name
Named = Mapping[str, list[str]]  # the campaign's splits, by the name that the hub's split has


def splits_of(scope: ExportScope) -> dict[str, list[str]]:
    """Return the splits for hubs, each with the names of the campaign's splits that are in it."""
    own = sorted(set(scope.queries.order_by().values_list("split", flat=True)))
    found: dict[str, list[str]] = {}
    for name in own or [""]:
        found.setdefault(_hub_name(name, any(own)), []).append(name)
    return dict(sorted(found.items(), key=lambda item: (item[0] != VALIDATION, item[0] != TEST, item[0])))


def _hub_name(name: str, has_splits: bool) -> str:
    if not name:
        return NO_SPLIT if has_splits else TEST
    return USUAL_NAMES.get(name.casefold()) or re.sub(r"\W", "_", name, flags=re.ASCII)


@dataclass(frozen=True)
class Table:
    """A table for hubs: a file for each split of the release, or, as BEIR has queries and the corpus, one for all."""

    name: str
    what: str
    columns: Columns
    rows: Callable[[ExportScope, Named], Iterator[tuple[Any, ...]]]
    is_one: bool = False

    def files(self, splits: Named) -> dict[str, tuple[str, Named]]:
        """Return each file with the split that hubs know it by, and the splits of the release that are in it."""
        if self.is_one:
            return {f"data/{self.name}.parquet": (self.name, splits)}
        return {f"data/{self.name}/{split}.parquet": (split, {split: names}) for split, names in splits.items()}

    def lines(self, scope: ExportScope, splits: Named) -> Iterator[bytes]:
        return parquet(self.columns, self.rows(scope, splits))


def _own(splits: Named) -> list[str]:
    """Return the campaign's own names of some splits."""
    return [name for names in splits.values() for name in names]


def judged(scope: ExportScope, **only: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the query's id, the moment's id and the record of every judgement, also of those that do not count."""
    rows = Judgement.objects.filter(candidate__in=scope.candidates, **only).annotate(milliseconds=MILLISECONDS)
    fields = (pair_id("candidate__"), WORKER, round_of(scope.campaign), "grade", "seat", "reopening", "milliseconds")
    own = ("candidate__query__query_id", *(f"candidate__{each}" for each in MOMENT))
    listed = rows.order_by(*in_order(scope.campaign)).values_list(*fields, "assignment__guideline", "is_doubtful", *own)
    for pair, worker, number, grade, seat, reopening, spent, guideline, doubt, query, *moment in listed.iterator(5000):
        record = {
            "pair_id": pair,
            "worker": worker,
            "round": number,
            "grade": grade,
            "counts": seat is not None,
            "reopened": reopening is not None,
            "seconds": None if spent is None else round(spent / 1000, 1),
            "guideline": None if scope.campaign.imported else guideline,
            "doubt": None if scope.campaign.imported else doubt,
        }
        yield query, moment_id(*moment), record


def _pairs(scope: ExportScope, splits: Named) -> Iterator[tuple[Any, ...]]:
    fields = ("query__query_id", "query__text", *MOMENT, "grade", "moment__caption", pair_id())
    for *about, pair in pair_rows(scope, WITH_CONSENSUS, *fields, query__split__in=_own(splits)):
        yield *about, moment_id(*about[2:5]), pair


def _qrels(scope: ExportScope, splits: Named) -> Iterator[tuple[Any, ...]]:
    for query, _, _, _, _, grade, _, moment, _ in _pairs(scope, splits):
        yield query, moment, grade


def _queries(scope: ExportScope, splits: Named) -> Iterator[tuple[Any, ...]]:
    of = {name: split for split, names in splits.items() for name in names}
    for key, text, split, *rest in query_rows(scope):
        yield key, text, of[split], *rest


def _corpus(scope: ExportScope, splits: Named) -> Iterator[tuple[Any, ...]]:
    fields = (*MOMENT, "moment__video__duration", "moment__caption")
    rows = scope.candidates.order_by(*by_rank()).values_list(*fields)
    found = {moment_id(*row[:3]): row for row in rows.iterator(chunk_size=5000)}
    for name, (video, start, end, duration, caption) in sorted(found.items()):
        yield name, "", caption, video, start, end, duration


def _judgements(scope: ExportScope, splits: Named) -> Iterator[tuple[Any, ...]]:
    for query, moment, record in judged(scope, candidate__query__split__in=_own(splits)):
        yield row_of_judgement(query, moment, record)


TABLES = [
    Table("pairs", "the pairs with a consensus: query, video, times, and grade", OF_PAIRS, _pairs),
    Table("corpus", "the moments of all pairs as documents, with seconds and captions", OF_CORPUS, _corpus, True),
    Table("queries", "the queries", OF_QUERIES, _queries, True),
    Table("qrels", "the grades, with BEIR's names", OF_QRELS, _qrels),
    Table("judgements", "every judgement, by worker number", OF_JUDGEMENTS, _judgements),
]


def files(scope: ExportScope, about: dict[str, Any]) -> Iterator[tuple[str, str, Made]]:
    """Yield the name of each file, what it is, and the function that makes it. `about` is the manifest."""
    splits: dict[str, list[str]] = about["splits"]
    for table in TABLES:
        for file, (split, held) in table.files(splits).items():
            yield file, f"{_described(table, split)}, as Parquet", partial(table.lines, scope, held)
    yield "beir/corpus.jsonl", "the moments as documents, as BEIR has them", partial(_beir_corpus, scope, splits)
    yield "beir/queries.jsonl", "the queries, as BEIR has them", partial(_beir_queries, scope, splits)
    for split, names in splits.items():
        what = f"qrels of the split {split}, as BEIR has them"
        yield f"beir/qrels/{split}.tsv", what, partial(_beir_qrels, scope, {split: names})
    yield "topics.tsv", "the queries as topics: id, tab, text", partial(_topics, scope)
    definition = Path(__file__).with_name("ir_definition.py").read_text(encoding="utf-8")
    what = "a definition for ir_datasets, which works in this folder"
    yield "ir_datasets_definition.py", what, partial(iter, [definition])


def _topics(scope: ExportScope) -> Lines:
    """Yield the queries as topics. White space within a text is one space, because a topic is one line."""
    rows = scope.queries.order_by(*by_query())
    for key, text in rows.values_list("query_id", "text"):
        yield f"{as_word(key)}\t{' '.join(text.split())}\n"


def _beir_corpus(scope: ExportScope, splits: Named) -> Lines:
    for name, title, caption, video, start, end, _ in _corpus(scope, splits):
        about = {"video": video, "start": start, "end": end}
        yield _line({"_id": name, "title": title, "text": caption, "metadata": about})


def _beir_queries(scope: ExportScope, splits: Named) -> Lines:
    for key, text, split, *_ in _queries(scope, splits):
        yield _line({"_id": key, "text": text, "metadata": {"split": split}})


def _beir_qrels(scope: ExportScope, splits: Named) -> Lines:
    yield "query-id\tcorpus-id\tscore\n"
    for query, moment, grade in _qrels(scope, splits):
        yield f"{query}\t{moment}\t{grade}\n"


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def configs(splits: Named) -> str:
    """Return the part of the card's header by which hubs load the tables."""
    lines = ["configs:"]
    for table in TABLES:
        lines += [f"- config_name: {table.name}", *(["  default: true"] * (table is TABLES[0])), "  data_files:"]
        for file, (split, _) in table.files(splits).items():
            lines += [f"  - split: {split}", f"    path: {file}"]
    return "\n".join(lines)


def citation(about: dict[str, Any]) -> Lines:
    """Yield CITATION.cff. The authors are the campaign's people, whose names no release holds."""
    yield f"""cff-version: 1.2.0
message: Please cite the release whose grades you use.
type: dataset
title: {json.dumps(title_of(about["title"], about["version"]), ensure_ascii=False)}
version: "{about["version"]}"
{f'date-released: "{about["date"]}"{chr(10)}' if about.get("date") else ""}license: {about["licence"]}
authors:
- name: {json.dumps(creator_of(about["title"]), ensure_ascii=False)}
keywords:
- video moment retrieval
- graded relevance
- test collection
"""


def datacite(about: dict[str, Any]) -> Lines:
    """Yield what a DOI is registered with. The year of publication is not there yet: publishing is to come."""
    attributes = {
        "titles": [{"title": title_of(about["title"], about["version"])}],
        "creators": [{"name": creator_of(about["title"]), "nameType": "Organizational"}],
        "publisher": {"name": creator_of(about["title"])},
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "test collection"},
        "subjects": [{"subject": "video moment retrieval"}, {"subject": "graded relevance"}],
        "version": str(about["version"]),
        "rightsList": [{"rightsIdentifier": about["licence"], "rightsUri": about["licence_url"]}],
        "descriptions": [{"description": description_of(about), "descriptionType": "Abstract"}],
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    }
    yield json.dumps({"data": {"type": "dois", "attributes": attributes}}, ensure_ascii=False, indent=2) + "\n"


def description_of(about: dict[str, Any]) -> str:
    counts = about["counts"]
    return (
        f"A test collection with graded relevance for video moment retrieval: {counts['pairs']['settled']:,} pairs of"
        f" a query and a moment with a final grade from 0 to 4, for {counts['judged_queries']:,} queries, from"
        f" {counts['judgements']:,} judgements by {counts['annotators']:,} annotators."
    ) + (f" {reused:,} more have the grade of an earlier campaign." if (reused := counts["pairs"]["reused"]) else "")


# The context that the specification of Croissant 1.1 prescribes.
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
}
CONTEXT |= {
    name: f"cr:{name}"
    for name in (
        *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty"),
        *("fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
        *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
        *("separator", "source", "subField", "transform"),
    )
}
CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
CROISSANT_TYPES = {TEXT: "sc:Text", WHOLE: "sc:Integer", NUMBER: "sc:Float", TRUTH: "sc:Boolean"}


def croissant(about: dict[str, Any], responsible: dict[str, Any], written: Files) -> Lines:
    """Yield croissant.json: what the release is, its tables with their checksums, and how its grades were made.

    responsible: the fields of responsible AI, without their prefix.
    written: the files that are written already: all tables are.
    """
    tables = [(table, file, split) for table in TABLES for file, (split, _) in table.files(about["splits"]).items()]
    record = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about["campaign"],
        "description": description_of(about),
        "license": about["licence_url"],
        "version": f"{about['version']}.0.0",
        "creator": {"@type": "sc:Organization", "name": creator_of(about["title"])},
        "citeAs": f"{creator_of(about['title'])}. {title_of(about['title'], about['version'])}.",
        "keywords": ["video moment retrieval", "graded relevance", "test collection"],
        "isLiveDataset": False,
        **({"datePublished": about["date"]} if about.get("date") else {}),
        **({"inLanguage": about["language"]} if about.get("language") else {}),
        **{f"rai:{name}": value for name, value in responsible.items() if value},
        "distribution": [_file_object(file, written) for _, file, _ in tables],
        "recordSet": [_record_set(*each) for each in tables],
    }
    yield json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def _file_object(name: str, written: Files) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{written[name]['bytes']} B",
        "encodingFormat": "application/x-parquet",
        "sha256": written[name]["sha256"],
    }


def _record_set(table: Table, file: str, split: str) -> dict[str, Any]:
    name = table.name if table.is_one else f"{table.name}-{split}"
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "dataType": CROISSANT_TYPES[kind],
            "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
        }
        for column, kind in table.columns.items()
    ]
    what = _described(table, split)
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": what, "field": fields}


def _described(table: Table, split: str) -> str:
    return table.what if table.is_one else f"{table.what}, of the split {split}"


HUB, PREFIX, PAGE = "ORGANISATION/NAME", "10.PREFIX", "https://PAGE"


def publishing_commands(
    manifest: dict[str, Any], file: str, hub: str = HUB, prefix: str = PREFIX, page: str = PAGE
) -> list[str]:
    """Return the lines of a shell that publish a release's zip on a dataset hub and register a DOI for it."""
    file, folder, hub = quote(file), quote(f"{manifest['campaign']}-v{manifest['version']}"), quote(hub)
    tag = f"v{manifest['version']}"
    attributes = f'.prefix = "{prefix}" | .url = "{page}" | .event = "publish"'
    attributes += f" | .publicationYear = {timezone.localdate().year}"
    return [
        "# Unpack it, and check it once more",
        f"unzip -q {file} && python {folder}/verify.py",
        "",
        "# On the hub, once you have signed in with `hf auth login`",
        f"hf repo create {hub} --repo-type dataset",
        f"hf upload {hub} {folder} . --repo-type dataset --commit-message {quote('Release ' + tag)}",
        f"hf repo tag create {hub} {tag} --repo-type dataset",
        "",
        "# A DOI from DataCite",
        f"jq {quote(f'.data.attributes |= ({attributes})')} {folder}/datacite.json |",
        "  curl --user REPOSITORY --header 'Content-Type: application/vnd.api+json' --data @-"
        " https://api.datacite.org/dois",
    ]
