"""The command line of the systems, for features, examples and queries that are files."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NoReturn

from corpus.errors import CorpusError
from metrics import MeasureError, Qrels, as_qrels
from metrics.formats.read_runs import read_durations
from metrics.formats.writers import run_as_ranking
from retrieval.systems.data import Data, Query, Validation, Videos
from retrieval.systems.errors import BadOption, SystemsError
from retrieval.systems.features.detections import notice_of, read_objects
from retrieval.systems.features.media import compute, extractor, films_in
from retrieval.systems.features.reading import read_videos
from retrieval.systems.interface import Progress, System
from retrieval.systems.options import Options
from retrieval.systems.queries import queries_in
from retrieval.systems.registry import SYSTEMS, entry, system, system_in
from retrieval.systems.storing import write
from retrieval.systems.tokens import by_encoder, data_with_tokens, videos_with_names, with_tokens
from retrieval.systems.training_sets import examples_from, examples_of

SECONDS_BETWEEN_LINES = 5.0


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code: 2 for bad input."""
    said = parser().parse_args(arguments)
    try:
        said.run(said)
    except (SystemsError, MeasureError, CorpusError) as fault:
        print(f"error: {' '.join(str(fault).split())}", file=sys.stderr)
        return 2
    return 0


def parser() -> Parser:
    top = Parser(prog="python -m retrieval.systems", description="Systems that rank moments of videos.")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _add_systems(commands)
    _add_features(commands)
    _add_train(commands)
    _add_index(commands)
    _add_check(commands)
    _add_search(commands)
    return top


def _add_systems(commands: Any) -> None:
    command = commands.add_parser(
        "systems", help="list the systems with their options, what they mean, and defaults"
    )
    command.set_defaults(run=list_systems)


def list_systems(said: argparse.Namespace) -> None:
    for name, found in SYSTEMS.items():
        print(f"{name}: {found.title}{'. ' if found.differs else ''}{found.differs}")
        meanings = found.options.meanings()
        for field in fields(found.options):
            print(f"  {field.name}={field.default}".ljust(27), meanings[field.name])


def _add_features(commands: Any) -> None:
    command = commands.add_parser("features", help="compute features of films; what is there already stays")
    command.add_argument("out", type=Path, help="the folder for the features, NAME.npy for each video")
    command.add_argument(
        "--media", type=Path, required=True, help="films as NAME.mp4, or folders of pictures"
    )
    command.add_argument("--fps", type=float, default=0.0, help="pictures a second of folders")
    command.add_argument(
        "--vision-model", default="", help="a folder, or a name at a hub; else the plain descriptor"
    )
    _add_collection(command)
    command.set_defaults(run=features)


def features(said: argparse.Namespace) -> None:
    films = films_in(said.media, read_durations(said.durations))
    pictures = [name for name, (film, _) in films.items() if film.is_dir()]
    if pictures and not said.fps > 0:
        raise BadOption("--fps", f"{said.fps:g}", f"pictures a second, because {pictures[0]!r} is a folder")
    compute(films, extractor(said.clip_seconds, said.vision_model, said.fps), said.out, Printer())


def _add_train(commands: Any) -> None:
    command = commands.add_parser("train", help="train a system; a training that was broken off goes on")
    _add_videos(command)
    command.add_argument("--system", required=True, choices=SYSTEMS)
    examples = command.add_mutually_exclusive_group(required=True)
    examples.add_argument("--examples", type=Path, help="a pseudo training set in TVR-Ranking's format")
    examples.add_argument(
        "--annotations", type=Path, help="moments with their sentences: any qrels or annotations"
    )
    command.add_argument(
        "--validation", type=Path, help="qrels that tell the queries' words, over the same videos"
    )
    command.add_argument("--measure", help="of the validation; nDCG_IoU(iou=0.5)@20 by default")
    command.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="see the command systems"
    )
    command.set_defaults(run=train)


def train(said: argparse.Namespace) -> None:
    made = system(said.system, said.folder, **options_of(entry(said.system).options, said.option))
    videos, examples = videos_of(said), []
    if said.examples:
        examples = examples_from(said.examples, videos.number)
    else:
        qrels = _told(as_qrels(str(said.annotations)), said.annotations)
        examples = examples_of(qrels, videos.number, str(said.annotations))
    validation = _validation(said, videos) if said.validation else None
    data = Data(videos, examples, validation)
    made.train(data_with_tokens(data, by_encoder(said.encoder)) if said.encoder else data, Printer())


def _validation(said: argparse.Namespace, videos: Videos) -> Validation:
    qrels = _told(as_qrels(str(said.validation)), said.validation)
    queries = [Query(query, qrels.texts[query]) for query in qrels.queries]
    validation = Validation(queries, qrels, videos)
    return replace(validation, measure=said.measure) if said.measure else validation


