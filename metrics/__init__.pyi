"""The public names with their modules: type checkers read them here, and so does the package itself."""

from .analysis.agreement import Calibration as Calibration, alpha as alpha, calibration as calibration, kappa as kappa
from .analysis.compare import compare as compare, compare_scores as compare_scores
from .analysis.comparison import Comparison as Comparison, grouped as grouped
from .analysis.estimates import Estimator as Estimator, estimate as estimate, estimate_difference as estimate_difference
from .analysis.fusion import fuse as fuse, temporal_nms as temporal_nms
from .analysis.planning import Spread as Spread, queries_alone as queries_alone, queries_to_judge as queries_to_judge
from .analysis.project import project as project
from .analysis.sampling import Estimate as Estimate
from .client.client import Client as Client, run as run
from .client.requests import ApiError as ApiError, RunRefused as RunRefused
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
from .measures.conventions import CONVENTIONS as CONVENTIONS, Convention as Convention, Options as Options
from .measures.conventions import convention_named as convention_named
from .measures.definitions import AP as AP, HIT as HIT, RR as RR, AP_IoU as AP_IoU, AxIoU as AxIoU, DCG_IoU as DCG_IoU
from .measures.definitions import Judged as Judged, Matched_Further as Matched_Further, Matched_IoU as Matched_IoU
from .measures.definitions import MedianRank as MedianRank, NCxIoU as NCxIoU, P as P, R as R, Rank as Rank
from .measures.definitions import Recall_Further as Recall_Further, Recall_IoU as Recall_IoU
from .measures.definitions import Rejection_Accuracy as Rejection_Accuracy, Rejection_AUC as Rejection_AUC
from .measures.definitions import Rejection_F1 as Rejection_F1, Set_IoU as Set_IoU, Silence as Silence
from .measures.definitions import StdRank as StdRank, Success_IoU as Success_IoU, Success_Video as Success_Video
from .measures.definitions import default_measures as default_measures, infAP as infAP, mAP_IoU as mAP_IoU
from .measures.definitions import mAP_Saliency as mAP_Saliency, mIoU as mIoU, mR as mR, nDCG as nDCG
from .measures.definitions import nDCG_IoU as nDCG_IoU, parse_measure as parse_measure, parse_measures as parse_measures
from .measures.definitions import xinfAP as xinfAP
from .measures.evaluate import Evaluator as Evaluator, calc as calc, calc_aggregate as calc_aggregate
from .measures.evaluate import evaluator as evaluator, iter_calc as iter_calc, scores_of as scores_of
from .measures.explain import Explained as Explained, explain as explain
from .measures.matching import temporal_iou as temporal_iou
from .measures.measure import Measure as Measure
from .measures.results import QueryValue as QueryValue, Scores as Scores

__all__: list[str]
__version__: str
