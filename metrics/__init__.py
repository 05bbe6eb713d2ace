"""Measures for video moment retrieval: scores of runs against graded relevance judgements, and what surrounds them.

Installed, the package is called `reeljudge`; in a checkout, `metrics`. It needs NumPy and SciPy, and nothing else.
Each name below is imported when it is first used, so that `import reeljudge` costs nothing.

    from reeljudge import calc_aggregate
    calc_aggregate(["nDCG_IoU(iou=0.5)@20"], "qrels.jsonl", "run.json")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # isort: off
    from .analysis.agreement import (
        Calibration as Calibration,
        alpha as alpha,
        calibration as calibration,
        kappa as kappa,
    )
    from .analysis.compare import compare as compare, compare_scores as compare_scores
    from .analysis.comparison import Comparison as Comparison, grouped as grouped
    from .analysis.estimates import (
        Estimator as Estimator,
        estimate as estimate,
        estimate_difference as estimate_difference,
    )
    from .analysis.fusion import fuse as fuse, temporal_nms as temporal_nms
    from .analysis.planning import (
        Spread as Spread,
        queries_alone as queries_alone,
        queries_to_judge as queries_to_judge,
    )
    from .analysis.project import project as project
    from .analysis.sampling import Estimate as Estimate
    from .client.calls import RunRefused as RunRefused
    from .client.client import AsyncClient as AsyncClient, Client as Client, run as run
    from .client.requests import ApiError as ApiError
    from .formats.csv_tables import Ratings as Ratings, read_ratings as read_ratings
    from .formats.dicts import qrels_from_dict as qrels_from_dict, run_from_dict as run_from_dict
    from .formats.errors import MeasureError as MeasureError, MeasureWarning as MeasureWarning
    from .formats.moment_ids import moment_id as moment_id, parse_moment_id as parse_moment_id
    from .formats.pool import Pool as Pool, as_pool as as_pool, read_pool as read_pool
    from .formats.predicted import read_predicted as read_predicted
    from .formats.qrels import as_qrels as as_qrels, read_qrels as read_qrels
    from .formats.release import LoadedRelease as LoadedRelease, example as example, load_release as load_release
    from .formats.runs import as_run as as_run, read_run as read_run
    from .formats.tables import Qrels as Qrels, Run as Run
    from .measures.conventions import (
        CONVENTIONS as CONVENTIONS,
        Convention as Convention,
        Options as Options,
        convention_named as convention_named,
    )
    from .measures.definitions import (
        nDCG_IoU as nDCG_IoU,
        Recall_IoU as Recall_IoU,
        Recall_Further as Recall_Further,
        AxIoU as AxIoU,
        NCxIoU as NCxIoU,
        Success_IoU as Success_IoU,
        Success_Video as Success_Video,
        AP_IoU as AP_IoU,
        DCG_IoU as DCG_IoU,
        MedianRank as MedianRank,
        StdRank as StdRank,
        Judged as Judged,
        mAP_IoU as mAP_IoU,
        Rank as Rank,
        mIoU as mIoU,
        nDCG as nDCG,
        P as P,
        R as R,
        RR as RR,
        AP as AP,
        infAP as infAP,
        xinfAP as xinfAP,
        HIT as HIT,
        mAP_Saliency as mAP_Saliency,
        mR as mR,
        Matched_IoU as Matched_IoU,
        Matched_Further as Matched_Further,
        Set_IoU as Set_IoU,
        Silence as Silence,
        Rejection_F1 as Rejection_F1,
        Rejection_Accuracy as Rejection_Accuracy,
        Rejection_AUC as Rejection_AUC,
        default_measures as default_measures,
        parse_measure as parse_measure,
        parse_measures as parse_measures,
    )
    from .measures.evaluate import (
        Evaluator as Evaluator,
        calc as calc,
        calc_aggregate as calc_aggregate,
        evaluator as evaluator,
        iter_calc as iter_calc,
        scores_of as scores_of,
    )
    from .measures.explain import Explained as Explained, explain as explain
    from .measures.matching import temporal_iou as temporal_iou
    from .measures.measure import Measure as Measure
    from .measures.results import QueryValue as QueryValue, Scores as Scores

__version__ = "0.2.0"

_MEASURES = (
    *("nDCG_IoU", "Recall_IoU", "Recall_Further", "AxIoU", "NCxIoU", "Success_IoU", "Success_Video", "AP_IoU"),
    *("DCG_IoU", "MedianRank", "StdRank", "Judged", "mAP_IoU", "Rank", "mIoU", "nDCG", "P", "R", "RR", "AP"),
    *("infAP", "xinfAP", "HIT", "mAP_Saliency", "mR", "Matched_IoU", "Matched_Further", "Set_IoU", "Silence"),
    *("Rejection_F1", "Rejection_Accuracy", "Rejection_AUC"),
)
_NAMES = {
    ".analysis.agreement": ("Calibration", "alpha", "calibration", "kappa"),
    ".analysis.compare": ("compare", "compare_scores"),
    ".analysis.comparison": ("Comparison", "grouped"),
    ".analysis.estimates": ("Estimator", "estimate", "estimate_difference"),
    ".analysis.fusion": ("fuse", "temporal_nms"),
    ".analysis.planning": ("Spread", "queries_alone", "queries_to_judge"),
    ".analysis.project": ("project",),
    ".analysis.sampling": ("Estimate",),
    ".client.client": ("AsyncClient", "Client", "run"),
    ".client.calls": ("RunRefused",),
    ".client.requests": ("ApiError",),
    ".formats.csv_tables": ("Ratings", "read_ratings"),
    ".formats.dicts": ("qrels_from_dict", "run_from_dict"),
    ".formats.errors": ("MeasureError", "MeasureWarning"),
    ".formats.moment_ids": ("moment_id", "parse_moment_id"),
    ".formats.pool": ("Pool", "as_pool", "read_pool"),
    ".formats.predicted": ("read_predicted",),
    ".formats.qrels": ("as_qrels", "read_qrels"),
    ".formats.release": ("LoadedRelease", "example", "load_release"),
    ".formats.runs": ("as_run", "read_run"),
    ".formats.tables": ("Qrels", "Run"),
    ".measures.conventions": ("CONVENTIONS", "Convention", "Options", "convention_named"),
    ".measures.definitions": (*_MEASURES, "default_measures", "parse_measure", "parse_measures"),
    ".measures.evaluate": ("Evaluator", "calc", "calc_aggregate", "evaluator", "iter_calc", "scores_of"),
    ".measures.explain": ("Explained", "explain"),
    ".measures.matching": ("temporal_iou",),
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
