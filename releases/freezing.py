"""Freezing a release: a campaign's state at one instant, written into a zip whose bytes depend on nothing else.

The zip holds no clock time and no key of the database. Another database with the same campaign writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, prefetch_related_objects
from django.utils import timezone

from base.errors import BadValue
from base.transactions import locked, snapshot
from campaigns.events import Happened, tell
from campaigns.models import Campaign, LogEntry, Membership, log
from corpus.stored_files import store
from jobs.registry import Report, kind
from judging.consensus import LEAST_OVERLAP, RULE
from judging.models import Judgement
from metrics.formats.files import FORMAT
from releases.checks import MANIFEST
from releases.contents import estimates, parts, pool_of, scope_of
from releases.data_card import LICENCES, counted
from releases.exports import ExportScope, by_query
from releases.models import Release
from releases.publishing.hub import splits_of
from releases.publishing.methods import agreement_of, cost, protocol
from releases.publishing.signing import SignedRelease, key_is_set, signature_of
from reports.statistics.arrays import Read
from systems.storage import digest

LONGEST_NOTES = 20_000  # characters
LONGEST = {"contact": 200, "language": 20, "films": 500}  # characters
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")  # a tag of BCP 47
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold; files in releases have no other time
AT_ONCE = 1 << 16  # bytes
# What writing sets.
WRITTEN = ("state", "file", "sha256", "signature", "size", "counts", "estimates", "unfinished", "contributions", "at")


@transaction.atomic
def freeze(
    campaign: Campaign,
    lead: Membership,
    licence: str,
    notes: str = "",
    *,
    with_finished: bool = False,
    with_unfinished: bool = False,
    contact: str = "",
    language: str = "",
    films: str = "",
    baselines: Collection[int] = (),
) -> Release:
    """Make the campaign's next release, and ask for the job that writes it. Judging goes on meanwhile.

    While a release that was asked for in the same way is being written, that one is returned, and no other is made.
    It holds the queries up to the frontier: with `with_finished` also those that are finished beyond it, and with
    `with_unfinished` all, as they are. `contact`, `language` and `films` are for its data card, and so are the
    scores of `baselines`, which are numbers of runs. Raise BadValue if the licence is unknown, a text is too long, the
    language is not a code, or a run cannot be a baseline.
    """
    if licence not in LICENCES:
        raise BadValue("licence", licence[:40] or "nothing", f"one of {', '.join(LICENCES)}")
    if len(notes) > LONGEST_NOTES or "\0" in notes:
        raise BadValue("notes", f"{len(notes):,} characters", f"at most {LONGEST_NOTES:,}, without NUL")
    about = {"contact": contact.strip(), "language": language.strip(), "films": films.strip()}
    for name, text in about.items():
        if len(text) > LONGEST[name] or not text.isprintable():
            raise BadValue(name, f"{len(text):,} characters", f"one line of at most {LONGEST[name]}")
    if about["language"] and not LANGUAGE.fullmatch(about["language"]):
        raise BadValue("language", about["language"], "a code such as en or zh-Hans")
    if baselines:
        _check_baselines(campaign, baselines)
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    newest = campaign.releases.order_by("version").last()
    wanted = {"licence": licence, "notes": notes.strip(), "date": timezone.localdate(), **about}
    wanted |= {"with_finished": with_finished, "with_unfinished": with_unfinished, "baselines": sorted(set(baselines))}
    release = campaign.releases.filter(state=Release.State.MAKING, **wanted).first()
    if release is None:
        version = newest.version + 1 if newest else 1
        release = Release.objects.create(campaign=campaign, version=version, by=lead, **wanted)
        log(lead, LogEntry.Kind.RELEASE, f"release {version}", after=licence)
    freeze_release.ask(release)
    return release


def _check_baselines(campaign: Campaign, baselines: Collection[int]) -> None:
    """Raise BadValue for a run that is private or not there, and while a split is held back."""
    if campaign.held_back:
        raise BadValue("baselines", "runs", f"none, because scores on the split {campaign.held_back} are held back")
    private = campaign.runs.model.Visibility.PRIVATE
    known = set(campaign.runs.exclude(visibility=private).values_list("number", flat=True))
    if strange := sorted(set(baselines) - known):
        raise BadValue("baselines", f"run {strange[0]}", "runs of this campaign that are not private")


@dataclass
class Progress:
    """How many files of the release are written, and the name of the present one."""

    done: int = 0
    total: int = 1
    name: str = ""


@kind(
    "freeze-release",
    "Freeze a release",
    of=Release,
    owner="campaign",
    subject="release {0.version}",
    page=("releases", "campaign.name"),
)
def freeze_release(release: Release, report: Report) -> None:
    """Write the release's zip and store it. If the release is ready, nothing changes."""
    if release.state == Release.State.READY:
        return
    # Now, because the thread below reads by another connection.
    prefetch_related_objects([release], "campaign__corpus")
    with tempfile.TemporaryDirectory() as folder:
        file, progress = Path(folder) / "release.zip", Progress()
        # A thread reads the rows in one snapshot. This thread's connection reports the progress meanwhile.
        with ThreadPoolExecutor(1) as reader:
            written = reader.submit(_read_and_write, release, file, progress)
            while not written.done():
                with suppress(TimeoutError):
                    written.result(timeout=0.5)
                report(progress.done, progress.total, progress.name)
            written.result()
            report(progress.total, progress.total)
        release.sha256, release.size = digest(file), file.stat().st_size
        name = f"releases/{release.campaign.name}-v{release.version}-{release.sha256[:12]}.zip"
        release.file.name = store(name, file).name
        if key_is_set():
            before = release.campaign.releases.filter(version__lt=release.version).newest()
            about = (release.campaign.name, str(release.version), release.sha256, before.sha256 if before else "")
            release.signature = signature_of(file, SignedRelease(*about))
    _publish(release)


