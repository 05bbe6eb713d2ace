"""Video search campaigns: TRECVID's ad-hoc runs in XML, its sampled qrels for xinfAP, and submissions to DRES.

A shot of TRECVID is a moment by its id. It says its times if it is ``video@startms-endms``, or a side file does; any
other shot is a video of its own name, from 0 to 1 second, so that two shots are the same or have nothing in common.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from .columns import MOMENT, PREDICTION, Columns, Rows, Sampling
from .csv_tables import Times
from .errors import MeasureError, Place, show
from .json_files import Records, write_json
from .moment_ids import SHAPE, as_word, from_word, moment_id, parse_moment_id
from .tables import Qrels, Run, Table

SHOT = (0.0, 1.0)  # seconds of a shot whose times nobody tells
RUN, TOPIC, ITEM = "videoAdhocSearchRunResult", "videoAdhocSearchTopicResult", "item"
SAMPLED_LINE = "topic 0 shot stratum judgment"
UNSAMPLED = "-1"
OF_ITEM = ("seqNum", "shotId")
MOST_OF_A_TOPIC = 1_000_000


class Topic(NamedTuple):
    """A topic's attributes, and those of its items that are read."""

    attributes: dict[str, str]
    items: list[dict[str, str]]


def looks_like_xml(data: bytes) -> bool:
    return data.lstrip()[:1] == b"<"


def trecvid_run(data: bytes, source: str, times: Times | None = None) -> Columns:
    """An ad-hoc run in XML: `item` elements with `shotId` and `seqNum`, under a topic `tNum`; ranks are the scores."""
    rows = Rows(source, PREDICTION)
    for number, topic in enumerate(_topics(data, source), 1):
        place = Place(source, f"topic {number}")
        query = rows.new_query(place, topic.attributes, "tNum")
        items = sorted(_numbered(Place(source, f"topic {query!r}"), topic.items))
        if twice := [rank for rank, times_ in Counter(rank for rank, _ in items).items() if times_ > 1]:
            raise Place(source, f"topic {query!r}").fail(f"seqNum {twice[0]} stands twice; each item has its own")
        for n, (rank, shot) in enumerate(items):
            here = Place(source, f"topic {query!r}, item {rank}")
            rows.add(here, query, *_moment(here, shot, times), float(len(items) - n))
    return rows.columns()


def _topics(data: bytes, source: str) -> list[Topic]:
    """Read a run without building a tree, which would take many times the memory of the file."""
    found, opened = list[Topic](), list[str]()
    root, runs = "", 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal root, runs
        root = root or tag
        runs += tag == RUN
        if tag == TOPIC and RUN in opened:
            found.append(Topic(attributes, []))
        elif tag == ITEM and TOPIC in opened and found:
            found[-1].items.append({key: attributes[key] for key in OF_ITEM if key in attributes})
        if tag in (RUN, TOPIC):
            opened.append(tag)

    def end(tag: str) -> None:
        if tag in (RUN, TOPIC):
            opened.pop()

    def declare(_name: str, _system: str | None, _public: str | None, has_own: bool) -> None:
        if has_own:
            raise MeasureError(f"{source}: declares entities or attributes of its own, which runs in XML must not")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    # TRECVID's files name a document type elsewhere, which is not read. One in the file multiplies what it holds.
    parser.StartDoctypeDeclHandler = declare
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        what = str(problem).partition(":")[0]
        place = f"line {problem.lineno}, column {problem.offset + 1}"
        raise MeasureError(f"{source}: {place}: broken XML: {what}") from None
    if not runs:
        raise MeasureError(f"{source}: is XML with <{root}>, not a run; TRECVID's ad-hoc runs have <{RUN}>")
    if runs > 1:
        raise MeasureError(f"{source}: holds {runs} runs; a file must hold one <{RUN}>")
    return found


def _numbered(place: Place, items: list[dict[str, str]]) -> Iterator[tuple[int, str]]:
    for n, item in enumerate(items, 1):
        number = place.need(item, "seqNum")
        if not re.fullmatch(r"[0-9]{1,7}", number) or not 1 <= int(number) <= MOST_OF_A_TOPIC:
            raise place.fail(f"item {n}: seqNum is {show(number)}; it must be an integer from 1 up")
        yield int(number), place.need(item, "shotId")


def _moment(place: Place, shot: str, times: Times | None) -> tuple[str, float, float]:
    """Video, start and end of a shot."""
    if times is not None:
        if shot not in times:
            raise place.fail(f"shot {show(shot)} is not in the side file")
        return times[shot]
    if SHAPE.fullmatch(shot):
        return parse_moment_id(shot, str(place))
    return from_word(shot), *SHOT


def shots_of(table: Table, stamps: list[str]) -> list[str]:
    """The id of each row's shot: the name of its video where the file did not tell its times, or the moment's id."""
    rows = zip(table.videos, table.start.tolist(), table.end.tolist(), stamps, strict=True)
    return [_shot((video, start, end), stamp) for video, start, end, stamp in rows]


def _shot(moment: tuple[str, float, float], stamp: str) -> str:
    return as_word(moment[0]) if moment[1:] == SHOT else stamp


