"""The cells of lists, where they are more than a plain value, and other tags that write many small parts of a page.

Cells are written in Python: in a template, the 50 rows of a list take six times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timesince import timesince

from base.listing import Column, ListPart
from base.templatetags.figures import UNKNOWN, decimals, interval, percent, plain, signed
from base.text import joined_markup, markup
from campaigns.models import LogEntry, Membership
from corpus.models import Moment
from judging.consensus import GRADES
from judging.models import Judgement
from lead.marks import FIRM, TALL, WIDE_DAY, bar_code, day_bars, mark, missed_dots, ruler
from reports.tables.annotators import AnnotatorLine
from reports.tables.batch import CandidateRow, name_for, time_of
from reports.tables.batches import BatchLine
from reports.tables.examinees import Pair
from reports.tables.judgements import JudgementRow
from reports.tables.queries import QueryRow
from reports.tables.queue import FlagLine
from runs.models import Run

register = template.Library()
DOUBT = SafeString('<span title="Between two grades"> ±</span>')


@register.simple_tag(name="address")
def address_of(page: str, campaign: str, key: object, *rest: str) -> str:
    """Return the address of a page that takes a campaign and a number; a list has hundreds of them."""
    start, end = _around_number(page, campaign, *rest)
    return f"{start}{key}{end}"


def _link(page: str, campaign: str, key: object, words: str) -> SafeString:
    return markup('<a href="{}">{}</a>', address_of(page, campaign, key), words)


@lru_cache(maxsize=1024)
def _around_number(page: str, campaign: str, *rest: str) -> tuple[str, str]:
    start, _, end = reverse(page, args=[campaign, 0, *rest]).rpartition("0")
    return start, end


def _text(row: QueryRow) -> SafeString:
    ids = " = ".join([row.query.query_id, *row.query.aliases])
    first = row.batches[0].batch if row.batches else None
    if first is None:
        return markup('{} <span class="quiet">{}</span>', row.query.text, ids)
    address = address_of("batch", row.query.campaign.name, first.pk)
    return markup('<a class="plain" href="{}">{}</a> <span class="quiet">{}</span>', address, row.query.text, ids)


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def _squares(row: QueryRow) -> SafeString:
    if not row.batches:
        return markup('<span class="quiet">{}</span>', "not ranked yet")
    square = '<a class="square {0}" href="{1}" title="Batch {2}: {3}">{2}<span class="hidden">: {3}</span></a>'
    name = row.query.campaign.name
    return joined_markup(
        square,
        (
            (batch.look, address_of("batch", name, batch.batch.pk), batch.batch.number, batch.words)
            for batch in row.batches
        ),
    )


SQUARE, STEP = 6, 7  # of the bar code of a query, in pixels


def _bar_code(row: QueryRow) -> SafeString:
    """Draw the grades of a query in the order of ranks, as one path for each grade; contested pairs have a ring."""
    if not row.pairs:
        return SafeString("")
    places: dict[str, list[int]] = {}
    for place, pair in enumerate(row.pairs):
        places.setdefault("open" if pair.grade is None else f"g{pair.grade}", []).append(place)
        if pair.escalated:
            places.setdefault("ring", []).append(place)
    drawn = "".join(
        f'<path class="{look}" d="{"".join(f"M{place * STEP + 1} 3h{SQUARE}v12h-{SQUARE}z" for place in found)}"/>'
        for look, found in sorted(places.items())  # a ring comes last
    )
    relevant = sum((pair.grade or 0) > 0 for pair in row.pairs)
    words = f"{relevant} of {len(row.pairs)} relevant, {len(places.get('ring', ()))} contested"
    svg = '<svg class="bar-code" width="{0}" height="18" viewBox="0 0 {0} 18" role="img" aria-label="{1}">{2}</svg>'
    return markup(svg, len(row.pairs) * STEP + 2, words, SafeString(drawn))


def _query_of_batch(line: BatchLine) -> SafeString:
    query = line.batch.query
    link = _link("batch", query.campaign.name, line.batch.pk, query.text)
    return markup('{} <span class="quiet">{}</span>', link, query.query_id)


def _query_of_flag(line: FlagLine) -> SafeString:
    candidate = line.flag.candidate
    if candidate.batch_id is None:
        return markup("{}", candidate.query)
    address = address_of("batch", candidate.query.campaign.name, candidate.batch_id)
    return markup('<a href="{}#rank-{}">{}</a>', address, candidate.rank, candidate.query)


def _video(moment: Moment) -> SafeString:
    return markup('<a class="plain" href="?{}">{}</a>', urlencode({"video": moment.video.name}), moment.video.name)


def _description(moment: Moment) -> SafeString:
    caption = f"Caption: {moment.caption}" if moment.caption != moment.description else ""
    return _lines(markup('<a class="plain" href="?moment={}">{}</a>', moment.pk, moment.description), _quiet(caption))


def _query_of(line: JudgementRow) -> SafeString:
    candidate = line.judgement.candidate
    return markup('<a class="plain" href="?query={}">{}</a>', candidate.query_id, candidate.query)


def _rank(line: JudgementRow) -> SafeString:
    candidate = line.judgement.candidate
    rank = _link("batch", candidate.query.campaign.name, candidate.batch_id, f"rank {candidate.rank}")
    if not candidate.clip or not candidate.clip.is_ready:
        return rank
    return _whole(markup('{} <a href="{}">clip</a>', rank, reverse("clip", args=[candidate.clip.token])))


def _worker(judgement: Judgement | None, reader: Membership | None) -> object:
    if judgement is None or reader is None:
        return markup('<span class="quiet">{}</span>', "not yet")
    who = judgement.annotator.as_worker
    return _whole(_link("annotator", reader.campaign.name, who.worker, _numbered(who, reader)))


def _numbered(who: Membership, reader: Membership) -> str:
    """A worker's number; for the lead with the name."""
    return f"{who.worker} {name_for(who, reader)}".rstrip()


