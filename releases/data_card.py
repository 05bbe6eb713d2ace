"""The texts of a release: its data card with the header that dataset hubs read, its licence and its rule.

The card says what the release holds and nothing else: its numbers are counted in the release's scope, its list of files
is that of the zip, and what nobody knows of imported ratings is said to be unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import Count, Q
from django.utils import translation

from base.text import percent
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign
from judging.consensus import LEAST_OVERLAP, RULE
from judging.models import Candidate, Judgement
from releases.exports import WORKER, ExportScope
from releases.models import Release, creator_of, title_of
from releases.publishing.hub import configs
from releases.publishing.methods import sections

LICENCES = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": ("Creative Commons Attribution-ShareAlike 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "CC-BY-NC-4.0": (
        "Creative Commons Attribution-NonCommercial 4.0",
        "https://creativecommons.org/licenses/by-nc/4.0/",
    ),
    "CC0-1.0": ("Creative Commons Zero 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "MIT": ("MIT License", "https://opensource.org/license/mit"),
}
SIZES = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]
EARLY = (
    "Queries beyond the frontier are no random sample: those that need one batch only are finished first, so scores on"
    " them are too high. On TVR-Ranking's ratings, the order by caption similarity scores .934 on the queries that are"
    " finished first, and .884 on all."
)
# What returns, for a release, a row of its table of baselines for each run: its scores by the names of the columns. The
# app `runs` adds it, because an app does not import those above it.
BASELINES: list[Callable[[Release], list[dict[str, str]]]] = []
MOST_NAMED = 100  # queries that the card names; the manifest names all


def counted(scope: ExportScope) -> dict[str, Any]:
    """Count what a release holds."""
    pool = scope.candidates
    outcomes = {name: Count("pk", filter=Q(outcome=name)) for name in Candidate.Outcome.values}
    grades = dict(pool.settled().order_by().values_list("grade").annotate(n=Count("pk")))
    counting = Judgement.objects.filter(candidate__in=pool, seat__isnull=False).order_by()
    by_worker = counting.values("candidate", who=WORKER).annotate(n=Count("pk"))
    return {
        "queries": scope.queries.count(),
        "judged_queries": counting.values("candidate__query").distinct().count(),
        "pairs": pool.aggregate(**outcomes),
        "grades": {str(grade): grades.get(grade, 0) for grade in range(5)},
        "judgements": counting.count(),
        "annotators": counting.values(who=WORKER).distinct().count(),
        "one_worker_twice": by_worker.filter(n__gt=1).values("candidate").distinct().count(),
    }


def card(release: Release, files: list[tuple[str, str]], about: dict[str, Any]) -> Iterator[str]:
    """Yield README.md: a YAML header, then what the release is, how it was made, and its files.

    files: the name of each other file, and what it is.
    about: the manifest, without its list of files.
    """
    yield _header(release, about["splits"])
    folder = f"{about['campaign']}-v{about['version']}"
    yield _numbers(release)
    yield _about(release)
    yield _scale(release)
    yield _loading(folder, next(reversed(about["splits"])))
    yield from _baselines(release)
    yield _sample(release)
    yield _unfinished(release)
    yield _reused(release, about)
    yield _imported(release) if release.campaign.imported else _making(release.campaign)
    yield from _sections(about)
    if release.notes:
        yield f"\n## Notes\n\n{release.notes}\n"
    yield _citation(release, folder)
    yield "\n## Files\n\n"
    yield from (f"- `{name}`: {what}\n" for name, what in files)


def _header(release: Release, splits: dict[str, list[str]]) -> str:
    pairs = sum(release.counts["grades"].values())
    size = next((name for most, name in SIZES if pairs < most), "n>1M")
    return f"""---
pretty_name: {_quoted(str(release.campaign))}
license: {release.licence.lower()}
{f"language:{chr(10)}- {release.language}{chr(10)}" if release.language else ""}task_categories:
- text-retrieval
tags:
- video-moment-retrieval
- graded-relevance
size_categories:
- {size}
{configs(splits)}
---
"""


def _numbers(release: Release) -> str:
    counts, pairs = release.counts, release.counts["pairs"]
    return f"""
# {release.campaign}, release {release.version}

A test collection with graded relevance for video moment retrieval.

| what | number |
|---|---|
| queries with judgements | {counts["judged_queries"]:,} |
| queries without judgements | {counts["queries"] - counts["judged_queries"]:,} |
| pairs settled | {pairs["settled"]:,} |
| pairs with a reused grade | {pairs["reused"]:,} |
| pairs discarded | {pairs["discarded"]:,} |
| pairs contested, flagged or still open | {pairs["contested"] + pairs["flagged"] + pairs["open"]:,} |
| pairs graded by the lead alone | {pairs["adjudicated"]:,} |
| judgements that count | {counts["judgements"]:,} |
| annotators | {counts["annotators"]:,} |

