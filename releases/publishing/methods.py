"""The methods section of a paper about a release: protocol, agreement, cost, sampling and limits, from its manifest.

Each sentence is a format whose fields are paths into the manifest, so that every number has a source that can be named.
A sentence is left out if the manifest lacks one of its numbers, as those of imported ratings do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from string import Formatter
from typing import Any

from campaigns.models import Campaign
from judging.models import Judgement
from metrics.analysis.comparison import LATEX
from releases.checks import MANIFEST
from releases.exports import MILLISECONDS, ExportScope, Lines
from reports.statistics.agreement import agreement
from reports.statistics.arrays import Read

About = Mapping[str, Any]  # the manifest
Condition = Callable[[About], Any]  # whether a sentence is true


def has(path: str) -> Condition:
    """Return the condition that the manifest has something other than zero or nothing at a path."""
    return lambda about: at(about, path)


def always(about: About) -> bool:
    return True


def of_people(about: About) -> bool:
    return not about["imported"]


# The sentences of each section, and when each is true.
SECTIONS: dict[str, dict[str, Condition]] = {
    "Protocol": {
        "For each query, {protocol.depth} moments were ranked by the similarity of their captions to it, and judged"
        " in batches of {protocol.batch_size}.": of_people,
        "The second batch of a query was judged only where a lead expected more to find, as a rule where the mean grade"
        " at the end of the first was at least {protocol.second_from}.": lambda about: about["protocol"]["batches"] > 1,
        "Two annotators graded each pair of a query and a moment from 0 to 4, without seeing its caption, rank or the"
        " grade of anybody else.": of_people,
        "The ratings were made elsewhere and imported.": has("imported"),
        "Two grades that differ by at most {consensus.tolerance} settle a pair at their mean, halves up; otherwise"
        " two other annotators grade it, the highest and the lowest grade are dropped, and the same test decides"
        " (rule {consensus.rule}).": always,
        "A clip had to move for {protocol.watch_first} seconds before it could be graded.": has("protocol.watch_first"),
        "Annotators had to pass an exam, with {protocol.exam_rounds} attempts.": has("protocol.exam"),
        "Hidden checks in the batches watched over the quality of the work.": has("protocol.checks"),
        "{counts.annotators} annotators gave {counts.judgements} judgements that count, on {counts.judged_queries}"
        " queries.": always,
        "{counts.pairs.settled} pairs were settled, and {counts.pairs.discarded} were discarded because no consensus"
        " was reached.": always,
    },
    "Reuse": {
        "{counts.pairs.reused} pairs have the grade that the campaign {reused.campaign} gave a pair of the same text"
        " and of a moment whose intersection over union with theirs is at least"
        " {reused.least_overlap}.": has("counts.pairs.reused"),
        "The newest release of that campaign is number {reused.release}, with the SHA-256 {reused.sha256}.": has(
            "counts.pairs.reused"
        ),
        "Nobody judged these pairs here, and they are in no number of judgements, annotators, agreement or cost.": has(
            "counts.pairs.reused"
        ),
    },
    "Agreement": {
        "Krippendorff’s ordinal alpha of all grades is {agreement.alpha} (95 % interval, drawn by batches:"
        " {agreement.low} to {agreement.high}).": always,
        "Krippendorff’s ordinal alpha of all grades is {agreement.alpha}; for an interval there are too few"
        " batches.": lambda about: about["agreement"]["low"] is None,
        "In round one, alpha is {agreement.round_one.alpha} (95 % interval {agreement.round_one.low} to"
        " {agreement.round_one.high}) over {agreement.pairs} pairs of grades.": always,
        "Two first grades were the same in {agreement.same_percent} % of these pairs, and differed by more than the"
        " tolerance in {agreement.contested_percent} %.": always,
    },
    "Cost": {
        "The judgements took {cost.hours} hours of active work, {cost.seconds_each} seconds each.": always,
        "An hour was paid with {cost.hourly_rate} {cost.currency}.": always,
        "Rates of before were {cost.past_rates} {cost.currency}.": always,
    },
    "Sampling": {
        "Queries were judged in a random order. The {estimates.sample} queries up to the frontier, to which all are"
        " finished, are a random sample without replacement of all {estimates.queries}.": lambda about: (
            about["estimates"]["random"] and about["estimates"]["sample"] < about["estimates"]["queries"]
        ),
        "All {estimates.queries} queries are finished.": lambda about: (
            about["estimates"]["sample"] == about["estimates"]["queries"]
        ),
        "The {estimates.sample} queries up to the frontier are no random sample of all {estimates.queries}:"
        " {estimates.why_not}.": lambda about: not about["estimates"]["random"],
        "Queries were drawn from {selection.captions} captions with the rule {selection.rule}.": always,
    },
    "Limits": {
        "Moments that no ranking by captions and no pooled run found were not judged, and count as not"
        " relevant.": always,
        "Queries that were not finished, and are left out: {unfinished.queries}.": lambda about: (
            about["unfinished"]["queries"] and not about["unfinished"]["held"]
        ),
        "Queries that were not finished, and are held as they were: {unfinished.queries}.": lambda about: (
            about["unfinished"]["queries"] and about["unfinished"]["held"]
        ),
        "What annotators saw, and when and how long they worked, is not known.": has("imported"),
        "Pairs in which one worker counts twice: {counts.one_worker_twice}.": has("counts.one_worker_twice"),
        "Pairs that a lead alone graded, and that are in no qrels: {counts.pairs.adjudicated}.": has(
            "counts.pairs.adjudicated"
        ),
        "Annotators are numbers; the release does not say who they are.": always,
    },
}


def protocol(campaign: Campaign) -> dict[str, Any] | None:
    """Return what the manifest says of how annotators worked, or None of imported ratings, where nobody knows it."""
    if campaign.imported:
        return None
    names = ["batch_size", "batches", "depth", "second_from", "padding", "sound", "play_once", "watch_first"]
    names += ["exam", "exam_rounds"]
    return {name: getattr(campaign, name) for name in names} | {"checks": bool(campaign.hidden_places)}


def agreement_of(campaign: Campaign, pool: Read) -> dict[str, Any]:
    """Return the agreement that the manifest has: ordinal alpha with 95 % intervals; None where it is undefined."""
    found = agreement(pool, campaign.tolerance, campaign.rounds_known)

    def alpha(name: str) -> dict[str, float | None]:
        low, high = found["alpha_interval"][name] or (None, None)
        return {"alpha": _rounded(found["alpha"][name]), "low": _rounded(low), "high": _rounded(high)}

    return alpha("all") | {
        "round_one": alpha("round_one"),
        "pairs": found["pairs"],
        "same_percent": _percent(found["same"]),
        "contested_percent": _percent(found["contested"]),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def cost(scope: ExportScope) -> dict[str, Any]:
    """Return the hours of the release's judgements, also of those that do not count, and the hourly rates."""
    campaign = scope.campaign
    rows = Judgement.objects.filter(candidate__in=scope.candidates).order_by()
    spent = rows.aggregate(sum=MILLISECONDS)["sum"]
    known = {"hours": None, "seconds_each": None}
    if spent and not campaign.imported:
        known = {"hours": round(spent / 3_600_000, 1), "seconds_each": round(spent / 1000 / rows.count(), 1)}
    past = campaign.past_rates.order_by("last").values_list("hourly", flat=True)
    rate = None if campaign.hourly_rate is None else str(campaign.hourly_rate)
    return known | {
        "hourly_rate": rate,
        "past_rates": [str(each) for each in past],
        "currency": campaign.currency or None,
    }


