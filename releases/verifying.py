"""Verifying stored releases: the checks of `releases.checks` as a job, and the sample against the campaign's order."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from django.utils import timezone

from base.errors import ReeljudgeError
from campaigns.models import Campaign
from jobs.errors import JobPostponed
from jobs.registry import Report, kind
from judging import consensus
from judging.audit import INVARIANTS, INVARIANTS_OF_IMPORTED, Invariant
from releases import checks
from releases.archive import ReleaseArchive
from releases.checks import POOL, UNREADABLE, right_sample, verify
from releases.models import Release
from releases.publishing import parquet
from reports.models import Summary

FUTURE = "from __future__ import annotations\n"


def script() -> str:
    """Return `verify.py`: the checks, with the modules of ours that they import in place of these imports."""
    whole = inspect.getsource(checks)
    for module in (consensus, parquet):
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
        order = [places[each["query_id"]] or 0 for each in archive.records(POOL) if each["query_id"] in places]
        if release.estimates["sample"] and order != sorted(order):
            yield f"{POOL} does not have the order that the campaign's seed draws"


for invariants in (INVARIANTS, INVARIANTS_OF_IMPORTED):
    invariants.append(Invariant(15, "The sample of each release is the first queries of the order", samples))
