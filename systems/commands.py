"""The command line of the systems, for features, examples and queries that are files."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from .data import Data, Query, Validation, Videos
from .encoders import (
    BUNDLED,
    by_encoder,
    data_with_stored_tokens,
    data_with_tokens,
    read_tokens,
    videos_with_names,
    with_tokens,
)
from .errors import BadOption, SystemsError
from .examples import examples_from, examples_of, notice_of, queries_in, read_objects
from .features.media import compute, extractor, films_in
from .features.reader import CLIPS_MEANING, FIT_MEANING, FITS, STRICT, UNIT_MEANING, FeatureSet, read_videos
from .features.sources import EXPECTED
from .interface import SYSTEMS, Progress, System, entry, keep_features, system, system_in
from .library import (
    MeasureError,
    Parser,
    Qrels,
    as_qrels,
    as_run,
    pairs_as_qvhighlights,
    read_durations,
    read_pair_windows,
    read_pairs,
    run_as_ranking,
)
from .neural.again import INPUTS, make_again
from .neural.description import (
    beside,
    checksum,
    commands_in,
    description_of,
    give_away,
    is_learned,
    keep_command,
    write_model_card,
)
from .neural.device import DEVICES, choose, device
from .options import Options
from .ranking import FUSIONS, pairs_of, rerank
from .storage import digest, write, write_json

DURATIONS_MEANING = "lengths of videos: {video: seconds} or {video: [seconds, number]}, a CSV, or annotations"
SECONDS_BETWEEN_LINES = 5.0
MOST_VIDEOS = 1000  # of a query, as candidates of a second stage
MOMENTS_OF_VIDEOS = 100  # that are looked at for each of them


def main(arguments: Sequence[str], program: str) -> int:
    """Run a command of the program of this name, and return its exit code: 2 for bad input."""
    args = parser(program).parse_args(arguments, argparse.Namespace(words=list(arguments)))
    try:
        _place(args)
        args.run(args)
    except (SystemsError, MeasureError) as fault:
        print(f"error: {' '.join(str(fault).split())}", file=sys.stderr)
        return 2
    return 0


def _place(args: argparse.Namespace) -> None:
    """Let the networks compute on the device of a command, if it names one. Raises BadOption if there is none."""
    if getattr(args, "device", None):
        choose(args.device)
        device()


def parser(program: str) -> Parser:
    top = Parser(prog=program, description="Systems that rank moments of videos.")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _add_systems(commands)
    _add_features(commands)
    _add_train(commands)
    _add_index(commands)
    _add_check(commands)
    _add_search(commands)
    _add_again(commands)
    _add_export(commands)
    _add_load(commands)
    _add_candidates(commands)
    _add_rerank(commands)
    return top


def _add_systems(commands: Any) -> None:
    command = commands.add_parser("list", help="list the systems with their options, what they mean, and defaults")
    command.set_defaults(run=list_systems)


def list_systems(args: argparse.Namespace) -> None:
    for name, found in SYSTEMS.items():
        print(f"{name}: {found.title}{'. ' if found.differs else ''}{found.differs}")
        meanings = found.options.table("meaning")
        for field in fields(found.options):
            print(f"  {field.name}={field.default}".ljust(27), meanings[field.name])


def _add_features(commands: Any) -> None:
    command = commands.add_parser("features", help="compute features of films; what is there already stays")
    command.add_argument("out", type=Path, help="the folder for the features, NAME.npy for each video")
    command.add_argument("--media", type=Path, required=True, help="films as NAME.mp4, or folders of pictures")
    command.add_argument("--fps", type=float, default=0.0, help="pictures a second of folders")
    command.add_argument("--vision-model", default="", help="a folder, or a name at a hub; else the plain descriptor")
    _add_collection(command)
    _add_device(command)
    command.set_defaults(run=features)


def features(args: argparse.Namespace) -> None:
    films = films_in(args.media, read_durations(args.durations))
    pictures = [name for name, (film, _) in films.items() if film.is_dir()]
    if pictures and not args.fps > 0:
        raise BadOption("--fps", f"{args.fps:g}", f"pictures a second, because {pictures[0]!r} is a folder")
    compute(films, extractor(args.clip_seconds, args.vision_model, args.fps), args.out, Printer())


def _add_train(commands: Any) -> None:
    command = commands.add_parser("train", help="train a system; a training that was broken off goes on")
    _add_videos(command)
    command.add_argument("--system", required=True, choices=SYSTEMS)
    examples = command.add_mutually_exclusive_group(required=True)
    examples.add_argument("--examples", type=Path, help="a pseudo training set in TVR-Ranking's format")
    examples.add_argument("--annotations", type=Path, help="moments with their sentences: any qrels or annotations")
    command.add_argument("--validation", type=Path, help="qrels that tell the queries' words, over the same videos")
    command.add_argument("--measure", help="of the validation; nDCG_IoU(iou=0.5)@20 by default")
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="see the command list")
    _add_query_features(command)
    command.set_defaults(run=train)


def train(args: argparse.Namespace) -> None:
    made = system(args.system, args.folder, **options_of(entry(args.system).options, args.option))
    videos = videos_of(args)
    if args.examples:
        examples = examples_from(args.examples, videos.number)
    else:
        qrels = _with_words(as_qrels(str(args.annotations)), args.annotations)
        examples = examples_of(qrels, videos.number, str(args.annotations))
    validation = _validation(args, videos) if args.validation else None
    data = Data(videos, examples, validation)
    if not is_learned(args.folder):
        keep_features(args.folder, "train", videos)
        _keep_command(args)
    made.train(_with_tokens(args, data), Printer())
    write_model_card(args.folder)


def _with_tokens(args: argparse.Namespace, data: Data) -> Data:
    if args.query_features:
        return data_with_stored_tokens(data, args.query_features)
    return data_with_tokens(data, by_encoder(args.encoder)) if args.encoder else data


def _queries(args: argparse.Namespace) -> list[Query]:
    """Return the queries of a command, with token vectors if it says where they come from."""
    queries = queries_in(args.queries)
    if args.query_features:
        return read_tokens(args.query_features, queries)
    return with_tokens(queries, by_encoder(args.encoder)) if args.encoder else queries


def _validation(args: argparse.Namespace, videos: Videos) -> Validation:
    qrels = _with_words(as_qrels(str(args.validation)), args.validation)
    queries = [Query(query, qrels.texts[query]) for query in qrels.queries]
    validation = Validation(queries, qrels, videos)
    return replace(validation, measure=args.measure) if args.measure else validation


def options_of(kind: type[Options], words: Sequence[str]) -> dict[str, Any]:
    """Return options from words such as ``learning_rate=0.01``, each of the type of its default."""
    kinds: dict[str, Any] = {field.name: type(field.default) for field in fields(kind)}
    options: dict[str, Any] = {}
    for each in words:
        name, equals, value = each.partition("=")
        if not equals or name not in kinds:
            raise BadOption("--option", repr(each), f"NAME=VALUE with one of {', '.join(kinds)}")
        try:
            options[name] = {"True": True, "False": False}[value] if kinds[name] is bool else kinds[name](value)
        except (KeyError, ValueError):
            raise BadOption(f"--option {name}", repr(value), f"a value of the type {kinds[name].__name__}") from None
    return options


def _with_words(qrels: Qrels, file: Path) -> Qrels:
    for query in qrels.queries:
        if not qrels.texts.get(query, "").strip():
            raise SystemsError(f"{file}: query {query}: its words are missing; expected a field query")
    return qrels


def _add_index(commands: Any) -> None:
    command = commands.add_parser("index", help="index the videos that are to be searched")
    _add_videos(command)
    untrained = [name for name, each in SYSTEMS.items() if not each.learns]
    command.add_argument("--system", choices=untrained, help="of a new folder, for a system that need not be trained")
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="with --system")
    command.add_argument(
        "--shard", help="of two_stage: plan, then each number once, in any order and on several machines"
    )
    command.set_defaults(run=index)


def index(args: argparse.Namespace) -> None:
    if args.system:
        made = system(args.system, args.folder, **options_of(entry(args.system).options, args.option))
    elif args.option:
        raise BadOption("--option", repr(args.option[0]), "--system beside it; a trained system has its options")
    else:
        made = system_in(args.folder)
    videos = videos_of(args)
    videos = videos_with_names(videos, by_encoder(args.encoder)) if args.encoder else videos
    if args.shard is None:
        made.index(videos, Printer())
    else:
        _index_shard(made, videos, args.shard)
    if args.shard in (None, "plan"):
        keep_features(args.folder, "index", videos)
        _keep_command(args)


def _index_shard(made: System, videos: Videos, shard: str) -> None:
    from .clips.two_stage import TwoStages  # torch is loaded by now

    if not isinstance(made, TwoStages):
        raise BadOption("--shard", f"{made.name} has no shards", "the system two_stage")
    parts = ["plan", *map(str, range(1, made.options.shards + 1))]
    if shard not in parts:
        raise BadOption("--shard", repr(shard), f"plan, or a number from 1 to {made.options.shards}")
    if shard == "plan":
        made.plan(videos)
    else:
        made.index_shard(videos, int(shard))
    print("the index is planned" if shard == "plan" else f"shard {shard} is written")


def _add_check(commands: Any) -> None:
    command = commands.add_parser("check", help="look whether the index of a system is whole")
    command.add_argument("folder", type=Path, help="of the system")
    command.set_defaults(run=check)


def check(args: argparse.Namespace) -> None:
    system_in(args.folder).check_index()
    print(f"{args.folder}: the index is whole")


def _add_search(commands: Any) -> None:
    command = commands.add_parser("search", help="rank the indexed moments for queries, as a run")
    command.add_argument("folder", type=Path, help="of the system")
    command.add_argument("--queries", type=Path, required=True, help="JSON Lines with query_id and query")
    command.add_argument("--out", type=Path, required=True, help="the run, in TVR-Ranking's format")
    command.add_argument("--depth", type=int, default=100, help="moments of a query; 100 by default")
    _add_encoder(command)
    _add_query_features(command)
    _add_device(command)
    command.set_defaults(run=search)


def search(args: argparse.Namespace) -> None:
    _check_depth(args.depth)
    queries = _queries(args)
    made = system_in(args.folder)
    run = made.search(queries, args.depth)
    write(args.out, lambda out: out.write(run_as_ranking(run).encode()))
    own = {"search": {"words": args.words, "files": _checksums(args), "device": device().type}}
    about = description_of(args.folder) | {"commands": commands_in(args.folder) | own, "run": digest(args.out)}
    write_json(beside(args.out), about)
    print(f"{len(run.start):,} moments for {len(queries):,} queries are in {args.out}")
    if finds := made.finds():
        print(finds)


def _keep_command(args: argparse.Namespace) -> None:
    keep_command(args.folder, args.words[0], args.words, _checksums(args))


def _checksums(args: argparse.Namespace) -> dict[str, str]:
    """Return the SHA-256 of the files that a command names. Features have theirs in features.json."""
    named = {str(path): Path(path) for name in INPUTS if (path := getattr(args, name, None))}
    return {name: checksum(path) for name, path in named.items() if name != BUNDLED and path.exists()}


def _add_again(commands: Any) -> None:
    command = commands.add_parser("again", help="make a run again from its description: train, index and search")
    command.add_argument("description", type=Path, help="what a search wrote beside its run")
    command.add_argument("folder", type=Path, help="of the system that is made; a new one")
    command.add_argument("--out", type=Path, required=True, help="the run, in TVR-Ranking's format")
    command.add_argument("--data", type=Path, help="where files are, by their names, that are not where they were")
    _add_device(command)
    command.set_defaults(run=again)


def again(args: argparse.Namespace) -> None:
    def do(found: argparse.Namespace) -> None:
        _place(found)
        found.run(found)

    print(f"{args.out}: is the run of the description, SHA-256 {make_again(args, parser('systems').parse_args, do)}")


def _add_export(commands: Any) -> None:
    command = commands.add_parser("export", help="write a system into a zip file that can be given away")
    command.add_argument("folder", type=Path, help="of the system")
    command.add_argument("out", type=Path, help="the zip file; what is unpacked from it is a folder of a system")
    command.set_defaults(run=export)


def export(args: argparse.Namespace) -> None:
    system_in(args.folder)  # refuses a folder that is none
    print(f"{give_away(args.folder, args.out)} files are in {args.out}")


def _add_load(commands: Any) -> None:
    command = commands.add_parser("load", help="make a trained system of a checkpoint of its authors' code")
    command.add_argument("folder", type=Path, help="of the system")
    command.add_argument("--system", required=True, choices=("xml", "reloclnet", "conquer"))
    command.add_argument("--checkpoint", type=Path, required=True, help="a state dict that torch.save stored")
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="as heads=8 or tef=True")
    command.set_defaults(run=load)


def load(args: argparse.Namespace) -> None:
    from .streams.published import adopt  # and torch with it

    options = options_of(entry(args.system).options, args.option)
    for name in adopt(args.system, args.checkpoint, args.folder, **options):
        print(f"has no use: {name}")
    _keep_command(args)
    write_model_card(args.folder)
    print(f"{args.folder}: holds the weights of {args.checkpoint}")


def _add_candidates(commands: Any) -> None:
    command = commands.add_parser("candidates", help="write the videos of a first stage, for systems of single videos")
    command.add_argument("first", type=Path, help="the folder of a system that is indexed, or a run")
    command.add_argument("--queries", type=Path, required=True, help="JSON Lines with query_id and query")
    command.add_argument("--durations", type=Path, required=True, help=DURATIONS_MEANING)
    command.add_argument("--videos", type=int, default=10, help="of a query at most; 10 by default")
    command.add_argument("--out", type=Path, required=True, help="QVHighlights' JSON Lines, one for each pair")
    _add_encoder(command)
    _add_query_features(command)
    _add_device(command)
    command.set_defaults(run=candidates)


def candidates(args: argparse.Namespace) -> None:
    if not 1 <= args.videos <= MOST_VIDEOS:
        raise BadOption("--videos", str(args.videos), f"1 to {MOST_VIDEOS}")
    queries, durations = queries_in(args.queries), read_durations(args.durations)
    if args.first.is_dir():
        run = system_in(args.first).search(_queries(args), MOMENTS_OF_VIDEOS * args.videos)
    else:
        run = as_run(str(args.first))
    pairs = list(pairs_of(run, {query.id: query.text for query in queries}, durations, args.videos))
    write(args.out, lambda out: out.write(pairs_as_qvhighlights(pairs).encode()))
    print(f"{len(pairs):,} pairs of {len(run.queries):,} queries are in {args.out}")


def _add_rerank(commands: Any) -> None:
    command = commands.add_parser("rerank", help="rank what a system of single videos predicts for candidates")
    command.add_argument("--pairs", type=Path, required=True, help="what candidates wrote")
    command.add_argument("--predictions", type=Path, required=True, help="JSON Lines with pred_relevant_windows")
    command.add_argument("--out", type=Path, required=True, help="the run, in TVR-Ranking's format")
    command.add_argument("--fusion", choices=FUSIONS, default=FUSIONS[0], help="of both scores, or of both ranks")
    command.add_argument("--weight", type=float, default=0.5, help="of the first stage, 0 to 1; 0.5 by default")
    command.add_argument("--depth", type=int, default=100, help="moments of a query; 100 by default")
    command.add_argument("--nms", type=float, default=1.0, help="IoU above which a moment is dropped; 1 keeps all")
    command.set_defaults(run=rerank_pairs)


def rerank_pairs(args: argparse.Namespace) -> None:
    _check_depth(args.depth)
    if not 0 <= args.nms <= 1:
        raise BadOption("--nms", f"{args.nms:g}", "0 to 1")
    predicted = read_pair_windows(args.predictions)
    found = rerank(read_pairs(args.pairs), predicted, args.fusion, args.weight, args.depth, args.nms)
    write(args.out, lambda out: out.write(run_as_ranking(found.run).encode()))
    print(f"{len(found.run.start):,} moments for {len(found.run.queries):,} queries are in {args.out}")
    print(f"{found.cut:,} windows were cut to their videos; {found.outside:,} lay outside of them or were empty")
    if found.silent:
        print(f"{found.silent:,} pairs have no predictions")


def _check_depth(depth: int) -> None:
    if not 1 <= depth <= 100_000:
        raise BadOption("--depth", str(depth), "1 to 100000")


def _add_collection(command: argparse.ArgumentParser) -> None:
    command.add_argument("--durations", type=Path, required=True, help=DURATIONS_MEANING)
    command.add_argument("--clip-seconds", type=seconds, required=True, help="length of a clip")


def seconds(text: str) -> float:
    """Return a length in seconds, or raise ValueError, which the parser tells."""
    if not 0 < float(text) < 86_400:
        raise ValueError
    return float(text)


def _add_videos(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="of the system")
    _add_collection(command)
    _add_encoder(command)
    _add_device(command)
    command.add_argument(
        "--clips",
        action="append",
        required=True,
        metavar="PATH",
        help=f"features: {EXPECTED}; several times for sets that are joined; PATH may end with @ and {CLIPS_MEANING}",
    )
    command.add_argument("--subtitles", metavar="PATH", help="features of subtitles, in the same forms")
    command.add_argument("--fit", choices=FITS, default=STRICT, help=FIT_MEANING)
    command.add_argument("--unit", action="store_true", help=UNIT_MEANING)
    command.add_argument("--objects", type=Path, help="detections as JSON Lines")


def _add_device(command: argparse.ArgumentParser) -> None:
    command.add_argument("--device", choices=DEVICES, help="where networks compute; auto, a GPU if there is one, else")


def _add_encoder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--encoder",
        help="whose token vectors stand for words, as 'bundled', or a text file of word vectors; else they are "
        "learned. For zero_shot, the folder of the model that made the clips' features",
    )


def _add_query_features(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--query-features", type=Path, help="token vectors of queries by their ids, in the forms of features"
    )


def videos_of(args: argparse.Namespace) -> Videos:
    """Return the videos that a command's options name."""
    sets = [FeatureSet.of(words) for words in args.clips]
    subtitles = FeatureSet.of(args.subtitles) if args.subtitles else None
    durations = read_durations(args.durations)
    videos = read_videos(durations, args.clip_seconds, sets, subtitles, fit=args.fit, unit=args.unit)
    if args.objects:
        videos = replace(videos, objects=read_objects(args.objects, videos))
    for notice in filter(None, (*videos.notices, notice_of(videos))):
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
