"""Measures for video moment retrieval: scores of runs against graded relevance judgements, and what surrounds them.

Installed, the package is called `reeljudge`; in a checkout, `metrics`. It needs NumPy and SciPy, and nothing else.
Each name below is imported when it is first used, so that `import reeljudge` costs nothing.

    from reeljudge import calc_aggregate
    calc_aggregate(["nDCG_IoU(iou=0.5)@20"], "qrels.jsonl", "run.json")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis.agreement import alpha as alpha
    from .analysis.agreement import kappa as kappa
    from .analysis.compare import Comparison as Comparison
    from .analysis.compare import compare as compare
    from .analysis.groups import grouped as grouped
    from .analysis.nms import temporal_nms as temporal_nms
    from .analysis.project import project as project
    from .client.async_client import AsyncClient as AsyncClient
    from .client.client import Client as Client
    from .client.requests import ApiError as ApiError
    from .client.uploads import RunRefused as RunRefused
    from .formats.dicts import qrels_from_dict as qrels_from_dict
    from .formats.dicts import run_from_dict as run_from_dict
    from .formats.errors import MeasureError as MeasureError
    from .formats.errors import MeasureWarning as MeasureWarning
    from .formats.moment_ids import moment_id as moment_id
    from .formats.moment_ids import parse_moment_id as parse_moment_id
    from .formats.qrels import as_qrels as as_qrels
    from .formats.qrels import read_qrels as read_qrels
    from .formats.ratings import Ratings as Ratings
    from .formats.ratings import read_ratings as read_ratings
    from .formats.runs import as_run as as_run
    from .formats.runs import read_run as read_run
    from .formats.tables import Qrels as Qrels
    from .formats.tables import Run as Run
    from .measures.conventions import CONVENTIONS as CONVENTIONS
    from .measures.conventions import Convention as Convention
    from .measures.conventions import Options as Options
    from .measures.conventions import convention_named as convention_named
    from .measures.evaluate import Evaluator as Evaluator
    from .measures.evaluate import calc as calc
    from .measures.evaluate import calc_aggregate as calc_aggregate
    from .measures.evaluate import evaluator as evaluator
    from .measures.evaluate import iter_calc as iter_calc
    from .measures.evaluate import scores_of as scores_of
    from .measures.explain import Explained as Explained
    from .measures.explain import explain as explain
    from .measures.grammar import default_measures as default_measures
    from .measures.grammar import parse_measure as parse_measure
    from .measures.grammar import parse_measures as parse_measures
    from .measures.iou import temporal_iou as temporal_iou
    from .measures.measure import Measure as Measure
    from .measures.results import QueryValue as QueryValue
    from .measures.results import Scores as Scores

__version__ = "0.1.0"

_NAMES = {
    ".analysis.agreement": ("alpha", "kappa"),
    ".analysis.compare": ("Comparison", "compare"),
    ".analysis.groups": ("grouped",),
    ".analysis.nms": ("temporal_nms",),
    ".analysis.project": ("project",),
    ".client.requests": ("ApiError",),
    ".client.async_client": ("AsyncClient",),
    ".client.client": ("Client",),
    ".client.uploads": ("RunRefused",),
    ".formats.errors": ("MeasureError", "MeasureWarning"),
    ".formats.moment_ids": ("moment_id", "parse_moment_id"),
    ".formats.ratings": ("Ratings", "read_ratings"),
    ".formats.qrels": ("as_qrels", "read_qrels"),
    ".formats.runs": ("as_run", "read_run"),
    ".formats.dicts": ("qrels_from_dict", "run_from_dict"),
    ".formats.tables": ("Qrels", "Run"),
    ".measures.conventions": ("CONVENTIONS", "Convention", "Options", "convention_named"),
    ".measures.evaluate": ("Evaluator", "calc", "calc_aggregate", "evaluator", "iter_calc", "scores_of"),
    ".measures.explain": ("Explained", "explain"),
    ".measures.grammar": ("default_measures", "parse_measure", "parse_measures"),
    ".measures.iou": ("temporal_iou",),
    ".measures.measure": ("Measure",),
    ".measures.results": ("QueryValue", "Scores"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