def _grade(judgement: Judgement | None) -> object:
    return markup('<span class="dot g{0}">{0}</span>', judgement.grade) if judgement else ""


def _whole(words: object) -> SafeString:
    """Write what stays on one line."""
    return markup('<span class="whole">{}</span>', words)


def _lines(*lines: object) -> SafeString:
    """Lines below each other, without the empty ones."""
    return SafeString("<br>".join(markup("{}", line) for line in lines if line))


def _quiet(words: str) -> object:
    return markup('<span class="quiet">{}</span>', words) if words else ""


def _annotator(row: AnnotatorLine) -> SafeString:
    """The number and the name, and what needs the lead, or the state or role of who does not judge."""
    member = row.member
    link = _link("annotator", member.campaign.name, row.worker, f"{row.worker} {row.name}")
    other = "" if member.is_annotator else member.get_role_display()
    quiet = other or (member.get_state_display().capitalize() if member.has_left else "idle" if row.is_idle else "")
    return markup('{} {}<span class="due">{}</span>', link, _quiet(quiet), ", ".join(row.slips))


def _week(row: AnnotatorLine) -> str:
    return plain(row.week) + (f" of {row.member.most_a_week:,}" if row.member.most_a_week else "")


def _alpha(row: AnnotatorLine) -> object:
    if row.alpha is None:
        return _quiet("too few pairs")
    ends = row.number("alpha_low"), row.number("alpha_high")
    drawn = mark(row.alpha, ends, (0, 1), FIRM, 144, row.is_low)
    return markup('{} <span title="{}">{}</span>', drawn, _interval(*ends), decimals(row.alpha, 2))


def _severity(row: AnnotatorLine) -> object:
    if row.severity is None:
        return _quiet("too few pairs")
    ends = row.number("severity_low"), row.number("severity_high")
    drawn = mark(row.severity, ends, (-1, 1), 0, 112, row.is_far)
    return markup('{} <span title="{}">{}</span>', drawn, _interval(*ends), signed(row.severity))


def _interval(low: float | None, high: float | None) -> str:
    words = interval((low, high), 2)  # type: ignore[arg-type]  # one that is unknown is none
    return f"95 % interval {words}" if words else "no interval yet"


