"""The command line of the systems, for features, examples and queries that are files."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
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
from .neural.description import (
    COMMANDS,
    beside,
    checksum,
    description_of,
    give_away,
    is_learned,
    keep_command,
    must_be_the_same,
    read_description,
    write_model_card,
)
from .neural.device import DEVICES, choose, device
from .options import Options
from .ranking import FUSIONS, pairs_of, rerank
from .storage import digest, known_json, write, write_json

SECONDS_BETWEEN_LINES = 5.0
MOST_VIDEOS = 1000  # of a query, as candidates of a second stage
MOMENTS_OF_VIDEOS = 100  # that are looked at for each of them
# The files that commands name, besides features.
INPUTS = (
    *("durations", "objects", "examples", "annotations", "validation", "checkpoint", "queries"),
    *("query_features", "encoder"),
)


def seconds(text: str) -> float:
    """Return a length in seconds, or raise ValueError, which the parser reports."""
    if not 0 < float(text) < 86_400:
        raise ValueError
    return float(text)


def _path(help: str, **rules: Any) -> dict[str, Any]:
    return {"type": Path, "help": help, **rules}


# By name, or by command and name where a command has it otherwise.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "folder": _path("of the system"),
    "again folder": _path("of the system that is made; a new one"),
    "description": _path("what a search wrote beside its run"),
    "first": _path("the folder of a system that is indexed, or a run"),
    "out": _path("the zip file; what is unpacked from it is a folder of a system"),
    "features out": _path("the folder for the features, NAME.npy for each video"),
    "--out": _path("the run, in TVR-Ranking's format", required=True),
    "candidates --out": _path("QVHighlights' JSON Lines, one for each pair", required=True),
    "--media": _path("films as NAME.mp4, or folders of pictures", required=True),
    "--fps": {"type": float, "default": 0.0, "help": "pictures a second of folders"},
    "--vision-model": {"default": "", "help": "a folder, or a name at a hub; else the plain descriptor"},
    "--durations": _path(
        "lengths of videos: {video: seconds} or {video: [seconds, number]}, a CSV, or annotations", required=True
    ),
    "--clip-seconds": {"type": seconds, "required": True, "help": "length of a clip"},
    "--clips": {
        "action": "append",
        "required": True,
        "metavar": "PATH",
        "help": f"features: {EXPECTED}; several times to join sets; PATH may end with @ and {CLIPS_MEANING}",
    },
    "--subtitles": {"metavar": "PATH", "help": "features of subtitles, in the same forms"},
    "--fit": {"choices": FITS, "default": STRICT, "help": FIT_MEANING},
    "--unit": {"action": "store_true", "help": UNIT_MEANING},
    "--objects": _path("detections as JSON Lines"),
    "--encoder": {
        "help": "whose token vectors stand for words, as 'bundled', or a text file of word vectors; else they are "
        "learned. For zero_shot, the folder of the model that made the clips' features"
    },
    "--query-features": _path("token vectors of queries by their ids, in the forms of features"),
    "--device": {"choices": DEVICES, "help": "where networks compute; auto, a GPU if there is one, else"},
    "--system": {"required": True, "choices": SYSTEMS},
    "index --system": {
        "choices": [name for name, each in SYSTEMS.items() if not each.learns],
        "help": "of a new folder, for a system that need not be trained",
    },
    "load --system": {"required": True, "choices": ("xml", "reloclnet", "conquer")},
    "--examples": _path("a pseudo training set in TVR-Ranking's format"),
    "--annotations": _path("moments with their sentences: any qrels or annotations"),
    "--validation": _path("qrels that tell the queries' words, over the same videos"),
    "--measure": {"help": "of the validation; nDCG_IoU(iou=0.5)@20 by default"},
    "--option": {"action": "append", "default": [], "metavar": "NAME=VALUE", "help": "see the command list"},
    "--shard": {"help": "of two_stage: plan, then each number once, in any order and on several machines"},
    "--queries": _path("JSON Lines with query_id and query", required=True),
    "--depth": {"type": int, "default": 100, "help": "moments of a query; 100 by default"},
    "--data": _path("where files are, by their names, that are not where they were"),
    "--checkpoint": _path("a state dict that torch.save stored", required=True),
    "--videos": {"type": int, "default": 10, "help": "of a query at most; 10 by default"},
    "--pairs": _path("what candidates wrote", required=True),
    "--predictions": _path("JSON Lines with pred_relevant_windows", required=True),
    "--fusion": {"choices": FUSIONS, "default": FUSIONS[0], "help": "of both scores, or of both ranks"},
    "--weight": {"type": float, "default": 0.5, "help": "of the first stage, 0 to 1; 0.5 by default"},
    "--nms": {"type": float, "default": 1.0, "help": "IoU above which a moment is dropped; 1 keeps all"},
}
VIDEOS = "folder --durations --clip-seconds --encoder --device --clips --subtitles --fit --unit --objects"


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
    for name, (run, meaning, words) in PARSED.items():
        command = commands.add_parser(name, help=meaning)
        command.set_defaults(run=run)
        for word in words.split():
            either = word.split("|")
            place = command.add_mutually_exclusive_group(required=True) if len(either) > 1 else command
            for each in either:
                place.add_argument(each, **ARGUMENTS.get(f"{name} {each}", ARGUMENTS[each]))
    return top


def list_systems(args: argparse.Namespace) -> None:
    for name, found in SYSTEMS.items():
        print(f"{name}: {found.title}{'. ' if found.differs else ''}{found.differs}")
        for field in fields(found.options):
            print(f"  {field.name}={field.default}".ljust(27), field.metadata["meaning"])


def features(args: argparse.Namespace) -> None:
    films = films_in(args.media, read_durations(args.durations))
    pictures = [name for name, (film, _) in films.items() if film.is_dir()]
    if pictures and not args.fps > 0:
        raise BadOption("--fps", f"{args.fps:g}", f"pictures a second, because {pictures[0]!r} is a folder")
    compute(films, extractor(args.clip_seconds, args.vision_model, args.fps), args.out, Printer())


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
        keep_command(args.folder, _described(args))
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
        keep_command(args.folder, _described(args))


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


def check(args: argparse.Namespace) -> None:
    system_in(args.folder).check_index()
    print(f"{args.folder}: the index is whole")


def search(args: argparse.Namespace) -> None:
    _check_depth(args.depth)
    queries = _queries(args)
    made = system_in(args.folder)
    run = made.search(queries, args.depth)
    write(args.out, lambda out: out.write(run_as_ranking(run).encode()))
    commands = known_json(args.folder / COMMANDS) | _described(args)
    about = description_of(args.folder) | {"commands": commands, "run": digest(args.out)}
    write_json(beside(args.out), about)
    print(f"{len(run.start):,} moments for {len(queries):,} queries are in {args.out}")
    if finds := made.finds():
        print(finds)


def _described(args: argparse.Namespace) -> dict[str, Any]:
    """Return what a run's description says of a command. Features have their SHA-256 in features.json."""
    named = {str(path): Path(path) for name in INPUTS if (path := getattr(args, name, None))}
    files = {name: checksum(path) for name, path in named.items() if name != BUNDLED and path.exists()}
    return {args.words[0]: {"words": args.words, "files": files, "device": device().type}}


