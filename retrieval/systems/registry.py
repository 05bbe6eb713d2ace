"""The systems that there are, by name; a system's module, and torch with it, is imported when the system is made."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from retrieval.systems.errors import BadOption, SystemsError
from retrieval.systems.interface import CARD, System
from retrieval.systems.options import Contrastive, Mcn, Options, Prior, TefOnly, TwoStage, options_from
from retrieval.systems.storing import read_json
from retrieval.systems.streams.options import Conquer, Reloclnet, Streams


@dataclass(frozen=True)
class Entry:
    """A system, as far as it can be told without loading it.

    Attributes
    ----------
    title
        What people call it.
    at
        Its module and class, as `retrieval.systems.mcn:MCN`.
    options
        The class of its options; the fields' defaults are those that a form shows.
    needs
        What the videos must have besides durations: `clips`, `objects`, `subtitles`.
    learns
        Whether it must be trained.
    reads
        Whether it reads the words of queries.
    sees_objects
        Whether it uses detected objects, if the collection has them.
    differs
        In what it differs from its authors' code, in whole sentences; empty if nothing is known.
    """

    title: str
    at: str
    options: type[Options]
    needs: frozenset[str] = frozenset()
    learns: bool = True
    reads: bool = True
    sees_objects: bool = False
    differs: str = ""


HERE = "retrieval.systems"
CLIPS = frozenset({"clips"})
OTHER_BLOCKS = (
    "It differs from its authors’ code: each block has a feed-forward network, which theirs has not; places are sines, "
    "where theirs are learned; and no temporal endpoints are added to the features."
)
OTHER_LOSSES = (
    " Its query passes one encoder and not two, its clips two and not three, and so its contrastive losses compare "
    "other vectors. TVR-Ranking trains it with batches of 512 pairs; here they have 128 unless you say otherwise."
)
NOT_THEIRS = " Its scores are not those of the published system."
SYSTEMS = {
    "chance": Entry("Chance", f"{HERE}.chance:Chance", Options, learns=False, reads=False),
    "prior": Entry("Moment prior", f"{HERE}.prior:Prior", Prior, reads=False),
    "tef_only": Entry("TEF-only", f"{HERE}.mcn:TefOnly", TefOnly),
    "mcn": Entry("MCN", f"{HERE}.mcn:Mcn", Mcn, CLIPS),
    "stal_clips": Entry("STAL (clips)", f"{HERE}.stal_clips:StalClips", Contrastive, CLIPS),
    "stal": Entry("STAL (TEF)", f"{HERE}.stal:Stal", Contrastive, CLIPS, sees_objects=True),
    "two_stage": Entry(
        "STAL in two stages", f"{HERE}.two_stage:TwoStages", TwoStage, CLIPS, sees_objects=True
    ),
    "xml": Entry("XML", f"{HERE}.streams.xml:Xml", Streams, CLIPS, differs=OTHER_BLOCKS + NOT_THEIRS),
    "reloclnet": Entry(
        "ReLoCLNet",
        f"{HERE}.streams.reloclnet:Reloclnet",
        Reloclnet,
        CLIPS,
        differs=OTHER_BLOCKS + OTHER_LOSSES + NOT_THEIRS,
    ),
    "conquer": Entry("CONQUER", f"{HERE}.streams.conquer:Conquer", Conquer, CLIPS),
}


def entry(name: str) -> Entry:
    """Return what is known of the system of this name.

    Raises
    ------
    BadOption
        If there is none.
    """
    if name not in SYSTEMS:
        raise BadOption("system", repr(name), f"one of {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def system(name: str, folder: Path, **options: Any) -> System:
    """Make the system of this name, with the defaults for what is not given; torch is loaded if it needs it.

    Raises
    ------
    BadOption
        If there is no such system, or an option is wrong.
    """
    found = entry(name)
    values = options_from(found.options, options)
    module, _, attribute = found.at.partition(":")
    made: System = getattr(import_module(module), attribute)(values, folder)
    return made


def system_in(folder: Path) -> System:
    """Make the system whose folder this is.

    Raises
    ------
    SystemsError
        If it is none.
    """
    if not (folder / CARD).exists():
        raise SystemsError(f"{folder}: holds no system; train one there first")
    card = read_json(folder / CARD)
    return system(card["system"], folder, **card["options"])