def _checks(row: AnnotatorLine) -> object:
    checks = row.checks
    if not checks.recent:
        return UNKNOWN
    look = "due" if row.is_missing else ""
    address = address_of("annotator", row.member.campaign.name, row.worker)
    dots = missed_dots(checks.recent_missed, checks.recent)
    link = '<a class="plain {}" href="{}?view=checks&amp;pairs=newest">{}{}/{}</a>'
    return markup(link, look, address, dots, checks.recent_missed, checks.recent)


def _seen(row: AnnotatorLine) -> str:
    return UNKNOWN if row.seen is None else "today" if not row.seen else f"{row.seen} d"


def _judgements_of(name: str, only: str = "") -> Callable[[AnnotatorLine], object]:
    """Return how to write a share that links to the judgements which it was made from."""

    def written(row: AnnotatorLine) -> object:
        share = row.number(name)
        address = reverse("judgements", args=[row.member.campaign.name])
        link = '<a class="plain" href="{}?worker={}&amp;only={}">{}</a>'
        return UNKNOWN if share is None else markup(link, address, row.worker, only or name, percent(share))

    return written


CELLS: dict[type, dict[str, Callable[[Any], object]]] = {
    QueryRow: {
        "text": _text,
        "batches": _squares,
        "grades": _bar_code,
        "contested": lambda row: _percent(row.query.contested_share),
    },
    AnnotatorLine: {
        "name": _annotator,
        "role": lambda row: row.member.get_role_display(),
        "state": lambda row: row.member.get_state_display().capitalize(),
        "group": lambda row: row.member.group or UNKNOWN,
        "days": lambda row: day_bars(row.days, row.top),
        "week": _week,
        "alpha": _alpha,
        "severity": _severity,
        "difference": lambda row: signed(row.number("difference")),
        "contested": _judgements_of("contested"),
        "settled": _judgements_of("settled"),
        "fast": _judgements_of("fast"),
        "checks": _checks,
        "pay": lambda row: UNKNOWN if row.pay is None else f"{row.pay:,.2f}",
        "seen": _seen,
    },
    BatchLine: {
        "query": _query_of_batch,
        "state": lambda line: _whole(line.state),
        "advice": lambda line: capfirst(line.advice),
    },
    FlagLine: {
        "query": _query_of_flag,
        "worker": lambda line: _whole(_numbered(line.flag.assignment.annotator, line.reader)),
    },
    Moment: {"video": _video, "seconds": lambda moment: decimals(moment.length, 2), "description": _description},
    Run: {
        "name": lambda run: _link("run", run.by.campaign.name, run.number, run.name),
        "visibility": lambda run: run.visibility.capitalize(),
        "release": lambda run: run.release or _quiet("none yet"),
    },
    LogEntry: {"before": lambda entry: entry.before or UNKNOWN, "after": lambda entry: entry.after or UNKNOWN},
    JudgementRow: {
        "query": _query_of,
        "rank": _rank,
        "worker": lambda line: _worker(line.judgement, line.reader),
        "grade": lambda line: _grade(line.judgement),
        "doubt": lambda line: DOUBT if line.judgement.is_doubtful else "",
        "other": lambda line: _worker(line.other, line.reader),
        "other_grade": lambda line: _grade(line.other),
    },
}


@register.filter
def of_total(rows: str, total: int) -> str:
    """What the rows of a list are called, in the plural unless there is one.

    >>> of_total("queries", 1), of_total("runs", 1), of_total("annotators", 2)
    ('query', 'run', 'annotators')
    """
    return SINGULAR.get(rows, rows.removesuffix("s")) if total == 1 else rows


SINGULAR = {"queries": "query", "entries": "entry", "batches": "batch", "annotators": "annotator"}
SINGULAR |= {"judgements that count": "judgement that counts"}


def cell(row: Any, column: Column) -> object:
    """What a row has in a column."""
    if own := CELLS.get(type(row), {}).get(column.key):
        return own(row)
    value = column.value(row)
    if column.places is not None:
        return decimals(value, column.places)
    if column.is_time:
        return _whole(time_of(value) if value else UNKNOWN)
    if isinstance(value, datetime):
        return markup('<span class="when">{}</span>', f"{timesince(value, depth=1)} ago")
    return plain(value)


