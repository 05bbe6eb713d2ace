"""The texts of a release: its data card with the header that dataset hubs read, its licence and its rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, Q

from campaigns.models import Campaign
from judging.consensus import RULE
from judging.models import Candidate, Judgement
from releases.exports import WORKER
from releases.models import Release

LICENCES = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ),
    "CC-BY-NC-4.0": (
        "Creative Commons Attribution-NonCommercial 4.0",
        "https://creativecommons.org/licenses/by-nc/4.0/",
    ),
    "CC0-1.0": ("Creative Commons Zero 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "MIT": ("MIT License", "https://opensource.org/license/mit"),
}
SIZES = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]


def counted(campaign: Campaign) -> dict[str, Any]:
    """Count what a release of the campaign holds."""
    pool = Candidate.objects.in_pool(campaign)
    outcomes = {name: Count("pk", filter=Q(outcome=name)) for name in Candidate.Outcome.values}
    grades = dict(pool.settled().order_by().values_list("grade").annotate(n=Count("pk")))
    counting = Judgement.objects.filter(candidate__in=pool, seat__isnull=False)
    return {
        "queries": campaign.queries.pool().count(),
        "pairs": pool.aggregate(**outcomes),
        "grades": {str(grade): grades.get(grade, 0) for grade in range(5)},
        "judgements": counting.count(),
        "annotators": counting.order_by().values(who=WORKER).distinct().count(),
    }


def card(release: Release) -> Iterator[str]:
    """Yield README.md: a YAML header, then what the release is, how it was made, and its files."""
    yield _header(release)
    yield _numbers(release)
    yield _making(release.campaign)
    if release.campaign.imported:
        yield "\nThe judgements were made elsewhere and imported as finished ratings.\n"
    if release.notes:
        yield f"\n## Notes\n\n{release.notes}\n"
    yield FILES


def _header(release: Release) -> str:
    settled = release.counts["pairs"]["settled"]
    size = next((name for most, name in SIZES if settled < most), "n>1M")
    return f"""---
pretty_name: {_quoted(str(release.campaign))}
license: {release.licence.lower()}
language:
- en
task_categories:
- text-retrieval
tags:
- video-moment-retrieval
- graded-relevance
size_categories:
- {size}
configs:
- config_name: default
  data_files: qrels.jsonl
---
"""


def _numbers(release: Release) -> str:
    counts, pairs = release.counts, release.counts["pairs"]
    return f"""
# {release.campaign}, release {release.version}

A test collection with graded relevance for video moment retrieval, frozen on {release.at:%Y-%m-%d}.

| what | number |
|---|---|
| queries | {counts["queries"]:,} |
| pairs settled | {pairs["settled"]:,} |
| pairs discarded | {pairs["discarded"]:,} |
| pairs contested, flagged or still open | {pairs["contested"] + pairs["flagged"] + pairs["open"]:,} |
| pairs graded by the lead alone | {pairs["adjudicated"]:,} |
| judgements that count | {counts["judgements"]:,} |
| annotators | {counts["annotators"]:,} |

Final grades: {", ".join(f"{grade}: {number:,}" for grade, number in counts["grades"].items())}.
"""


def _making(campaign: Campaign) -> str:
    return f"""
## How it was made

For each query the {campaign.depth} moments whose captions are most similar to it were ranked by the model
`{campaign.encoder or "unknown"}`, and judged in batches of {campaign.batch_size}, the second only where a lead saw
more to find. Two annotators graded each pair from 0 to 4, seeing the clip and the query only. The consensus
`{RULE}` made the final grade: `rules/consensus.md` states it in full.
"""


FILES = """
## Files

- `qrels.txt` (TREC), `qrels.jsonl` (a JSON object a pair), `qrels.nested.json`: settled pairs only
- `splits/`: queries and TREC qrels of each split; `queries.csv`, `moments.csv`: what the ids stand for
- `pairs.csv`: every pair with rank, similarity and outcome; `judgements.jsonl`: every judgement by worker number
- `adjudicated.*`: pairs without consensus that the lead graded; never part of the qrels
- `guidelines/`: each version of what annotators were told; `figures/`: how grades are spread
- `MANIFEST.json`: SHA-256 of each file, versions of rule and model
"""


def licence_text(release: Release) -> Iterator[str]:
    name, address = LICENCES[release.licence]
    yield f"{release.campaign}, release {release.version}\n\n"
    yield f"Licence: {name} (SPDX: {release.licence})\nIts text: {address}\n\n"
    yield "The films that the moments belong to are not part of this release and keep their own licences.\n"


def rule_text(campaign: Campaign) -> Iterator[str]:
    yield f"""# Consensus {RULE}, tolerance {campaign.tolerance}

1. Two annotators grade a pair. If the grades differ by at most {campaign.tolerance}, the pair is settled: its final
   grade is their mean, halves up.
2. Otherwise it is contested, and two others grade it. Of the four grades the highest and the lowest are dropped; if
   the two that are left differ by at most {campaign.tolerance}, their mean, halves up, is the final grade.
3. Otherwise the pair is discarded. It stays in `pairs.csv` and `judgements.jsonl`, and never in the qrels.

A pair that an annotator could not judge is flagged, and has no final grade. A grade by the lead alone is marked
`adjudicated`, and is not a consensus.
"""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
