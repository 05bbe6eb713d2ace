"""The one interface of systems (train, index, search), and the systems that there are, by name.

A system's module, and torch with it, is imported when the system is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from .data import Data, Query, Videos
from .errors import BadOption, SystemsError
from .library import Run
from .options import Conquer, Contrastive, Mcn, Options, Prior, Reloclnet, Sliding, Streams, TefOnly, TwoStage, ZeroShot
from .storage import known_json, read_json, write_json

CARD = "system.json"  # what a folder says about the system that is stored in it
FEATURES = "features.json"  # and about the files of features that it was trained on, and indexed


@dataclass(frozen=True)
class Progress:
    """How far a system is with its work.

    done, total: steps.
    text: what is done, for people.
    loss: mean loss since the last time; None if this is not training.
    validation: value of the validation's measure, if it was measured just now.
    """

    done: int
    total: int
    text: str
    loss: float | None = None
    validation: float | None = None


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Report to nobody."""


def part_of(report: Report, before: int, size: int, total: int, stage: str = "") -> Report:
    """Return a report for a part of the work, of so many steps, after others; its texts begin with `stage`."""

    def report_part(progress: Progress) -> None:
        done = before + size * progress.done // max(1, progress.total)
        report(replace(progress, done=done, total=total, text=f"{stage}{progress.text}"))

    return report_part