def options_of(kind: type[Options], said: Sequence[str]) -> dict[str, Any]:
    """Return options from words such as ``learning_rate=0.01``, each of the type of its default."""
    kinds: dict[str, Any] = {field.name: type(field.default) for field in fields(kind)}
    options: dict[str, Any] = {}
    for each in said:
        name, equals, value = each.partition("=")
        if not equals or name not in kinds:
            raise BadOption("--option", repr(each), f"NAME=VALUE with one of {', '.join(kinds)}")
        try:
            options[name] = (
                {"True": True, "False": False}[value] if kinds[name] is bool else kinds[name](value)
            )
        except (KeyError, ValueError):
            raise BadOption(
                f"--option {name}", repr(value), f"a value of the type {kinds[name].__name__}"
            ) from None
    return options


def _told(qrels: Qrels, file: Path) -> Qrels:
    for query in qrels.queries:
        if not qrels.texts.get(query, "").strip():
            raise SystemsError(f"{file}: query {query}: its words are missing; expected a field query")
    return qrels


def _add_index(commands: Any) -> None:
    command = commands.add_parser("index", help="index the videos that are to be searched")
    _add_videos(command)
    command.add_argument(
        "--shard", help="of two_stage: plan, then each number once, in any order and on several machines"
    )
    command.set_defaults(run=index)


def index(said: argparse.Namespace) -> None:
    made, videos = system_in(said.folder), videos_of(said)
    videos = videos_with_names(videos, by_encoder(said.encoder)) if said.encoder else videos
    if said.shard is None:
        made.index(videos, Printer())
    else:
        _index_shard(made, videos, said.shard)


def _index_shard(made: System, videos: Videos, shard: str) -> None:
    from retrieval.systems.two_stage import TwoStages  # torch is loaded by now

    if not isinstance(made, TwoStages):
        raise BadOption("--shard", f"{made.name} has no shards", "the system two_stage")
    parts = ["plan", *map(str, range(1, made.its.shards + 1))]
    if shard not in parts:
        raise BadOption("--shard", repr(shard), f"plan, or a number from 1 to {made.its.shards}")
    if shard == "plan":
        made.plan(videos)
    else:
        made.index_shard(videos, int(shard))
    print("the index is planned" if shard == "plan" else f"shard {shard} is written")


def _add_check(commands: Any) -> None:
    command = commands.add_parser("check", help="look whether the index of a system is whole")
    command.add_argument("folder", type=Path, help="of the system")
    command.set_defaults(run=check)


def check(said: argparse.Namespace) -> None:
    system_in(said.folder).check_index()
    print(f"{said.folder}: the index is whole")


def _add_search(commands: Any) -> None:
    command = commands.add_parser("search", help="rank the indexed moments for queries, as a run")
    command.add_argument("folder", type=Path, help="of the system")
    command.add_argument("--queries", type=Path, required=True, help="JSON Lines with query_id and query")
    command.add_argument("--out", type=Path, required=True, help="the run, in TVR-Ranking's format")
    command.add_argument("--depth", type=int, default=100, help="moments of a query; 100 by default")
    _add_encoder(command)
    command.set_defaults(run=search)


def search(said: argparse.Namespace) -> None:
    if not 1 <= said.depth <= 100_000:
        raise BadOption("--depth", str(said.depth), "1 to 100000")
    queries = queries_in(said.queries)
    queries = with_tokens(queries, by_encoder(said.encoder)) if said.encoder else queries
    run = system_in(said.folder).search(queries, said.depth)
    write(said.out, lambda out: out.write(run_as_ranking(run).encode()))
    print(f"{len(run.start):,} moments for {len(queries):,} queries are in {said.out}")


def _add_collection(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--durations", type=Path, required=True, help="a video index file: {video: [seconds, number]}"
    )
    command.add_argument("--clip-seconds", type=seconds, required=True, help="length of a clip")


def seconds(said: str) -> float:
    """Return a length in seconds, or raise ValueError, which the parser tells."""
    if not 0 < float(said) < 86_400:
        raise ValueError
    return float(said)


def _add_videos(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="of the system")
    _add_collection(command)
    _add_encoder(command)
    command.add_argument(
        "--clips", type=Path, required=True, help="features: .h5, .npz, or a folder of .npy files"
    )
    command.add_argument("--subtitles", type=Path, help="features of subtitles, in the same shapes")
    command.add_argument("--objects", type=Path, help="detections as JSON Lines")


def _add_encoder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--encoder", help="whose token vectors stand for words, as 'bundled'; else they are learned"
    )


def videos_of(said: argparse.Namespace) -> Videos:
    """Return the videos that a command's options name."""
    videos = read_videos(read_durations(said.durations), said.clip_seconds, said.clips, said.subtitles)
    if not said.objects:
        return videos
    videos = replace(videos, objects=read_objects(said.objects, videos))
    if notice := notice_of(videos):
        print(notice, flush=True)
    return videos


class Printer:
    """Prints progress: each validation, the end, and a line every few seconds."""

    def __init__(self) -> None:
        self.printed = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        matters = progress.validation is not None or progress.done == progress.total
        if matters or now - self.printed >= SECONDS_BETWEEN_LINES:
            self.printed = now
            parts = [progress.text]
            parts += [] if progress.loss is None else [f"loss {progress.loss:.4f}"]
            parts += [] if progress.validation is None else [f"validation {progress.validation:.4f}"]
            print(", ".join(parts), flush=True)
