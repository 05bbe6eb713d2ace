"""What the audit checks of a campaign's releases: that the sample of each is what it says."""

from __future__ import annotations

from collections.abc import Iterator

from base.errors import ReeljudgeError
from campaigns.models import Campaign
from judging.audit import INVARIANTS, INVARIANTS_OF_IMPORTED, Invariant
from releases.archive import UNREADABLE, ReleaseArchive
from releases.models import Release
from releases.sample import POOL
from releases.verifying import right_sample


def samples(campaign: Campaign) -> Iterator[str]:
    """Compare the file of each release with the campaign's order, as far as the release has a sample."""
    places = dict(campaign.queries.ranked_population().values_list("query_id", "place"))
    for release in campaign.releases.filter(state=Release.State.READY).order_by("version"):
        if release.estimates:
            try:
                yield from (f"release {release.version}: {fault}" for fault in _faults(release, places))
            except (ReeljudgeError, *UNREADABLE) as fault:
                yield f"release {release.version} cannot be read: {fault}"


def _faults(release: Release, places: dict[str, float | None]) -> Iterator[str]:
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