Final grades: {", ".join(f"{grade}: {number:,}" for grade, number in counts["grades"].items())}.
"""


def _loading(folder: str, split: str) -> str:
    return f"""
## Scoring a run

```sh
reeljudge evaluate --qrels {folder} --run run.json
```

`run.json` has the predictions of a system. The command is that of the Python library `reeljudge`, which takes this
folder or its zip wherever qrels, a pool or ratings are taken.

## Loading it

In the folder that holds `{folder}`, or with the name of the data set on a hub instead:

```python
from datasets import load_dataset

pairs = load_dataset("{folder}", split="{split}")
queries = load_dataset("{folder}", "queries", split="queries")
print(pairs[0], queries[0])
```

The configurations `corpus`, `queries` and `qrels` have BEIR's columns. With Reeljudge's library:

```python
from reeljudge import load_release

release = load_release("{folder}")
print(release.splits, len(release.queries), release.qrels)
```

`python verify.py` checks all files, computes the final grades, agreement and cost again from the judgements, and lists
what it does not check. If you do not know who made this release, use a copy of `verify.py` from elsewhere
(`python verify.py {folder}`), or `verify_release` of Reeljudge: the program in this folder is a part of the release.
"""


def _baselines(release: Release) -> Iterator[str]:
    """Yield a table of the runs that the lead chose, or nothing if none were chosen."""
    rows = [row for made in BASELINES for row in made(release)] if release.baselines else []
    if rows:
        yield "\n## Baselines\n\nScores under the convention `paper`, on all queries of the qrels.\n\n"
        for cells in ([*rows[0]], ["---"] * len(rows[0]), *(row.values() for row in rows)):
            yield f"| {' | '.join(cell.replace('|', ' ') for cell in cells)} |\n"


def _scale(release: Release) -> str:
    if release.campaign.imported:
        return "\n## Grades\n\nA higher grade is a better match. The source of the ratings defines the grades.\n"
    with translation.override("en"):
        rows = "".join(f"| {grade} | {name} | {meaning} |\n" for grade, (name, meaning) in sorted(LEVELS.items()))
    return f"\n## Grades\n\n| grade | name | meaning |\n|---|---|---|\n{rows}\nThe guideline is in `guidelines/`.\n"


def _about(release: Release) -> str:
    """Return the facts that the lead gave, and those that are always known."""
    facts = {"Release": release.date, "Contact": release.contact, "Source of the films": release.films}
    facts["Language of the queries"] = release.language
    lines = "".join(f"- {name}: {fact}\n" for name, fact in facts.items() if fact)
    return f"\n{lines}- Licence of the judgements: {release.licence}. The films have their own licences.\n"


def _sections(about: dict[str, Any]) -> Iterator[str]:
    """Yield the sections of the methods that the card repeats."""
    for heading, sentences in sections(about):
        if heading in ("Agreement", "Limits"):
            yield f"\n## {heading}\n\n{' '.join(text for text, _ in sentences)}\n"


def _citation(release: Release, folder: str) -> str:
    title = str(release.campaign)
    year = f"  year = {{{release.date.year}}},\n" if release.date else ""
    return f"""
## Citation

```bibtex
@misc{{{folder},
  title = {{{{{title_of(title, release.version)}}}}},
  author = {{{{{creator_of(title)}}}}},
{year}  note = {{Test collection, {release.licence}}}
}}
```
"""


def _sample(release: Release) -> str:
    """Return what the queries up to the frontier are a sample of, and which others the release holds."""
    about = release.estimates
    n, all_ = about["sample"], about["queries"]
    if not about["random"]:
        reason = "; ".join(about["why_not"])
        kind = f"are **no random sample** of all {all_:,} ({reason}), so that scores on them stand for themselves only"
    elif n == all_:
        kind = "are all of the campaign"
    else:
        kind = f"are a random sample, drawn without replacement, of all {all_:,} in the campaign"
    text = (
        f"\n## Sample\n\nIts {n:,} queries up to the frontier {kind}. `queries.csv` marks them. `pool.jsonl` has the"
        " candidates of every ranked query, judged or not, by which scores on the sample can be corrected.\n"
    )
    if unranked := about["unranked"]:
        text += f"Queries without ranked candidates, which are not in `pool.jsonl`: {unranked:,}.\n"
    if more := release.counts["queries"] - n:
        text += f"It holds {more:,} more, which are not in the sample; estimates leave them out.\n"
    elif about["beyond"]:
        text += f"Finished queries that come after one that is not, and are left out: {about['beyond']:,}.\n"
    return text


def _reused(release: Release, about: dict[str, Any]) -> str:
    """Return how many grades are reused and from where, or nothing if none are."""
    if not (source := about.get("reused")):
        return ""
    newest = f", whose newest release is number {source['release']} (SHA-256 `{source['sha256']}`)"
    return f"""
{release.counts["pairs"]["reused"]:,} of the grades are **reused** from the campaign `{source["campaign"]}`\
{newest if source["release"] else ""}.
It reached them on queries of the same text, and on moments of the same video that are the same or overlap by \
{percent(source["least_overlap"])} or
more. Nobody judged these pairs here: they are in no number of judgements, annotators, agreement or cost. `pairs.csv`
and `qrels.jsonl` mark them, and `reused.jsonl` has the source of each, with the grades that it rests on.
"""


def _unfinished(release: Release) -> str:
    number = len(release.unfinished)
    if not number:
        return "\nAll queries of the campaign are finished: none was being judged when the release was frozen.\n"
    are = "1 query was" if number == 1 else f"{number:,} queries were"
    consequence = (
        "This release holds what was settled of them; the rest of their pairs can change."
        if release.with_unfinished
        else "They are left out of this release."
    )
    named = ", ".join(f"`{name}`" for name in release.unfinished[:MOST_NAMED])
    more = f", and {number - MOST_NAMED:,} more, which `MANIFEST.json` names" if number > MOST_NAMED else ""
    early = f"\n{EARLY}\n" if release.is_early else ""
    return f"\n{are} not finished when the release was frozen. {consequence} Not finished: {named}{more}.\n{early}"


def _making(campaign: Campaign) -> str:
    ranked = f"by the model `{campaign.encoder}`" if campaign.encoder else "by a similarity of unknown origin"
    second = ", the second only where there was probably more to find" if campaign.batches > 1 else ""
    return f"""
