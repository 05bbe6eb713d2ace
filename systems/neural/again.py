"""Making a run again from the description that a search wrote beside it: by the same commands, in another folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..encoders import BUNDLED
from ..errors import SystemsError
from ..features.reader import FeatureSet
from ..interface import features_in
from ..storage import digest, read_json
from .description import checksum, description_of

# The files that commands name, besides features.
INPUTS = (
    *("durations", "objects", "examples", "annotations", "validation", "checkpoint", "queries"),
    *("query_features", "encoder"),
)
COMMANDS = ("train", "load", "index", "search")  # in this order
Parse = Callable[[list[str]], argparse.Namespace]
Do = Callable[[argparse.Namespace], None]


def make_again(args: argparse.Namespace, parse: Parse, do: Do) -> str:
    """Train, index and search as a description says, and return the SHA-256 of the run.

    args: of the command `again`: description, folder, out, data and device.
    parse, do: read the words of a command, and run it.
    Raises SystemsError if the folder is there already, or a file or the run is another than that of the description.
    """
    about = read_description(args.description)
    if args.folder.exists():
        raise SystemsError(f"{args.folder}: is there already; expected a new folder")
    for name in COMMANDS:
        if name in about["commands"]:
            do(_moved(args, name, about["commands"][name], parse))
            must_be_the_same(about, args.folder, name)
    found = digest(args.out)
    must_be_the_same(about, args.folder, "search", found, str(args.out))
    return found


def must_be_the_same(about: dict[str, Any], folder: Path, use: str, run: str = "", out: str = "") -> None:
    """Raise SystemsError if the features that a system was made of, or its run, are others than those of a description.

    use: `train` or `index`, for which features were read.
    run, out: the SHA-256 of the run, once it is made, and where it is.
    """
    sums = {each["file"]: each["sha256"] for each in about["features"].get(use, [])}
    for each in features_in(folder).get(use, []):
        if each["sha256"] != sums.get(each["file"], each["sha256"]):
            raise SystemsError(f"{each['file']}: has SHA-256 {each['sha256']}; expected {sums[each['file']]}")
    if run != about["run"] and out:
        same = description_of(folder)["weights"] == about["weights"]
        raise SystemsError(
            f"{out}: differs from the run of the description: SHA-256 {run}; expected {about['run']}. The weights are "
            f"{'the same' if same else 'others'}; equal ones need the same kind of processor, as many threads, and the "
            "same version of torch"
        )


def _moved(args: argparse.Namespace, name: str, command: dict[str, Any], parse: Parse) -> argparse.Namespace:
    """Return one command of a description for another folder, with the files where they are now."""
    words = command["words"] if name == "load" else [*command["words"], "--device", args.device or command["device"]]
    if words[:1] != [name]:
        raise SystemsError(f"{args.description}: {name}: {words[0]!r}; expected the command of this name")
    found = parse(words)
    moved = {str(found.folder): str(args.folder)}
    found.folder = args.folder
    for each in INPUTS:
        if (path := getattr(found, each, None)) and path != BUNDLED:
            where = _where(Path(path), args.data)
            if str(path) in command["files"] and checksum(where) != command["files"][str(path)]:
                raise SystemsError(f"{where}: is another file than the one of the description, by its SHA-256")
            moved[str(path)] = str(where)
            setattr(found, each, type(path)(where))
    if hasattr(found, "clips"):
        moved |= {each: _set_where(each, args.data) for each in (*found.clips, found.subtitles) if each}
        found.clips, found.subtitles = [moved[each] for each in found.clips], moved.get(found.subtitles)
    if name == "search":
        moved[str(found.out)] = str(args.out)
        found.out = args.out
    found.words = [moved.get(each, each) for each in words]
    return found


def _where(path: Path, data: Path | None) -> Path:
    return data / path.name if data and not path.exists() and (data / path.name).exists() else path


def _set_where(words: str, data: Path | None) -> str:
    path = FeatureSet.of(words).path
    return f"{_where(path, data)}{words.removeprefix(str(path))}"


def read_description(file: Path) -> dict[str, Any]:
    """Return a run's description. Raises SystemsError if it is none, or does not say by which commands it was made."""
    try:
        about = read_json(file)
        for command in about["commands"].values():
            words, files = command["words"], command["files"]
            if not all(isinstance(each, str) for each in (*words, *files, *files.values(), command["device"])):
                raise TypeError
        texts = [about["run"], *(each["sha256"] for features in about["features"].values() for each in features)]
        if not {"index", "search"} <= about["commands"].keys() or not all(isinstance(each, str) for each in texts):
            raise KeyError
        if about["weights"] and not {"train", "load"} & about["commands"].keys():
            raise SystemsError(f"{file}: does not say how the system was trained, because it came from elsewhere")
    except SystemsError as fault:
        raise SystemsError(str(fault).replace("; train or index the system again", "")) from fault
    except (KeyError, TypeError, AttributeError) as fault:
        raise SystemsError(
            f"{file}: does not say by which commands the run was made; expected what a search wrote beside its run"
        ) from fault
    return dict(about)
