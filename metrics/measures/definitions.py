"""Every measure that there is: its name, parameters, family, and how it is computed on a scene."""

from . import didemo, graded, highlights, hits, plain
from .measure import Definition
from .spellings import one_of

ALL = (
    Definition("nDCG_IoU", "graded", graded.ndcg_iou, ("iou", "gain", "discount"), ("iou",)),
    Definition("Recall_IoU", "graded", graded.recall_iou, ("iou", "rel"), ("iou",)),
    Definition("AxIoU", "hit", hits.axiou, ("lb", "rel")),
    Definition("NCxIoU", "hit", hits.ncxiou, ("p", "phi", "rel"), ("p",)),
    Definition("Success_IoU", "hit", hits.success_iou, ("iou", "rel", "task", "type", "length", "max_rank"), ("iou",)),
    Definition("Success_Video", "hit", hits.success_video, ("rel", "type")),
    Definition("AP_IoU", "hit", hits.ap_iou, ("iou", "rel"), ("iou",)),
    Definition(
        "DCG_IoU",
        "hit",
        hits.dcg_iou,
        ("gain", "discount", "rel"),
        readers={"gain": one_of("linear", "exp")},  # the gain of an IoU, not of a grade
        share=False,
    ),
    Definition(
        "MedianRank",
        "hit",
        hits.hit_rank,
        ("iou", "rel", "max_rank"),
        ("iou",),
        cutoff="none",
        aggregate="median",
        share=False,
    ),
    Definition(
        "StdRank",
        "hit",
        hits.hit_rank,
        ("iou", "rel", "max_rank"),
        ("iou",),
        cutoff="none",
        aggregate="std",
        share=False,
    ),
    Definition("Judged", "hit", hits.judged, ("iou",), (), (("iou", "0.5"),)),
    Definition("mAP_IoU", "detection", graded.map_iou, ("iou", "rel", "length"), ("iou",), cutoff="optional"),
    Definition("Rank", "hit", didemo.rank_within, ("rel",)),
    Definition("mIoU", "hit", didemo.mean_iou, ("rel",), cutoff="none"),
    Definition("nDCG", "plain", plain.ndcg, ("gain", "discount"), cutoff="optional"),
    Definition("P", "plain", plain.precision, ("rel",)),
    Definition("R", "plain", plain.recall, ("rel",)),
    Definition("RR", "plain", plain.reciprocal_rank, ("rel",), cutoff="optional"),
    Definition("AP", "plain", plain.average_precision, ("rel",), cutoff="optional"),
    Definition("HIT", "highlight", highlights.hit, ("level",)),
    Definition("mAP_Saliency", "highlight", highlights.highlight_ap, ("level",), cutoff="none"),
)
DEFINITIONS = {definition.name: definition for definition in ALL}