def run_as_trecvid(run: Run) -> str:
    """An ad-hoc run in XML, in the order in which the run lists its predictions."""
    shots = shots_of(run, run.stamps)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<videoAdhocSearchResults>"]
    lines.append(f'<{RUN} trType="D" class="F" priority="1" pid={quoteattr(run.name)} desc={quoteattr(run.name)}>')
    for query, here in run.slices():
        lines.append(f'<{TOPIC} tNum={quoteattr(query)} elapsedTime="0">')
        lines += [f'<{ITEM} seqNum="{rank}" shotId={quoteattr(shot)}/>' for rank, shot in enumerate(shots[here], 1)]
        lines.append(f"</{TOPIC}>")
    lines += [f"</{RUN}>", "</videoAdhocSearchResults>"]
    return "\n".join(lines) + "\n"


def xinfap_qrels(text: str, source: str, times: Times | None = None) -> Columns:
    """Sampled qrels, a line ``topic 0 shot stratum judgment``; a judgment of -1 says that the shot was in the pool and
    not in the sample. Such shots are not judged; they are kept in the qrels' `sampling`.
    """
    rows, strata, unsampled = Rows(source, MOMENT), list[str](), list[tuple[str, str, str]]()
    for number, line in enumerate(text.split("\n"), 1):
        if not (fields := line.split()):
            continue
        place = Place(source, f"line {number}")
        if len(fields) != len(SAMPLED_LINE.split()):
            raise place.fail(f"has {len(fields)} fields; it must be: {SAMPLED_LINE}")
        query, _, shot, stratum, judgment = fields
        rows.queries[from_word(query)] = None
        if judgment == UNSAMPLED:
            known = None if times and shot not in times else times  # no run can list a shot without times
            unsampled.append((from_word(query), moment_id(*_moment(place, shot, known)), stratum))
            continue
        if not re.fullmatch(r"[0-9]{1,9}", judgment):
            raise place.fail(f"judgment is {show(judgment)}; it must be -1, or an integer from 0 up")
        strata.append(stratum)
        rows.add(place, from_word(query), *_moment(place, shot, times), int(judgment))
    columns = rows.columns()
    columns.sampling = Sampling(tuple(strata), tuple(unsampled))
    return columns


def qrels_as_xinfap(qrels: Qrels) -> str:
    """Sampled qrels; what no sampling is known of stands in stratum 1, which is judged as a whole."""
    shots = shots_of(qrels, qrels.moments)
    strata = qrels.sampling.strata if qrels.sampling else ("1",) * len(shots)
    unsampled = qrels.sampling.unsampled if qrels.sampling else ()
    left: dict[str, list[str]] = {}
    for query, stamp, stratum in unsampled:
        shot = _shot(parse_moment_id(stamp), stamp)
        left.setdefault(query, []).append(f"{as_word(query)} 0 {shot} {stratum} {UNSAMPLED}\n")
    lines, grades = list[str](), qrels.grades.tolist()
    for query, here in qrels.slices():
        rows = zip(shots[here], strata[here], grades[here], strict=True)
        lines += [f"{as_word(query)} 0 {shot} {stratum} {grade}\n" for shot, stratum, grade in rows]
        lines += left.get(query, [])
    return "".join(lines)


def dres_run(records: Records) -> Columns:
    """Submissions to DRES, the answers of a task in the order given: ``{"answerSets": [{"taskName", "answers":
    [{"mediaItemName", "start", "end"}]}]}`` with milliseconds, or as the server lists them, with an `item` that has a
    `name`. Answers that are a text or a whole item are passed over and counted; ranks are the scores.
    """
    rows, others = Rows(records.source, PREDICTION), list[str]()
    found: dict[str, list[tuple[Place, str, float, float]]] = {}
    for place, record in records:
        for task, here, answer in _answers(place, record):
            held = found.setdefault(task, [])
            item = answer.get("mediaItemName", answer.get("item"))
            if item is None or answer.get("start") is None or answer.get("end") is None:
                others.append(here.spot)
                continue
            name = here.need(item, "name") if isinstance(item, dict) else item
            held.append((here, name, *(_seconds(here, answer, key) for key in ("start", "end"))))
    for task, answers in found.items():
        rows.queries[task] = None
        for n, (here, video, start, end) in enumerate(answers):
            rows.add(here, task, video, start, end, float(len(answers) - n))
    if others:
        rows.notes.append(f"{len(others)} answers name no span (the first: {others[0]}) and are passed over")
    return rows.columns()


def _answers(place: Place, record: Any) -> Iterator[tuple[str, Place, dict[str, Any]]]:
    """Each answer of a submission with its task."""
    sets = place.many(place.need(record, "answerSets", "answers"), "answerSets")
    for n, each in enumerate(sets, 1):
        here = Place(place.source, f"{place.spot}, answer set {n}")
        named = {key: each[key] for key in ("taskName", "taskId") if isinstance(each, dict) and each.get(key)}
        task = here.query(here.need(named, "taskName", "taskId"))
        for m, answer in enumerate(here.many(here.need(each, "answers"), "answers"), 1):
            where = Place(place.source, f"{here.spot}, answer {m}")
            if not isinstance(answer, dict):
                raise where.fail(f"is {show(answer)}; it must be an object")
            yield task, where, answer


def _seconds(place: Place, answer: dict[str, Any], key: str) -> float:
    if type(answer[key]) not in (int, float):
        raise place.fail(f"{key} is {show(answer[key])}; it must be a number of milliseconds")
    return float(answer[key] / 1000)


def run_as_dres(run: Run) -> str:
    """One submission to DRES, with an answer set for each query; times are rounded to milliseconds."""
    sets = [
        {
            "taskName": query,
            "answers": [
                {"mediaItemName": video, "start": round(1000 * start), "end": round(1000 * end)}
                for video, start, end, _ in rows
            ],
        }
        for query, rows in run.rows(run.scores)
    ]
    return write_json({"answerSets": sets})