## How it was made
{_drawing(campaign)}
For each query the {campaign.depth} moments whose captions are most similar to it were ranked {ranked}, and judged in
batches of {campaign.batch_size}{second}. Two annotators graded each pair from 0 to 4, seeing the clip and the query
only; two others graded the pairs that stayed contested. An annotator could mark a grade as between two: `doubt`, which
changes nothing. The consensus `{RULE}` made the final grade:
`rules/consensus.md` states it in full.
{_further(campaign)}"""


def _further(campaign: Campaign) -> str:
    """Return how many pairs were judged because runs found them, or nothing if there are none."""
    pairs = Candidate.objects.in_pool(campaign).filter(batch__further=True).count()
    if not pairs:
        return ""
    return f"""
The pool was enlarged: {pairs:,} pairs are of moments that systems found and no batch of ranks holds. They were judged
in the same way; their pool is `further` in `pairs.csv`.
"""


def _drawing(campaign: Campaign) -> str:
    """Return how queries were drawn from captions, or nothing if none were."""
    if not (drawn := campaign.selection):
        return ""
    strata = f", in proportion within strata by {' and '.join(drawn['strata'])}" if drawn["strata"] else ""
    return f"""
Queries were drawn at random from {drawn["captions"]:,} distinct captions: {drawn["validation"]:,} for validation and
{drawn["test"]:,} for the test{strata}. The rule `{drawn["rule"]}` with the seed {drawn["seed"]} draws them again. The
other captions are for training: `training_queries.csv`.
"""


def _imported(release: Release) -> str:
    campaign, twice = release.campaign, release.counts["one_worker_twice"]
    rounds = (
        "The source says which ratings belong to which round."
        if campaign.rounds_known
        else "Unknown too is which ratings belong to which round, and so is the agreement within a round."
    )
    again = f" Pairs in which one worker counts twice, as the ratings came: {twice:,}." if twice else ""
    left_out = (
        f" The source rates {campaign.left_out:,} more pairs, which have no final grade, and does not tell their"
        " queries and moments; they are left out."
        if campaign.left_out
        else ""
    )
    return f"""
## How it was made

The judgements were made elsewhere and imported as finished ratings. What the annotators were told and saw, when and how
long they worked, and how the pairs were chosen is unknown here. {rounds}{again}{left_out} Ranks are by the similarity
that the source gives. The consensus `{RULE}` made the final grades anew: `rules/consensus.md` states it in full.
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

"""
    yield IMPORTED_RULE if campaign.imported else ""
    yield REUSED_RULE if campaign.reuses_id else ""
    yield LEADS_RULE


LEADS_RULE = """A pair that an annotator could not judge is flagged, and has no final grade. A grade by the lead
alone is marked `adjudicated`, and is not a consensus.
"""
REUSED_RULE = f"""A pair is `reused` if an earlier campaign settled a pair of the same text whose moment is the same, or
overlaps by {percent(LEAST_OVERLAP)} or more (intersection over union), and the steps above lead from its grades
to the same final grade. Nobody judges it again.

"""
IMPORTED_RULE = """These ratings were imported. Two ratings of a pair are taken as in step 1, four as in step 2.
Nobody will rate the pairs any more, so a pair that is not settled is discarded, however many ratings it has.

"""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