class System(ABC):
    """A system with its options and the folder that holds all it stores.

    A caller may make a new object of the same name, options and folder between any two calls, on any machine that
    has the folder. Work that was broken off, by whatever error, goes on from where it was stored last.

    options: an object of the class that the registry names for the system.
    folder: of this system alone; it is made when something is stored.
    Raises SystemsError if the folder holds another system, or one with other options.
    """

    name: ClassVar[str]

    def __init__(self, options: Options, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self._card = {"system": self.name, "options": asdict(options)}
        if (folder / CARD).exists() and _card_in(folder) != self._card:
            raise SystemsError(
                f"{folder}: holds another system, or one with other options; expected a folder of its own"
            )

    def keep_card(self) -> None:
        """Make the folder, and say in it what system this is; `train` and `index` begin with it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / CARD, self._card)

    @abstractmethod
    def train(self, data: Data, report: Report = silent) -> None:
        """Learn from the examples, and store what was learned. A training that is done is not done again.

        Raises SystemsError if the data lack what the system needs, or the loss is not a number any more.
        """

    @abstractmethod
    def index(self, videos: Videos, report: Report = silent) -> None:
        """Store what a search of these videos needs; it replaces the index that was there."""

    @abstractmethod
    def check_index(self) -> None:
        """Look whether the stored index is whole: by the checksums that its files have, else by their sizes.

        Raises SystemsError if there is none, a file of it is missing or is not as it was written, or its files do not
        fit together.
        """

    def finds(self) -> str:
        """Return what a search of the stored index finds of what is nearest to a query; empty if it misses nothing."""
        return ""

    @abstractmethod
    def search(self, queries: Sequence[Query], depth: int = 100, report: Report = silent) -> Run:
        """Return the best moments of the indexed videos for each query, best first, `depth` of them at most.

        Raises SystemsError if nothing was trained or indexed before, or there is no query.
        """


@dataclass(frozen=True)
class Entry:
    """A system, as far as it can be told without loading it.

    title: what people call it.
    at: its module and class, as `neural.stal:Mcn`.
    options: the class of its options; the fields' defaults are those that a form shows.
    needs: what the videos must have besides durations: `clips`, `objects`, `subtitles`.
    learns: whether it must be trained.
    reads: whether it reads the words of queries.
    compares: whether it compares queries with clips by vectors of one model, and so needs that model for queries.
    sees_objects: whether it uses detected objects, if the collection has them.
    differs: in what it differs from its authors' code, in whole sentences; empty if nothing is known.
    """

    title: str
    at: str
    options: type[Options]
    needs: frozenset[str] = frozenset()
    learns: bool = True
    reads: bool = True
    compares: bool = False
    sees_objects: bool = False
    differs: str = ""


CLIPS = frozenset({"clips"})
PADDING = (
    "It is that of its authors’ code, with one difference: they pad videos, and what is computed of padding counts in "
    "the last clips; the option padded does so too. With another corpus and other features its scores are not those "
    "that were published."
)
CONQUERS_FIRST = "Its first stage is a ReLoCLNet; its authors took another system’s results. "
SYSTEMS = {
    "chance": Entry("Chance", "exhaustive:Chance", Sliding, learns=False, reads=False),
    "prior": Entry("Moment prior", "exhaustive:Prior", Prior, reads=False),
    "zero_shot": Entry("Zero-shot", "clips.zero_shot:ZeroShot", ZeroShot, CLIPS, learns=False, compares=True),
    "tef_only": Entry("TEF-only", "neural.stal:TefOnly", TefOnly),
    "mcn": Entry("MCN", "neural.stal:Mcn", Mcn, CLIPS),
    "stal_clips": Entry("STAL (clips)", "neural.stal:StalClips", Contrastive, CLIPS),
    "stal": Entry("STAL (TEF)", "neural.stal:Stal", Contrastive, CLIPS, sees_objects=True),
    "two_stage": Entry("STAL in two stages", "clips.two_stage:TwoStages", TwoStage, CLIPS, sees_objects=True),
    "xml": Entry("XML", "streams.two_streams:Xml", Streams, CLIPS, differs=PADDING),
    "reloclnet": Entry("ReLoCLNet", "streams.two_streams:Reloclnet", Reloclnet, CLIPS, differs=PADDING),
    "conquer": Entry("CONQUER", "streams.conquer:Conquer", Conquer, CLIPS, differs=CONQUERS_FIRST + PADDING),
}


def entry(name: str) -> Entry:
    """Return what is known of the system of this name. Raises BadOption if there is none."""
    if name not in SYSTEMS:
        raise BadOption("system", repr(name), f"one of {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def system(name: str, folder: Path, **options: Any) -> System:
    """Make the system of this name, with defaults for other options. Raises BadOption for a wrong name or option."""
    found = entry(name)
    module, _, attribute = found.at.partition(":")
    made: System = getattr(import_module(f".{module}", __package__), attribute)(found.options.of(options), folder)
    return made


def system_in(folder: Path) -> System:
    """Make the system whose folder this is. Raises SystemsError if it is none."""
    if not (folder / CARD).exists():
        raise SystemsError(f"{folder}: holds no system; train one there first")
    card = _card_in(folder)
    return system(card["system"], folder, **card["options"])


def keep_features(folder: Path, use: str, videos: Videos) -> None:
    """Store in a system's folder what is known of files of features. `use` is `train` or `index`."""
    write_json(folder / FEATURES, features_in(folder) | {use: [each._asdict() for each in videos.features]})


def features_in(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what is known of the files of features that a system was trained on, and indexed; empty if nothing is."""
    return known_json(folder / FEATURES)


def in_words(features: Mapping[str, Any]) -> str:
    """Return what is known of a file of features, as a run's description tells it."""
    missing = f", {len(features['missing']):,} videos missing" if features["missing"] else ""
    return (
        f"{features['file']}: SHA-256 {features['sha256']}, {features['videos']:,} videos{missing}, "
        f"{features['clips']:,} clips of {features['width']:,}, mean {features['mean']:.4g}, "
        f"deviation {features['deviation']:.4g}"
    )


def _card_in(folder: Path) -> Any:
    """Return the card of a folder, without retired options. Raises SystemsError if it has other options."""
    card = read_json(folder / CARD)
    kind = entry(card["system"])
    card["options"] = kind.options.known(card["options"])
    if card["options"].keys() != {field.name for field in fields(kind.options)}:
        raise SystemsError(
            f"{folder}: holds a {kind.title} of an earlier version, which had other options; "
            "train it again, in a folder of its own"
        )
    return card