def again(args: argparse.Namespace) -> None:
    about = read_description(args.description)
    if args.folder.exists():
        raise SystemsError(f"{args.folder}: is there already; expected a new folder")
    for name in ("train", "load", "index", "search"):
        if name in about["commands"]:
            found = _moved(args, name, about["commands"][name])
            _place(found)
            found.run(found)
            must_be_the_same(about, args.folder, name)
    sha = digest(args.out)
    must_be_the_same(about, args.folder, "search", sha, str(args.out))
    print(f"{args.out}: is the run of the description, SHA-256 {sha}")


def _moved(args: argparse.Namespace, name: str, command: dict[str, Any]) -> argparse.Namespace:
    """Return one command of a description for another folder, with the files where they are now."""
    words = command["words"] if name == "load" else [*command["words"], "--device", args.device or command["device"]]
    if words[:1] != [name]:
        raise SystemsError(f"{args.description}: {name}: {words[0]!r}; expected the command of this name")
    found = parser("systems").parse_args(words)
    moved = {str(found.folder): str(args.folder)} | ({str(found.out): str(args.out)} if name == "search" else {})
    for path, sha in command["files"].items():
        where = _where(Path(path), args.data)
        if checksum(where) != sha:
            raise SystemsError(f"{where}: is another file than the one of the description, by its SHA-256")
        moved[path] = str(where)
    sets = [*getattr(found, "clips", []), getattr(found, "subtitles", None)]
    moved |= {each: _set_where(each, args.data) for each in filter(None, sets)}
    for option, value in vars(found).items():
        if isinstance(value, list):
            setattr(found, option, [moved.get(each, each) for each in value])
        elif str(value) in moved:
            setattr(found, option, type(value)(moved[str(value)]))
    found.words = [moved.get(each, each) for each in words]
    return found


def _where(path: Path, data: Path | None) -> Path:
    return data / path.name if data and not path.exists() and (data / path.name).exists() else path


def _set_where(words: str, data: Path | None) -> str:
    path = FeatureSet.of(words).path
    return f"{_where(path, data)}{words.removeprefix(str(path))}"


def export(args: argparse.Namespace) -> None:
    system_in(args.folder)  # refuses a folder that is none
    print(f"{give_away(args.folder, args.out)} files are in {args.out}")


def load(args: argparse.Namespace) -> None:
    from .streams.published import adopt  # and torch with it

    options = options_of(entry(args.system).options, args.option)
    for name in adopt(args.system, args.checkpoint, args.folder, **options):
        print(f"has no use: {name}")
    keep_command(args.folder, _described(args))
    write_model_card(args.folder)
    print(f"{args.folder}: holds the weights of {args.checkpoint}")


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


# By name: what runs, what it does, and its arguments, of which | means one of them.
PARSED: dict[str, tuple[Callable[[argparse.Namespace], None], str, str]] = {
    "list": (list_systems, "list the systems with their options, what they mean, and defaults", ""),
    "features": (
        features,
        "compute features of films; what is there already stays",
        "out --media --fps --vision-model --durations --clip-seconds --device",
    ),
    "train": (
        train,
        "train a system; a training that was broken off goes on",
        f"{VIDEOS} --system --examples|--annotations --validation --measure --option --query-features",
    ),
    "index": (index, "index the videos that are to be searched", f"{VIDEOS} --system --option --shard"),
    "check": (check, "look whether the index of a system is whole", "folder"),
    "search": (
        search,
        "rank the indexed moments for queries, as a run",
        "folder --queries --out --depth --encoder --query-features --device",
    ),
    "again": (
        again,
        "make a run again from its description: train, index and search",
        "description folder --out --data --device",
    ),
    "export": (export, "write a system into a zip file that can be given away", "folder out"),
    "load": (load, "make a trained system from a checkpoint of its authors", "folder --system --checkpoint --option"),
    "candidates": (
        candidates,
        "write the videos of a first stage, for systems of single videos",
        "first --queries --durations --videos --out --encoder --query-features --device",
    ),
    "rerank": (
        rerank_pairs,
        "rank what a system of single videos predicts for candidates",
        "--pairs --predictions --out --fusion --weight --depth --nms",
    ),
}
