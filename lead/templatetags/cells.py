"""The cells of lists, where they are more than a plain value, and other tags that write many small parts of a page.

Cells are written in Python: in a template, the 50 rows of a list take six times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timesince import timesince
from django.utils.timezone import localtime

from base.listing import Column, ListPart
from base.templatetags.figures import UNKNOWN, decimals, plain
from base.text import joined_markup, markup
from campaigns.models import LogEntry, Membership
from corpus.models import Moment
from judging.consensus import GRADES
from judging.models import Judgement
from reports.tables.batch import CandidateRow, name_for, time_of
from reports.tables.batches import BatchLine
from reports.tables.examinees import Pair
from reports.tables.judgements import JudgementRow
from reports.tables.people import PersonRow
from reports.tables.queries import QueryRow
from reports.tables.queue import FlagLine
from runs.models import Run

register = template.Library()


@register.simple_tag(name="address")
def address_of(page: str, campaign: str, key: object, *rest: str) -> str:
    """Return the address of a page that takes a campaign and a number; a list has hundreds of them."""
    start, end = _around_number(page, campaign, *rest)
    return f"{start}{key}{end}"


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


def _query_of_batch(line: BatchLine) -> SafeString:
    query = line.batch.query
    address = address_of("batch", query.campaign.name, line.batch.pk)
    return markup('<a href="{}">{}</a> <span class="quiet">{}</span>', address, query.text, query.query_id)


def _query_of_flag(line: FlagLine) -> SafeString:
    candidate = line.flag.candidate
    if candidate.batch_id is None:
        return markup("{}", candidate.query)
    address = address_of("batch", candidate.query.campaign.name, candidate.batch_id)
    return markup('<a href="{}#rank-{}">{}</a>', address, candidate.rank, candidate.query)


def _video(moment: Moment) -> SafeString:
    return markup('<a class="plain" href="?{}">{}</a>', urlencode({"video": moment.video.name}), moment.video.name)


def _description(moment: Moment) -> SafeString:
    address = reverse("corpus-moment", args=[moment.video.corpus.name, moment.pk])
    caption = f"Caption: {moment.caption}" if moment.caption != moment.description else ""
    return _lines(markup('<a class="plain" href="{}">{}</a>', address, moment.description), _quiet(caption))


def _run(run: Run) -> SafeString:
    return markup('<a href="{}">{}</a>', address_of("run", run.by.campaign.name, run.number), run.name)


def _query_of(line: JudgementRow) -> SafeString:
    candidate = line.judgement.candidate
    return markup('<a class="plain" href="?query={}">{}</a>', candidate.query_id, candidate.query)


def _rank(line: JudgementRow) -> SafeString:
    candidate = line.judgement.candidate
    batch = address_of("batch", candidate.query.campaign.name, candidate.batch_id)
    rank = markup('<a href="{}">rank {}</a>', batch, candidate.rank)
    if not candidate.clip or not candidate.clip.is_ready:
        return rank
    return _whole(markup('{} <a href="{}">clip</a>', rank, reverse("clip", args=[candidate.clip.token])))


def _worker(judgement: Judgement | None, reader: Membership | None) -> object:
    if judgement is None or reader is None:
        return markup('<span class="quiet">{}</span>', "not yet")
    who = judgement.annotator.as_worker
    address = address_of("agreement-annotator", reader.campaign.name, who.worker)
    return _whole(markup('<a href="{}">{}</a>', address, _numbered(who, reader)))


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


def _person_link(row: PersonRow, words: object) -> SafeString:
    return markup('<a href="{}">{}</a>', address_of("person", row.campaign, row.worker), words)


def _who(row: PersonRow) -> object:
    name: object = row.name
    invited = [row.invited_as] if row.member or row.applicant else []
    if row.member:
        name = _person_link(row, name)
    elif row.invitation and row.invitation.places and not row.applicant:
        name = _quiet(f"up to {row.invitation.places} people, {row.taken} so far")
    elif row.invitation and not row.invitation.seed and not row.applicant:
        name = _quiet("whoever has the link")
    return _lines(name, _quiet(", ".join(filter(None, [*invited, row.address]))), _quiet(row.group))


def _stage(row: PersonRow) -> object:
    """How far somebody has come, and what a lead can do about it: buttons of the page's form `decide`."""
    since = markup('<span class="quiet">, {}</span>', _local(row.since, "j M Y")) if row.since else ""
    stage = markup("{}{}", capfirst(row.stage.label), since)
    stage = markup('<span class="wrong">{}<br>{}</span>', stage, row.failed) if row.failed else stage
    holds = f"holds a batch since {_local(row.holds_since, 'j M, H:i')}" if row.holds_since else ""
    until = f"open until {_local(row.invitation.expires, 'j M, H:i')}" if row.is_open and row.invitation else ""
    return _lines(stage, _quiet(holds), _quiet(until), _decisions(row))


def _local(at: datetime, pattern: str) -> str:
    return date_format(localtime(at), pattern)


def _decisions(row: PersonRow) -> object:
    if row.applicant:
        decide = address_of("applicant", row.campaign, row.applicant.pk)
        buttons = [("Let in", decide, "approve", "", row.name), ("Refuse", decide, "refuse", "link", row.name)]
    elif row.invitation and not row.member:
        send, withdraw = (
            address_of(page, row.campaign, row.invitation.pk) for page in ("invitation-send", "invitation-withdraw")
        )
        end = "Remove" if row.is_expired else "Withdraw"
        again = [("Send again", send, "", "link", row.address)] if row.is_mailed and settings.MAILS else []
        buttons = [*again, (end, withdraw, "", "link", row.name)]
    else:
        return ""
    button = (
        '<button form="decide" formaction="{1}" name="action" value="{2}" class="{3}">{0}'
        '<span class="hidden"> {4}</span></button> '
    )
    return markup('<span class="buttons">{}</span>', joined_markup(button, buttons))


