"""The list of all tables and figures of a campaign, numbered as in TVR-Ranking's paper, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from base.text import percent, with_minus
from judging.models import Candidate
from reports.campaign_summaries import AGREEMENT, FIGURES, PROGRESS, SEVERITY, WORKING, current_summaries
from reports.figures import numbers
from reports.figures.numbers import FigureSubject, Rows
from reports.statistics.agreement import LEAST_WEEKS, weekly_slope
from reports.statistics.collection import ALL

NOTHING, TOO_FEW = "No round is complete yet.", "Nobody has judged enough pairs yet."
UNTIMED = "No time of a judgement is known yet."


@dataclass(frozen=True)
class CampaignFigure:
    """One table or figure."""

    key: str
    title: str
    rows: Callable[[Any, FigureSubject], Rows]  # from the counts of its summary
    caption: str | Callable[[Any, FigureSubject], str]
    tells: Callable[[Rows], str]  # the sentence that says what the rows show
    # Of the drawing, in pixels, so that its place is kept; None for a table.
    size: tuple[int, int] | None = None
    is_wide: bool = False  # whether it takes both columns of the page
    least: int = 1  # rows from which there is something to draw; one week is no course
    summary: str = FIGURES

    @property
    def drawn(self) -> bool:
        return self.size is not None

    def captioned(self, counts: Any, subject: FigureSubject) -> str:
        return self.caption if isinstance(self.caption, str) else self.caption(counts, subject)


def settled_of(counts: Any, subject: FigureSubject) -> str:
    number = sum(sum(each["grades"]) for each in counts["by_rank"])
    source = "the study’s" if counts["source"] == "study" else "the pool’s"
    queries = f"{counts['source_queries']:,} queries"
    return f"{number:,} settled candidates of {source} {queries}; above each bar its number of candidates."


def sizes_of(counts: Any, subject: FigureSubject) -> str:
    known = any(part.get("verbs") is not None for part in counts["splits"].values())
    verbs = "Verbs: their distinct forms." if known else "Verbs are counted where the package HanTa is installed."
    words = "Vocabulary: distinct words of the queries."
    return f"Moments and videos of candidates in batches, each once. {words} {verbs}"


def points_of(counts: Any, subject: FigureSubject) -> str:
    source = "the study" if counts["source"] == "study" else "the pool"
    return f"Each point is a settled candidate of {source}; colour and shape tell up to ten queries apart."


def raw_of(counts: Any, subject: FigureSubject) -> str:
    return f"{sum(map(sum, counts['spread'])):,} candidates with two or four raw grades."


def final_of(counts: Any, subject: FigureSubject) -> str:
    return f"{sum(counts['final']):,} settled candidates."


def query_of(counts: Any, subject: FigureSubject) -> str:
    if not subject.query:
        return ""
    return f"“{subject.query}”: its candidates in batches, by similarity. Dashed: graded by the lead alone."


def pairs_of(counts: Any, subject: FigureSubject) -> str:
    pairs = f"{counts['pairs']:,} pairs of round one, each in the week in which its second grade came."
    return f"{pairs} Band: 95 % interval. Dashed: TVR-Ranking, .615."


def worker_of(counts: Any, subject: FigureSubject) -> str:
    words = "Own grade minus the co-judge’s, by week. Band: 95 % interval, batches drawn as a whole."
    return f"Worker {subject.member.worker}. {words}" if subject.member else ""


def tell_sizes(rows: Rows) -> str:
    whole, corpus = _whole(rows, "part"), rows[-1]
    queries, videos = f"{whole['queries']:,} queries", f"{whole['videos']:,} of {corpus['videos']:,} videos"
    return f"{queries} have candidates, from {videos}."


def tell_replaced(rows: Rows) -> str:
    if not rows:
        return "The captions are the descriptions of the corpus: no word was replaced."
    return f"“{rows[0]['word']}” replaces most: {rows[0]['frequency']:,} times."


def tell_consensus(rows: Rows) -> str:
    whole = _whole(rows, "split")
    settled = whole["two"] + whole["four"]
    if not settled:
        return NOTHING
    share = settled / (settled + whole["discarded"])
    return f"{percent(share, 2)} of the candidates that were judged to the end reached consensus."


def tell_points(rows: Rows) -> str:
    if not rows:
        return NOTHING
    most = max(row["grade"] for row in rows)
    lowest = min(row["similarity"] for row in rows if row["grade"] == most)
    return f"Among these points, a grade of {most} goes down to a similarity of {lowest:.2f}."


def tell_spread(rows: Rows) -> str:
    share = sum(row["share"] for row in rows if row["highest"] - row["lowest"] <= 1)
    return f"On {percent(share)} of the candidates all raw grades lie within 1 of each other." if share else NOTHING


def tell_final(rows: Rows) -> str:
    most = max(rows, key=lambda row: int(row["candidates"]))
    share = f"{percent(most['share'])} of the settled candidates"
    return f"The most frequent final grade is {most['grade']}, with {share}." if most["share"] else NOTHING


def tell_example(rows: Rows) -> str:
    settled = [row for row in rows if row["outcome"] == Candidate.Outcome.SETTLED]
    if not settled:
        return "No candidate of this query is settled yet."
    most = max(row["grade"] for row in settled)
    best = [row["rank"] for row in settled if row["grade"] == most]
    last = f" and last to rank {best[-1]}" if len(best) > 1 else ""
    return f"The highest grade, {most}, goes first to rank {best[0]}{last}."


def _tell_slope(name: str, what: str, rows: Rows) -> str:
    """Say how a number changes by week, with the interval; nothing is said of fewer than four weeks."""
    weeks = [int(row["week"].replace("-W", "")) for row in rows]
    found = weekly_slope(weeks, [row[name] for row in rows], [row["pairs"] for row in rows])
    if found is None:
        return f"A trend needs {LEAST_WEEKS} weeks with pairs."
    slope, low, high = (_two(value, "+") for value in found)
    trend = "no clear trend" if found[1] <= 0 <= found[2] else "a trend"
    return f"{what} changes by {slope} a week, 95 % interval {low} to {high}: {trend}."


tell_weeks = partial(_tell_slope, "alpha", "Alpha")
tell_drift = partial(_tell_slope, "difference", "The mean difference from co-judges")


def tell_severity(rows: Rows) -> str:
    known = sorted((row for row in rows if row["severity"] is not None), key=lambda row: float(row["severity"]))
    if not known:
        return TOO_FEW
    ends = (f"worker {row['worker']} ({_two(row['severity'], '+')})" for row in (known[0], known[-1]))
    return "From {} to {} grades around the mean of all.".format(*ends)


def tell_burn_up(rows: Rows) -> str:
    """Say how far the queries are, and what the rest waits for."""
    now = next((row for row in rows if "all" in row), None)
    if now is None:
        return "No query is finished yet."
    waiting = next((f" {row['words']}." for row in rows if "words" in row), "")
    return f"{now['finished']:,} of {now['all']:,} queries are finished, {now['ready']:,} ready to release.{waiting}"


def tell_grades(rows: Rows) -> str:
    return "Settled pairs by grade: " + ", ".join(f"{row['pairs']:,} of grade {row['grade']}" for row in rows) + "."


def tell_today(rows: Rows) -> str:
    working = [row for row in rows if row["judgements"]]
    total = sum(row["judgements"] for row in working)
    return f"{total:,} judgements today by {len(working)} of {len(rows)} annotators."


def learning_of(counts: Any, subject: FigureSubject) -> str:
    words = "Mean distance of own grades from the consensus, of which they are a part. Band: 95 % interval of the mean"
    own = f" Dots: worker {subject.member.worker}." if subject.member else ""
    return f"{words} of all annotators.{own} Later points have fewer annotators."


def tell_hours(rows: Rows) -> str:
    if not rows:
        return UNTIMED
    most = max(rows, key=lambda row: int(row["judgements"]))
    work = sum(row["judgements"] for row in rows)
    weekend = sum(row["judgements"] for row in rows if row["weekday"] in numbers.WEEKDAYS[5:]) / work
    hour = f"{most['weekday']}, {most['hour']}:00 to {most['hour'] + 1}:00"
    return f"Busiest: {hour}, with {most['judgements']:,} of {work:,} judgements. Weekends: {percent(weekend)}."


def tell_learning(rows: Rows) -> str:
    if not rows:
        return NOTHING
    first, last = rows[0], rows[-1]
    words = f"{first['difference']:.2f} grades from the consensus in batch {first['batch']}"
    who = f"{last['annotators']} of {first['annotators']} annotators"
    more = f", {last['difference']:.2f} in batch {last['batch']} ({who})"
    return words + (more if len(rows) > 1 else "") + "."


def tell_sitting(rows: Rows) -> str:
    known = [row for row in rows if row["alpha"] is not None]
    if not known:
        return UNTIMED
    ends = [f"{_two(row['alpha'])} from minute {row['minute']}" for row in (known[0], known[-1])]
    return f"Alpha is {ends[0]}" + (f" and {ends[1]}." if len(known) > 1 else ".")


def tell_flow(rows: Rows) -> str:
    if not rows:
        return NOTHING
    contested = [row for row in rows if row["round_one"] == "contested"]
    parts = [f"{percent(sum(row['share'] for row in contested))} of the pairs are contested"]
    parts += [f"{row['pairs']:,} of these are {row['end']}" for row in contested]
    return ", ".join(parts) + "."


def poster_rows(counts: Any, subject: FigureSubject) -> Rows:
    """Return the rows of all figures of the poster, each with the figure that it is of."""
    kept = current_summaries(subject.campaign, *{part.summary for part in POSTER})
    known = ((part, kept[part.summary].counts) for part in POSTER)
    return [{"figure": part.key} | row for part, own in known if own is not None for row in part.rows(own, subject)]


def _whole(rows: Rows, key: str) -> dict[str, Any]:
    return next(row for row in rows if row[key] == ALL)


def _tell_high(words: str, rows: Rows) -> str:
    if not rows:
        return NOTHING
    first, last = rows[0]["bin"], rows[-1]["bin"]
    low, high = (sum(row["share"] for row in rows if row["bin"] == bin and row["grade"] > 2) for bin in (first, last))
    return f"At {words} {first}, {percent(low)} of the candidates are graded 3 or 4; at {last}, {percent(high)}."


def _two(value: float, sign: str = "") -> str:
    return with_minus(f"{value:{sign}.2f}")


PANEL = (518, 320)  # of the figures that stand side by side
TABLES = [
    CampaignFigure("table-1", "Table 1: size of the collection", numbers.sizes, sizes_of, tell_sizes, is_wide=True),
    CampaignFigure(
        "table-3",
        "Table 3: words that replaced others in captions",
        numbers.replaced,
        "Words of captions that their descriptions have not. M, F, N: male, female, neutral.",
        tell_replaced,
    ),
    CampaignFigure(
        "table-4",
        "Table 4: statistics",
        numbers.statistics,
        "Over queries with candidates in batches, their moments, and the videos of these.",
        lambda rows: "Splits are comparable where their columns are alike.",
    ),
    CampaignFigure(
        "consensus",
        "Consensus",
        numbers.consensus,
        "Candidates settled by two annotators, by four, discarded, reused, left to the lead, or still being judged.",
        tell_consensus,
        is_wide=True,
    ),
]
DRAWN = [
    CampaignFigure(
        "figure-4a",
        "Figure 4a: grade against similarity",
        numbers.by_similarity,
        settled_of,
        partial(_tell_high, "a similarity of"),
        PANEL,
    ),
    CampaignFigure("figure-4-points", "Figure 4a, point by point", numbers.points, points_of, tell_points, PANEL),
    CampaignFigure(
        "figure-4b", "Figure 4b: grade against rank", numbers.by_rank, settled_of, partial(_tell_high, "ranks"), PANEL
    ),
    CampaignFigure("figure-5a", "Figure 5a: lowest and highest raw grade", numbers.spread, raw_of, tell_spread, PANEL),
    CampaignFigure("figure-5b", "Figure 5b: final grades", numbers.final, final_of, tell_final, PANEL),
    CampaignFigure("figure-6", "Figure 6: one query", numbers.example, query_of, tell_example, PANEL),
]
STRIP = (560, 200)  # of the figures beside which something else is on the page
WEEKS = CampaignFigure(
    "weeks", "Agreement by week", numbers.weeks, pairs_of, tell_weeks, STRIP, least=2, summary=AGREEMENT
)
DRIFT = CampaignFigure(
    "drift", "Mean difference by week", numbers.drift, worker_of, tell_drift, STRIP, least=2, summary=AGREEMENT
)
SEVERITIES = CampaignFigure(
    "severity",
    "Severity and spread",
    numbers.severities,
    "Filled: severity by the model, with its 95 % interval. Hollow: mean difference from co-judges. Right: spread.",
    tell_severity,
    (560, 400),
    summary=SEVERITY,
)
# Tables that pages show in a way of their own, and others as a file.
OF_ANNOTATORS = [
    CampaignFigure(key, title, rows, "", lambda rows: "", summary=summary)
    for key, title, rows, summary in (
        ("annotators", "Annotators against the others", numbers.annotators, AGREEMENT),
        ("matrix", "Each two annotators", numbers.matrix, AGREEMENT),
        ("opposed", "Pairs on which careful annotators oppose the consensus", numbers.opposed, SEVERITY),
        ("disputed", "Queries whose disagreement is everybody’s", numbers.disputed, SEVERITY),
    )
]
LEARNING = CampaignFigure(
    "learning", "Learning curve", numbers.learning, learning_of, tell_learning, PANEL, least=2, summary=WORKING
)
# Not in the paper: how the work went. Releases do not have them.
OF_WORK = [
    CampaignFigure(
        "flow",
        "What becomes of the pairs",
        numbers.flow,
        "Left: after two annotators. Right: as it is now. A lead’s own grades change nothing here.",
        tell_flow,
        PANEL,
        summary=WORKING,
    ),
    LEARNING,
    CampaignFigure(
        "sitting",
        "Agreement within a sitting",
        numbers.sitting,
        "Alpha with co-judges by minutes since the sitting began, in steps of 10; half an hour without a judgement "
        "ends it. Band: 95 % interval.",
        tell_sitting,
        PANEL,
        least=2,
        summary=WORKING,
    ),
    CampaignFigure(
        "hours",
        "Judgements by hour and weekday",
        numbers.hours_of_week,
        "Counted judgements by the time of their first grade, in the time zone of the pages.",
        tell_hours,
        PANEL,
        summary=WORKING,
    ),
]
SMALL = (376, 180)
OVERVIEW = [
    CampaignFigure(
        "burn-up",
        "Queries by day",
        numbers.burn_up_rows,
        "As reviews are now. The fan is the forecast of the end, with 50 and 95 %.",
        tell_burn_up,
        (776, 320),
        summary=PROGRESS,
    ),
    CampaignFigure("grades", "Grades", numbers.grade_rows, "", tell_grades, SMALL, summary=PROGRESS),
    CampaignFigure("alpha", "Agreement by week", numbers.weeks, pairs_of, tell_weeks, SMALL, summary=AGREEMENT),
    CampaignFigure("today", "People today", numbers.today_rows, "", tell_today, SMALL, summary=PROGRESS),
]
POSTER = [OVERVIEW[0], DRAWN[4], DRAWN[0], WEEKS, OF_WORK[0]]  # its figures, in the order in which they are placed
WHOLE_POSTER = CampaignFigure(
    "poster", "Poster", poster_rows, "", lambda rows: "The campaign in five figures.", (1136, 720)
)
ALL_FIGURES = (*TABLES, *DRAWN, WEEKS, DRIFT, SEVERITIES, *OVERVIEW, *OF_WORK, WHOLE_POSTER, *OF_ANNOTATORS)
BY_KEY = {figure.key: figure for figure in ALL_FIGURES}
