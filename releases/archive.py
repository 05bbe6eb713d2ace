"""A release's zip: reading it without trusting it, and verifying it, as a job and against the campaign's order."""

from __future__ import annotations

import inspect
import zipfile
from collections.abc import Iterator
from io import SEEK_END
from pathlib import Path
from typing import IO, Any

from django.utils import timezone

from base.errors import ReeljudgeError
from base.text import abbreviated
from campaigns.models import Campaign
from jobs.errors import JobPostponed
from jobs.registry import Report, kind
from judging import consensus
from judging.audit import INVARIANTS, INVARIANTS_OF_IMPORTED
from metrics import MeasureError
from metrics.formats.files import FORMAT, check_packed, root_of
from metrics.formats.json_reader import read_json
from releases import checks, stated
from releases.checks import AT_ONCE, MANIFEST, POOL, UNREADABLE, Reader, checksum_of, right_sample, verify
from releases.models import Release
from releases.publishing import parquet
from reports.models import Summary

FUTURE = "from __future__ import annotations\n"
LARGEST_MANIFEST = 2**20
FROZEN = "The file in the store is the one that was frozen"
# The fields of the manifest that are needed, by their types.
FIELDS: dict[str, type] = {
    "campaign": str,
    "version": int,
    "imported": bool,
    "consensus": dict,
    "counts": dict,
    "files": dict,
}


class ReleaseArchive(Reader):
    """A release's zip, opened for reading.

    Raise ReeljudgeError if the file is no zip, is broken, unpacks to more than 4 GiB or 40 times its size, or is no
    release of a known format.
    """

    def __init__(self, file: Path | IO[bytes]) -> None:
        super().__init__()
        self.file = file if isinstance(file, Path) else "the release"
        try:
            self.archive = zipfile.ZipFile(file)
            check_packed(self.archive, file.stat().st_size if isinstance(file, Path) else file.seek(0, SEEK_END))
            self.manifest = self._manifest()
        except OSError as fault:
            raise ReeljudgeError(f"{file}: cannot be read ({fault.strerror}); expected a release") from fault
        except MeasureError as fault:
            raise ReeljudgeError(f"{self.file}: {fault}") from fault
        except UNREADABLE as fault:
            raise ReeljudgeError(f"{file}: not a zip that can be read ({fault}); expected a release") from fault

    def _manifest(self) -> dict[str, Any]:
        self.root = root_of(self.archive.namelist())
        entries = {self._within(entry.filename): entry for entry in self.archive.infolist()}
        if MANIFEST not in entries or entries[MANIFEST].file_size > LARGEST_MANIFEST:
            raise ReeljudgeError(f"{self.file}: holds no {MANIFEST}; expected a release")
        try:
            manifest = read_json(self.read(MANIFEST))
        except (MeasureError, RuntimeError) as fault:
            raise ReeljudgeError(f"{self.file}: {MANIFEST} is not JSON ({fault})") from fault
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ReeljudgeError(f"{self.file}: {MANIFEST} does not say format {FORMAT}")
        for field, wanted in FIELDS.items():
            if type(manifest.get(field)) is not wanted:
                found = abbreviated(manifest.get(field))
                raise ReeljudgeError(f"{self.file}: {MANIFEST}: {field}: {found}; expected {wanted.__name__}")
        return manifest

    @property
    def names(self) -> list[str]:
        return [self._within(name) for name in self.archive.namelist()]

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each file, unpacked."""
        return {self._within(entry.filename): entry.file_size for entry in self.archive.infolist()}

    def _within(self, name: str) -> str:
        """Return the name of a file within the release's folder; what is not in the folder keeps its name."""
        return name.removeprefix(self.root)

    def opened(self, name: str) -> IO[bytes]:
        return self.archive.open(self.root + name)

    def read(self, name: str) -> bytes:
        """Return the content of a file; an empty one is left out of a release."""
        if name not in self.names:
            return b""
        with self.opened(name) as content:
            return content.read()

    def parsed(self, text: str) -> Any:
        return read_json(text)


def script() -> str:
    """Return `verify.py`: the checks, with the modules of ours that they import in place of these imports."""
    whole = inspect.getsource(checks)
    for module in (consensus, parquet, stated):
        line = next(line for line in whole.splitlines() if line.startswith(f"from {module.__name__} import"))
        whole = whole.replace(line, inspect.getsource(module).split(FUTURE)[1].strip() + "\n")
    return whole


@kind(
    "verify-release",
    "Verify a release",
    of=Release,
    owner="campaign",
    subject="release {0.version}",
    page=("releases", "campaign.name"),
)
def verify_release(release: Release, report: Report) -> None:
    """Verify a release's file in the store, and keep what was found, with the time."""
    report(0, 1, "reading the release")
    try:
        with release.file.open("rb") as content:
            found = verify(ReleaseArchive(content))
            content.seek(0)
            sha256, _ = checksum_of(iter(lambda: content.read(AT_ONCE), b""))
        found[FROZEN] = [] if sha256 == release.sha256 else [f"SHA-256 is {sha256}, not {release.sha256}"]
    except ReeljudgeError as fault:
        found = {"the release can be read": [str(fault)]}
    except OSError as fault:
        raise JobPostponed(str(fault)) from fault
    Summary.objects.update_or_create(
        campaign_id=release.campaign_id, name=_kept_as(release), defaults={"made": timezone.now(), "counts": found}
    )
    report(1, 1)


def last_verified(release: Release) -> Summary | None:
    """Return what the last verification found; its counts have the faults of each check that ran."""
    return Summary.objects.filter(campaign=release.campaign_id, name=_kept_as(release)).first()


def _kept_as(release: Release) -> str:
    return f"release {release.version} verified"


def samples(campaign: Campaign) -> Iterator[str]:
    """Compare the file of each release with the campaign's order, as far as the release has a sample."""
    places = dict(campaign.queries.ranked_population().values_list("query_id", "place"))
    for release in campaign.releases.filter(state=Release.State.READY).order_by("version"):
        if release.estimates:
            try:
                yield from (f"release {release.version}: {fault}" for fault in _faults_of_sample(release, places))
            except (ReeljudgeError, *UNREADABLE) as fault:
                yield f"release {release.version} cannot be read: {fault}"


def _faults_of_sample(release: Release, places: dict[str, float | None]) -> Iterator[str]:
    with release.file.open("rb") as content:
        archive = ReleaseArchive(content)
        if archive.manifest.get("estimates") != release.estimates:
            yield "its manifest says something else of the sample than the database"
            return
        yield from right_sample(archive)
        # Queries that were withdrawn since, or brought back, change nothing in the order of the others.
        order = [places[record["query_id"]] or 0 for record in archive.records(POOL) if record["query_id"] in places]
        if release.estimates["sample"] and order != sorted(order):
            yield f"{POOL} does not have the order that the campaign's seed draws"


for invariants in (INVARIANTS, INVARIANTS_OF_IMPORTED):
    invariants["The sample of each release is the first queries of the order"] = samples
