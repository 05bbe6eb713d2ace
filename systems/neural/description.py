"""What a trained system was made of: the description of its runs, by which they are made again, its model card, and the
file in which it is given away. Importing this loads no torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ..errors import SystemsError
from ..interface import CARD, FEATURES, SYSTEMS, features_in, in_words
from ..storage import digest, digest_of, known_json, read_json, write, write_json
from .device import device

MODEL, NETWORK, CURVE = "model.safetensors", "network.json", "curve.json"
LEARNED = (MODEL, "prior.npz", "lengths.json")  # what holds what a system has learned
COMMANDS = "commands.json"  # by which a system was made, on this machine
LEARNED_FROM = "learned_from.json"  # what else a system was trained on than features
README = "README.md"
GIVEN = {CARD, FEATURES, CURVE, NETWORK, README, *LEARNED}  # of a folder, to others
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of files that are given away, so that equal systems are equal files
ENDING = ".description.json"


def description_of(folder: Path) -> dict[str, Any]:
    """Return what describes a trained system: name, options, features, SHA-256 of weights, device and validation."""
    card = read_json(folder / CARD)
    curve = next((known_json(file) for file in _files(folder, [CURVE])), {})
    return {
        "system": card["system"],
        "options": card["options"],
        "features": features_in(folder),
        "weights": {str(file.relative_to(folder)): digest(file) for file in _files(folder, LEARNED)},
        "trained_on": curve.get("device"),
        "measure": curve.get("measure"),
        "validation_videos": curve.get("videos"),
        "validation": max((value for _, value in curve.get("validations", [])), default=None),
    }


def in_a_line(folder: Path, **more: Any) -> str:
    """Return the description of a run made by this process as one line of JSON, with more that it was made of."""
    about = description_of(folder)
    about["features"] = {
        use: {each["file"]: each["sha256"] for each in files} for use, files in about["features"].items()
    }
    return json.dumps(about | {"searched_on": device().type} | more, ensure_ascii=False)


def among_in_words(videos: Sequence[int]) -> str:
    """Return over how many videos of how many a system was validated."""
    some, every = videos
    return f"{some:,} of {every:,} videos, drawn by the seed beside those that answer" if some < every else "all videos"


def _files(folder: Path, names: Iterable[str]) -> list[Path]:
    """Return the files of these names in a system's folder, and then in those of its stages."""
    return [file for pattern in ("", "*/") for name in names for file in sorted(folder.glob(f"{pattern}{name}"))]


def is_learned(folder: Path) -> bool:
    """Return whether a folder, or that of a stage, holds something that was learned to the end."""
    return bool(_files(folder, LEARNED))


def keep_command(folder: Path, command: dict[str, Any]) -> None:
    """Store in a system's folder a command by which it is made, by its name: words, SHA-256 of files, and device."""
    write_json(folder / COMMANDS, known_json(folder / COMMANDS) | command)


def keep_learned_from(folder: Path, about: dict[str, Any]) -> None:
    """Store in a system's folder what it is trained on, beside features."""
    write_json(folder / LEARNED_FROM, about)


def learned_from(folder: Path) -> dict[str, Any]:
    """Return what a system was trained on, beside features; nothing if that is not known."""
    return known_json(folder / LEARNED_FROM)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, or of a folder's files with their names. Raises SystemsError."""
    try:
        if not path.is_dir():
            return digest(path)
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return digest_of({str(file.relative_to(path)): file for file in files})
    except OSError as fault:
        raise SystemsError(f"{path}: cannot be read ({fault.strerror})") from fault


def write_model_card(folder: Path) -> None:
    """Write README.md into a system's folder: what it is, what it was trained on, and how to search with it."""
    content = model_card(folder).encode()
    write(folder / README, lambda out: out.write(content))


def model_card(folder: Path) -> str:
    """Return the model card of a system as Markdown."""
    about, entry = description_of(folder), SYSTEMS[read_json(folder / CARD)["system"]]
    words = known_json(folder / COMMANDS).get("train", {}).get("words", [])
    encoder = words[words.index("--encoder") + 1] if "--encoder" in words[:-1] else ""
    trained = [in_words(each) for each in about["features"].get("train", [])]
    measured = f"{about['measure']} = {about['validation']:.4f}" if about["validation"] is not None else "none"
    measured += f" over {among_in_words(among)}" if (among := about["validation_videos"]) and among[0] else ""
    options = [f"- {name}: {value}" for name, value in about["options"].items()]
    weights = [f"- `{name}`: {sha}" for name, sha in about["weights"].items()]
    lines = [
        *("---", "library_name: reeljudge", "tags: [video-moment-retrieval]", "---"),
        *(f"# {entry.title}", "", f"A system that ranks moments of videos for a query. {entry.differs}".strip(), ""),
        *(f"- System: `{about['system']}` of Reeljudge", f"- Seed: {about['options']['seed']}"),
        *(f"- Trained on: {about['trained_on'] or 'no device'}", f"- Validation: {measured}"),
        *(f"- Vectors of words: {Path(encoder).name or 'learned, or from files'}", ""),
        *("## Features", "", *(f"- {each}" for each in trained or ["It is not known from which files they came."]), ""),
        *("## Options", "", *options, "", "## SHA-256 of what was learned", "", *weights, "", "## Search with it", ""),
        "Index videos that have features by the same extractor, and search them:",
        *("", "```sh"),
        "reeljudge systems index FOLDER --durations durations.json --clips features.h5 --clip-seconds SECONDS",
        "reeljudge systems search FOLDER --queries queries.jsonl --out run.json",
        *("```", ""),
    ]
    return "\n".join(lines)


def give_away(folder: Path, out: Path) -> int:
    """Write a system without its index into a zip file, and return how many files it has. Raises SystemsError."""
    if not is_learned(folder):
        raise SystemsError(f"{folder}: nothing was learned; train the system first")
    write_model_card(folder)
    files = _files(folder, sorted(GIVEN))

    def fill(stored: BinaryIO) -> None:
        with ZipFile(stored, "w", ZIP_DEFLATED) as zipped:
            for file in files:
                info = ZipInfo(file.relative_to(folder).as_posix(), EPOCH)
                info.compress_type, info.external_attr = ZIP_DEFLATED, 0o644 << 16
                zipped.writestr(info, file.read_bytes())

    write(out, fill)
    return len(files)


def beside(run: Path) -> Path:
    """Return the file of a run's description: `run.description.json` for `run.json`."""
    return run.with_name(run.stem + ENDING)


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
