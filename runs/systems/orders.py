"""Asking for systems to be trained, searching a corpus with one that is trained, and removing one."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now

from base.errors import BadValue, Unfit, WrongState
from base.text import abbreviated
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Membership
from corpus.errors import CorpusError
from corpus.features import DESCRIPTOR, VISION, full_disks_pass, must_be_a_set
from corpus.models import Clip, Moment, Video
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from judging.pool.clips import clips_found, cut_for_search
from metrics import moment_id
from releases.training import DEEPEST
from runs.systems.models import SystemSearch, TrainedSystem
from runs.systems.training import queries_as_read, train_system, vision_model
from systems.data import Query
from systems.encoders import has_two_towers
from systems.errors import SystemsError
from systems.features.reader import FITS, STRICT
from systems.interface import SYSTEMS, Entry, System, entry

MOST_SEEDS = 20
SHORTEST, LONGEST = 0.1, 600.0  # seconds of a clip
LEARNED, ENCODER = "learned", "encoder"  # where the vectors of words come from
HITS = 10  # of a search
FORGOTTEN_AFTER = timedelta(days=7)


def lacks_model(kind: Entry) -> bool:
    """Return whether a system compares clips with texts, and the site has no model that does."""
    return kind.compares and not has_two_towers(settings.VISION_MODEL)


@dataclass(frozen=True)
class Wanted:
    """What somebody asks to be trained."""

    system: str  # its name in the registry
    name: str  # of its run; with several seeds, each run's name ends with the seed
    features: str  # with + between sets, and @ between one and the length of its clips
    clip_seconds: float = 1.0
    fit: str = STRICT
    unit_rows: bool = False
    depth: int = 20  # N, the number of moments of each query that it learns from
    seeds: Sequence[int] = (1,)
    options: dict[str, Any] = field(default_factory=dict)  # without the seed; the others keep their defaults
    # `learned` with the system, or those of the tokens by the campaign's `encoder`; none if it reads no words.
    word_vectors: str = LEARNED

    def faults(self, campaign: Campaign) -> dict[str, list[str]]:
        """Return all for which this cannot be trained, as far as can be told without reading features, by field."""
        found = defaultdict[str, list[str]](list)
        for name, wrong, right in (*self._wrong_options(), *self._wrong_fields(campaign)):
            found[name].append(f"{wrong}; expected {right}")
        try:
            must_be_a_set(campaign.corpus, self.features)
        except BadValue as fault:
            found["features"].append(fault.fault)
        return found

    def _wrong_options(self) -> Iterator[tuple[str, str, str]]:
        options = SYSTEMS[self.system].options if self.system in SYSTEMS else None
        if options is None:
            yield "system", abbreviated(self.system), f"one of {', '.join(SYSTEMS)}"
        elif "seed" in self.options:
            yield "seed", "among the options", "seeds beside them, one for each system"
        else:
            seeds = [fault for seed in self.seeds for fault in options.faults({"seed": seed})]
            for fault in (*options.faults(self.options), *seeds):
                yield "seeds" if fault.name == "seed" else fault.name, fault.found, fault.right

    def _wrong_fields(self, campaign: Campaign) -> Iterator[tuple[str, str, str]]:
        if not SHORTEST <= self.clip_seconds <= LONGEST:
            yield "clip_seconds", f"{self.clip_seconds:g}", f"{SHORTEST:g} to {LONGEST:g} seconds a clip"
        if self.fit not in FITS:
            yield "fit", abbreviated(self.fit), f"one of {', '.join(FITS)}"
        if self.features in (DESCRIPTOR, VISION) and (self.fit != STRICT or self.unit_rows):
            name = "unit_rows" if self.fit == STRICT else "fit"
            yield name, f"set for {self.features}, which is computed here", "it to be so for features from files alone"
        if len(self.features) > 100:
            yield "features", abbreviated(self.features), "at most 100 characters"
        if not 1 <= self.depth <= DEEPEST:
            yield "depth", str(self.depth), f"1 to {DEEPEST:,} moments for each query"
        if not 1 <= len(set(self.seeds)) == len(self.seeds) <= MOST_SEEDS:
            yield "seeds", f"{len(self.seeds)} of them", f"1 to {MOST_SEEDS} whole numbers, none twice"
        names = [self.named(seed) for seed in self.seeds]
        taken = campaign.runs.filter(name__in=names).exists() or campaign.systems.filter(name__in=names).exists()
        if taken or not all(0 < len(name) <= 100 for name in names):
            yield "name", abbreviated(self.name), "at most 100 characters that name no other run of the campaign"
        if self.word_vectors not in (LEARNED, ENCODER):
            yield "word_vectors", abbreviated(self.word_vectors), f"{LEARNED} or {ENCODER}"
        if self.word_vectors == ENCODER and not campaign.encoder:
            found = f"{ENCODER}, but no encoder has ranked candidates of campaign {campaign.name} yet"
            yield "word_vectors", found, f"{LEARNED}, or a campaign that is ranked"
        if self.system in SYSTEMS and lacks_model(SYSTEMS[self.system]):
            named = abbreviated(settings.VISION_MODEL) if settings.VISION_MODEL else "no model"
            found = f"{self.features}, and VISION_MODEL names {named}"
            right = "that setting to name a folder with the model that made them, and its text tower, such as CLIP’s"
            yield "features", found, right

    def stored_options(self, seed: int) -> dict[str, Any]:
        """Return the options that a row keeps: the seed, and those that are not the defaults."""
        defaults = {field.name: field.default for field in fields(entry(self.system).options)}
        named = {name: value for name, value in self.options.items() if value != defaults.get(name, value)}
        return named | {"seed": seed}

    def encoder(self, campaign: Campaign) -> str:
        """Return the encoder of token vectors, the text tower for a system that compares; empty if there is none."""
        if entry(self.system).compares:
            return vision_model()
        return campaign.encoder if self.word_vectors == ENCODER and entry(self.system).reads else ""

    def named(self, seed: int) -> str:
        return f"{self.name} {seed}" if len(self.seeds) > 1 else self.name


@all_or_nothing
def ask_to_train(member: Membership, wanted: Wanted) -> list[TrainedSystem]:
    """Ask for the jobs that train systems, one for each seed, and submit what they find as the member's runs.

    Raise Unfit with all that is wrong if something that is wanted cannot be, such as a name that another run has.
    """
    campaign = locked(Campaign.objects.filter(pk=member.campaign_id)).get()
    if faults := wanted.faults(campaign):
        raise Unfit(faults)
    last = campaign.systems.aggregate(last=Max("number"))["last"] or 0
    made = [_row(member, wanted, seed, last + n) for n, seed in enumerate(wanted.seeds, 1)]
    for row in made:
        row.save()
        ask_again(row)
    return made


def _row(member: Membership, wanted: Wanted, seed: int, number: int) -> TrainedSystem:
    same = {name: getattr(wanted, name) for name in ("system", "features", "clip_seconds", "fit", "unit_rows", "depth")}
    row = TrainedSystem(campaign=member.campaign, by=member, number=number, name=wanted.named(seed), **same)
    row.options, row.encoder = wanted.stored_options(seed), wanted.encoder(member.campaign)
    row.group = wanted.name if len(wanted.seeds) > 1 else ""
    return row


def ask_again(row: TrainedSystem) -> Job:
    """Ask for the job that trains a system, or goes on with it. Raise WrongState if its run was submitted already."""
    if row.is_submitted:
        raise WrongState("This system is trained, and its run is submitted.")
    return train_system.ask(row, by=row.by.user_id)


def system_for_typed_words(campaign: Campaign) -> TrainedSystem | None:
    """Return the system for typed searches: the newest that compares queries with clips, else the newest, or None."""
    rows = campaign.systems.exclude(trained=None).order_by("-number")
    comparing = [name for name, each in SYSTEMS.items() if each.compares]
    return rows.filter(system__in=comparing).first() or rows.first()


@all_or_nothing
def ask_to_search(row: TrainedSystem, text: str, by: Membership) -> SystemSearch:
    """Return the search of a text with a trained system; the first call asks for the job that finds the moments.

    Raise WrongState if the system is not trained yet.
    """
    if row.trained is None:
        raise WrongState("This system is not trained yet. Search with it once it is.")
    search, made = SystemSearch.objects.get_or_create(system=row, text=text)
    if made:
        search_with_system.ask(search, by=by.user_id)
        search_with_system.jobs(search).hurry()  # before trainings that have not begun
    return search


@all_or_nothing
def remove(row: TrainedSystem) -> None:
    """Remove a system with what it learned. A training under way ends; a run that was submitted stays.

    A worker that trains it stops at its next report. What it writes until then, `forget_folders` deletes.
    """
    train_system.jobs(row).delete()
    TrainedSystem.objects.filter(pk=row.pk).delete()
    transaction.on_commit(partial(shutil.rmtree, row.folder, ignore_errors=True))


@dataclass(frozen=True)
class Hit:
    """A moment that a system found, with the clip that shows it, if there is one."""

    video: str
    start: float
    end: float
    score: float
    clip: Clip | None

    @property
    def moment(self) -> str:
        """Its id in TREC files."""
        return moment_id(self.video, self.start, self.end)


@kind(
    "search-with-system",
    "Search with a system",
    lane=Lane.TRAINING,
    of=SystemSearch,
    owner="system.campaign",
    subject="{0.system}",
    page=("system", "system.campaign.name", "system.number"),
    by_members=True,
    refusals=(CorpusError, SystemsError),
)
@full_disks_pass()
def search_with_system(search: SystemSearch, report: Report) -> None:
    """Find the moments of a search, store them, and ask for their clips.

    Raise SystemsError if the system's files are not there any more, or the settings name another encoder than it was
    trained with.
    """
    if search.moments is not None:
        return
    row = search.system
    trained = str(row.trained)  # after a new index, the system is loaded anew
    queries = queries_as_read(row, [Query("typed", search.text)])
    run = _loaded(row.pk, trained).search(queries, HITS)
    search.moments = [
        [run.names[int(video)], round(float(start), 3), round(float(end), 3), float(score)]
        for video, start, end, score in zip(run.video, run.start, run.end, run.scores, strict=True)
    ]
    _store(search)


@lru_cache(maxsize=2)
def _loaded(pk: int, trained: str) -> System:
    """Return a system that keeps what it has read, for one search after the other."""
    return TrainedSystem.objects.get(pk=pk).made()


@all_or_nothing
def _store(search: SystemSearch) -> None:
    search.save(update_fields=["moments"])
    campaign = search.system.campaign
    clips = clips_found(moments := _moments(search), campaign)
    for moment in moments:
        clip = clips.get(moment.pk)
        if moment.video.media and not (clip and clip.is_ready):
            cut_for_search(moment, campaign)


def hits_of(search: SystemSearch, campaign: Campaign) -> list[Hit]:
    """Return the moments of a search that has ended, best first."""
    moments = _moments(search)
    clips = clips_found(moments, campaign)
    scores = [score for *_, score in search.moments or []]
    return [
        Hit(each.video.name, each.start, each.end, score, clips.get(each.pk))
        for each, score in zip(moments, scores, strict=True)
    ]


def _moments(search: SystemSearch) -> list[Moment]:
    """Return what was found as moments that are not stored, with their places as keys; the corpus describes others."""
    found = search.moments or []
    rows = Video.objects.filter(corpus=search.system.campaign.corpus_id, name__in=[video for video, *_ in found])
    videos = {row.name: row for row in rows}
    return [
        Moment(pk=place, video=videos[video], start=start, end=end)
        for place, (video, start, end, _) in enumerate(found)
    ]


@each_hour
def forget_searches() -> None:
    SystemSearch.objects.filter(made__lt=Now() - FORGOTTEN_AFTER).delete()