CELLS: dict[type, dict[str, Callable[[Any], object]]] = {
    QueryRow: {"text": _text, "batches": _squares, "contested": lambda row: _percent(row.query.contested_share)},
    PersonRow: {
        "worker": lambda row: _person_link(row, row.worker) if row.member else UNKNOWN,
        "name": _who,
        "role": lambda row: row.role.capitalize(),
        "stage": _stage,
        "batches": lambda row: UNKNOWN if row.is_imported or not row.member else plain(row.batches),
        "judgements": lambda row: plain(row.judgements) if row.member else UNKNOWN,
        "hours": lambda row: UNKNOWN if row.is_imported or not row.member else decimals(row.hours, 1),
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
        "name": _run,
        "visibility": lambda run: run.visibility.capitalize(),
        "release": lambda run: run.release or _quiet("none yet"),
    },
    LogEntry: {"before": lambda entry: entry.before or UNKNOWN, "after": lambda entry: entry.after or UNKNOWN},
    JudgementRow: {
        "query": _query_of,
        "rank": _rank,
        "worker": lambda line: _worker(line.judgement, line.reader),
        "grade": lambda line: _grade(line.judgement),
        "other": lambda line: _worker(line.other, line.reader),
        "other_grade": lambda line: _grade(line.other),
    },
}


@register.filter
def of_total(rows: str, total: int) -> str:
    """What the rows of a list are called, in the plural unless there is one.

    >>> of_total("queries", 1), of_total("runs", 1), of_total("people", 2)
    ('query', 'run', 'people')
    """
    return SINGULAR.get(rows, rows.removesuffix("s")) if total == 1 else rows


SINGULAR = {"queries": "query", "entries": "entry", "batches": "batch", "people": "person"}
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
def list_rows(listed: ListPart, ticks: object) -> SafeString:
    """Write the rows of a list, which is faster here than in a template, cell by cell."""
    box = '<td class="ticks"><input type="checkbox" name="row" value="{}" aria-label="Tick {}"></td>'
    cells = [
        (column, markup('<td{} data-label="{}">', SafeString(' class="n"' if column.is_number else ""), column.label))
        for column in listed.choices.columns
    ]
    return joined_markup(
        "<tr>{}{}</tr>",
        (
            (
                markup(box, line.pk, line) if ticks else "",
                joined_markup("{}{}</td>", ((start, cell(line, column)) for column, start in cells)),
            )
            for line in listed.lines
        ),
    )


@register.simple_tag
def when_in_film(moment: Moment) -> SafeString:
    """Write the film of a moment, and its times with two decimals if they have any."""
    start, end = (f"{seconds:.2f}".removesuffix(".00") for seconds in (moment.start, moment.end))
    return markup('<span class="quiet">{}</span> <span class="quiet n">{}–{} s</span>', moment.video, start, end)


@register.simple_tag
def dots(row: CandidateRow) -> SafeString:
    """Write the grades and flags of a candidate, each with who gave it."""
    grades = (
        (
            grade.judgement.grade,
            " struck" if grade.struck else "",
            capfirst(grade.words),
            f". {grade.why_struck}" if grade.struck else "",
        )
        for grade in row.grades
    )
    flags = ((capfirst(flag.words),) for flag in row.flags)
    return markup(
        "{}{}",
        joined_markup('<span class="dot g{0}{1}" title="{2}{3}">{0}</span> ', grades),
        joined_markup('<span class="flagged" title="{}">⚑</span> ', flags),
    )


DOTS = {grade: markup('<span class="dot g{0}">{0}</span> ', grade) for grade in GRADES}


@register.simple_tag
def exam_grades(pair: Pair) -> SafeString:
    """Write the first grades that a pair of the exam got, and how many flagged it."""
    grades = SafeString("".join(DOTS[grade] for grade in pair.grades))
    flags = markup('<span class="flagged">⚑ {}</span>', pair.flags) if pair.flags else ""
    return markup("{}{}", grades or markup('<span class="quiet">{}</span> ', "none yet"), flags)


@register.simple_tag(takes_context=True)
def matrix_cells(context: Mapping[str, Any], row: dict[str, Any]) -> SafeString:
    """Write the kappa of an annotator with each other one, their pairs, and the way to have these judged again."""
    cell = '<td><a{0} href="{1}?{2}">{3}</a> <span class="quiet">{4}</span>{5}</td>'
    again = ' <a class="again" href="{}?{}" title="{}">again</a>'
    may_reopen = context["member"].may_review and not context["campaign"].imported
    own, found = row["who"], []
    for other, numbers in row["cells"]:
        if other.pk == own.pk or not numbers:
            none = SafeString('<td class="none"><span class="hidden">no common pair</span></td>')
            found.append(SafeString('<td class="same"></td>') if other.pk == own.pk else none)
            continue
        params = markup("worker={}&amp;with={}", own.worker, other.worker)
        words = f"Have what worker {own.worker} judged beside worker {other.worker} judged again"
        link = markup(again, context["reopen"], params, words) if may_reopen else ""
        few = SafeString(' class="few"' if numbers[0] < context["few"] else "")
        found.append(markup(cell, few, context["list"], params, decimals(numbers[1], 2), plain(numbers[0]), link))
    return SafeString("".join(found))