@register.filter
def recommended(lines: list[BatchLine]) -> list[BatchLine]:
    """The batches for which the grades recommend a verdict."""
    return [line for line in lines if line.recommendation and line.recommendation.verdict]


@register.simple_tag
def list_rows(listed: ListPart, ticks: object, line_before: tuple[int, str] | None = None) -> SafeString:
    """Write the rows of a list, which is faster here than in a template, cell by cell.

    line_before: the key of a row above which there is a line across the table, and the words on it.
    """
    box = '<td class="ticks"><input type="checkbox" name="row" value="{}" aria-label="Tick {}"></td>'
    cells = [
        (column, markup('<td{} data-label="{}">', SafeString(' class="n"' if column.is_number else ""), column.label))
        for column in listed.choices.columns
    ]
    across = '<tr class="ready-line"><td colspan="{}">{}</td></tr>'
    key, words = line_before or (None, "")
    return joined_markup(
        "{}<tr>{}{}</tr>",
        (
            (
                markup(across, len(cells) + bool(ticks), words) if pk == key else "",
                markup(box, getattr(line, "tick", pk), line) if ticks else "",
                joined_markup("{}{}</td>", ((start, cell(line, column)) for column, start in cells)),
            )
            for line, pk in zip(listed.lines, listed.keys, strict=False)
        ),
    )


@register.simple_tag
def when_in_film(moment: Moment) -> SafeString:
    """Write the film of a moment, and its times with two decimals if they have any."""
    start, end = (f"{seconds:.2f}".removesuffix(".00") for seconds in (moment.start, moment.end))
    return markup('<span class="quiet">{}</span> <span class="quiet n">{}–{} s</span>', moment.video, start, end)


@register.simple_tag
def marks(row: CandidateRow) -> SafeString:
    """Write what stands on and below the clip of a candidate: rank, final grade, and raw grades with who gave them."""
    candidate, own = row.candidate, row.adjudication
    rank = f'<a class="rank" href="#rank-{candidate.rank}">{candidate.rank}</a>'
    final = f'<span class="dot final g{candidate.grade}">{candidate.grade}</span>'
    if own:
        by_lead = '<span class="dot final own g{0}" title="Graded by the lead: {1}">{0}</span>'
        final = markup(by_lead, candidate.grade, own.reason)
    elif candidate.grade is None:
        final = ""
    grades = (
        (
            grade.judgement.grade,
            " struck" if grade.struck else "",
            capfirst(grade.words),
            f". {grade.why_struck}" if grade.struck else "",
            DOUBT if grade.judgement.is_doubtful else "",
        )
        for grade in row.grades
    )
    flags = ((capfirst(flag.words),) for flag in row.flags)
    dots = joined_markup('<span class="dot g{0}{1}" title="{2}{3}">{0}</span>{4} ', grades)
    if row.flags:
        dots += joined_markup('<span class="flagged" title="{}">⚑</span> ', flags)
    if candidate.grade is None:
        dots += markup('<span class="quiet">{}</span>', candidate.outcome)
    return SafeString(f'{rank}{final}<p class="under">{dots}</p>')


DOTS = {grade: markup('<span class="dot g{0}">{0}</span> ', grade) for grade in GRADES}


@register.simple_tag
def exam_grades(pair: Pair) -> SafeString:
    """Write the first grades that a pair of the exam got, and how many flagged it."""
    grades = SafeString("".join(DOTS[grade] for grade in pair.grades))
    flags = markup('<span class="flagged">⚑ {}</span>', pair.flags) if pair.flags else ""
    return markup("{}{}", grades or markup('<span class="quiet">{}</span> ', "none yet"), flags)


@register.simple_tag
def alpha_ruler(alpha: float | None, ends: list[float] | None) -> object:
    return UNKNOWN if alpha is None else ruler(alpha, ends)


@register.simple_tag
def annotator_bars(numbers: list[int]) -> SafeString:
    return day_bars(numbers, max(numbers), WIDE_DAY, TALL)


register.simple_tag(bar_code, name="code")