def sections(about: About) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """Yield each heading with its sentences, and the paths of the numbers in each sentence."""
    for heading, sentences in SECTIONS.items():
        filled = [each for text, holds in sentences.items() if (each := _filled(text, holds, about))]
        if filled:
            yield heading, filled


def _filled(sentence: str, holds: Condition, about: About) -> tuple[str, list[str]] | None:
    try:
        if not holds(about):
            return None
    except (LookupError, TypeError):  # a release of an earlier version
        return None
    text, paths = "", []
    for plain, path, _, _ in Formatter().parse(sentence):
        text += plain
        if path is None:
            continue
        if (value := at(about, path)) in (None, [], ""):
            return None
        text += written(value)
        paths.append(path)
    return text, paths


def at(about: About, path: str) -> Any:
    """Return the value at a path in the manifest, or None; of the unfinished queries, their number."""
    found: Any = about
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return len(found) if path == "unfinished.queries" else found


def written(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def markdown(about: About) -> Lines:
    """Yield the section as Markdown, with a footnote for the source of each sentence's numbers."""
    notes: list[str] = []
    yield f"# Methods: {about['campaign']}, release {about['version']}\n"
    for heading, sentences in sections(about):
        yield f"\n## {heading}\n\n"
        for text, paths in sentences:
            if paths:
                notes.append(", ".join(f"`{path}`" for path in paths))
            yield f"{text}{f'[^{len(notes)}]' if paths else ''}\n"
    yield "\n"
    yield from (f"[^{number}]: `{MANIFEST}`: {note}\n" for number, note in enumerate(notes, 1))


def latex(about: About) -> Lines:
    """Yield the section as LaTeX. The source of each sentence's numbers is a comment above it."""
    for heading, sentences in sections(about):
        yield f"\\paragraph{{{heading}.}}\n"
        for text, paths in sentences:
            yield f"% {MANIFEST}: {', '.join(paths)}\n" if paths else ""
            yield f"{text.replace('’', chr(39)).translate(LATEX)}\n"


def responsible(about: About) -> dict[str, Any]:
    """Return the fields of responsible AI that Croissant has, as far as the release knows them."""
    texts = {heading: " ".join(text for text, _ in sentences) for heading, sentences in sections(about)}
    imported = about["imported"]
    ranked = f"the model {about['encoder']}" if about["encoder"] else "a similarity of unknown origin"
    return {
        "dataCollection": texts.get("Sampling"),
        "dataCollectionType": "Manual Human Curator",
        "dataAnnotationProtocol": texts.get("Protocol"),
        "dataAnnotationPlatform": None if imported else "Reeljudge",
        "dataAnnotationAnalysis": " ".join(texts[each] for each in ("Agreement", "Reuse") if each in texts) or None,
        "annotationsPerItem": "2; 4 where the first two differ by more than the tolerance",
        "annotatorDemographics": f"{about['counts']['annotators']:,} annotators, of whom the release has numbers only."
        + (f" {texts['Cost']}" if "Cost" in texts else ""),
        "machineAnnotationTools": f"No grade is a machine's. The moments were ranked by {ranked}.",
        "dataLimitations": texts.get("Limits"),
        "dataBiases": "Moments come from rankings by captions, so that relevant moments with unlike captions are rare.",
        "dataUseCases": "Comparing systems for video moment retrieval with graded relevance.",
        "personalSensitiveInformation": "None: annotators are numbers, and the films are not part of the release.",
        "dataReleaseMaintenancePlan": "A release never changes. Corrections come as a release with a higher number.",
    }