def _publish(release: Release) -> None:
    """Mark the release as ready, unless another worker, which had been given up, was faster."""
    release.state = Release.State.READY
    written = {name: getattr(release, name) for name in WRITTEN}
    with transaction.atomic():
        mine = Release.objects.filter(pk=release.pk, state=Release.State.MAKING).update(**written)
        if mine:
            tell(release.campaign_id, Happened.RELEASE_FROZEN, version=release.version, sha256=release.sha256)
    if not mine:
        storage, name = release.file.storage, release.file.name
        release.refresh_from_db()
        if name and name != release.file.name:  # A store that replaces files has one file for the same bytes.
            storage.delete(name)


def _read_and_write(release: Release, file: Path, progress: Progress) -> None:
    try:
        with snapshot(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            scope = scope_of(release)
            release.at, release.counts, release.estimates = timezone.now(), counted(scope), estimates(scope)
            release.unfinished, release.contributions = _unfinished(release.campaign), _contributions(scope)
            pool = pool_of(scope)
            about, files = _manifest(release, scope, pool), dict[str, dict[str, Any]]()
            wanted, folder = parts(release, about, pool, files), f"{about['campaign']}-v{about['version']}/"
            for number, part in enumerate(wanted):
                progress.done, progress.total, progress.name = number, len(wanted), part.name
                if content := _written(archive, folder + part.name, part.lines()):
                    files[part.name] = content
            _written(archive, folder + MANIFEST, iter([json.dumps(about | {"files": files}, indent=2) + "\n"]))
    finally:
        connection.close()  # this thread's own


def _unfinished(campaign: Campaign) -> list[str]:
    """Return the ids of the queries that are not finished: not closed, or without a batch yet."""
    pool = campaign.queries.pool()
    rows = pool.exclude(pk__in=pool.finished().order_by().values("pk")).order_by(*by_query())
    return list(rows.values_list("query_id", flat=True))


def _contributions(scope: ExportScope) -> dict[str, int]:
    """Return how many judgements of each annotator, by primary key, the consensus made final grades of."""
    behind = Judgement.objects.filter(candidate__in=scope.candidates.settled(), seat__isnull=False).order_by()
    return {str(annotator): n for annotator, n in behind.values_list("annotator").annotate(n=Count("pk"))}


def _written(archive: zipfile.ZipFile, name: str, lines: Iterator[str | bytes]) -> dict[str, Any] | None:
    """Stream a file into the zip, and return its length and checksum; an empty one is left out."""
    pieces = _gathered(lines)
    if (first := next(pieces, None)) is None:
        return None
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
    checksum, size = hashlib.sha256(), 0
    with archive.open(entry, "w", force_zip64=True) as out:
        for piece in chain([first], pieces):
            checksum.update(piece)
            size += len(piece)
            out.write(piece)
    return {"sha256": checksum.hexdigest(), "bytes": size}


def _gathered(lines: Iterator[str | bytes]) -> Iterator[bytes]:
    """Gather the lines into larger pieces, because each write has a cost."""
    piece = bytearray()
    for line in lines:
        piece += line.encode() if isinstance(line, str) else line
        if len(piece) >= AT_ONCE:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def _source(campaign: Campaign) -> dict[str, Any]:
    """Return what the manifest says of the campaign whose grades are reused, with its newest release, if any."""
    newest = campaign.releases.newest()
    known = {"release": newest and newest.version, "sha256": newest and newest.sha256}
    return {"campaign": campaign.name, "title": str(campaign), "least_overlap": LEAST_OVERLAP} | known


def _manifest(release: Release, scope: ExportScope, pool: Read) -> dict[str, Any]:
    """Return the manifest without its list of files."""
    campaign = release.campaign
    return {
        "format": FORMAT,
        "campaign": campaign.name,
        "title": str(campaign),
        "version": release.version,
        "licence": release.licence,
        "licence_url": LICENCES[release.licence][1],
        "date": release.date and release.date.isoformat(),
        **{name: text for name in ("contact", "language", "films") if (text := getattr(release, name))},
        "corpus": campaign.corpus.name,
        "encoder": campaign.encoder,
        **({"selection": campaign.selection} if campaign.selection else {}),
        "consensus": {"rule": RULE, "tolerance": campaign.tolerance},
        "guideline": None if campaign.imported else campaign.guideline.version,
        "imported": campaign.imported is not None,
        **({"reused": _source(campaign.reuses)} if campaign.reuses and release.counts["pairs"]["reused"] else {}),
        "rounds_known": campaign.rounds_known,
        "estimates": release.estimates,
        "unfinished": {"held": release.with_unfinished, "queries": release.unfinished},
        "counts": release.counts,
        "splits": splits_of(scope),
        "protocol": protocol(campaign),
        "agreement": agreement_of(campaign, pool),
        "cost": cost(scope),
    }
