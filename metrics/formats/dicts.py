"""Qrels and runs from dicts of lists, ``{query: [(video, start, end, value), …]}`` or with objects in the lists."""

from collections.abc import Iterable, Mapping
from typing import Any

from .checks import Checks
from .columns import MOMENT, PREDICTION, Columns, Kind
from .errors import MeasureError, Place, show
from .json_files import no_collecting
from .lists import columns_of, one_by_one
from .names import HIGHEST_GRADE
from .tables import Qrels, Run

Lists = Mapping[Any, Iterable[Any]]


def run_from_dict(predictions: Lists, name: str = "run", lenient: bool = True) -> Run:
    """A run from ``{query: [(video, start, end, score), …]}``, in rank order.

    lenient: predictions that stand twice, end before they start, or lie before 0 are counted and warned of;
    False: the first is an error.
    """
    return Run.build(_columns(predictions, name, PREDICTION), name, Checks(lenient))


def qrels_from_dict(moments: Lists, lenient: bool = False, highest: int = HIGHEST_GRADE) -> Qrels:
    """Qrels from ``{query: [(video, start, end, grade), …]}``.

    lenient: moments that stand twice, have two grades or one above `highest`, end before they start, or lie
    before 0 are counted and warned of, instead of being an error.
    """
    return Qrels.build(_columns(moments, "qrels", MOMENT), Checks(lenient, highest))


def _columns(found: Lists, source: str, kind: Kind) -> Columns:
    if not isinstance(found, Mapping):
        raise MeasureError(f"{source}: is {show(found)}; it must be a dict from query to a list of {kind.row}s")
    lists = {query: _list(source, query, items, kind) for query, items in found.items()}
    with no_collecting():
        columns = columns_of(lists, source, kind)
    return columns or one_by_one(lists, source, kind, lambda place, item: _item(place, item, kind))


def _list(source: str, query: Any, items: Any, kind: Kind) -> list[Any]:
    if isinstance(items, Iterable) and not isinstance(items, str):
        return items if isinstance(items, list) else list(items)
    raise Place(source, f"query {str(query)!r}").fail(f"is {show(items)}; it must be a list of {kind.row}s")


def _item(place: Place, item: Any, kind: Kind) -> tuple[Any, Any, Any, Any]:
    """Video, start, end and value of a tuple or list of four, or of an object."""
    if isinstance(item, Mapping):
        value = next((item[name] for name in kind.fields if name in item), None)
        try:
            start, end = item["timestamp"]
            return item["video_name"], start, end, value
        except (KeyError, TypeError, ValueError) as problem:
            raise place.fail(f"needs video_name and timestamp [start, end]; wrong: {problem}") from None
    if not isinstance(item, tuple | list) or len(item) != 4:
        raise place.fail(f"must be (video, start, end, {kind.word}) or an object with those fields")
    return tuple(item)
