"""How others write measures: the spellings that are read, and the tables of the published evaluators.

Names of evaluators are read as these write them: `map` is trec_eval's average precision by moment id, `mAP` that of
detection. A spelling that the field uses for several measures, such as `MAP`, is refused, and the message names them.
"""

import re
from collections.abc import Callable, Iterable

NUMBER = r"[0-9]*\.?[0-9]+(?:e-?[0-9]+)?"
STEPS = "0.5:0.05:0.95"  # thresholds of QVHighlights
EXISTS = "0.4"  # existence score from which GMR takes a list for an answer
LEVELS = {"fair": "2", "good": "3", "verygood": "4"}
PAPER_SPELLINGS = {
    "nDCG_IoU": "NDCG@{k}, IoU≥{iou}",
    "Success_IoU": "R@{k},{iou}",
    "AP_IoU": "AP@{k},{iou}",
    "MedianRank": "MedRank@{iou}",
}
AT = rf"(?:[,(@]|(?=IoU))(?:IoU)?(?:>=|=|>|@)?({NUMBER})\)?"  # a threshold after a cutoff
MAP = f"mAP_IoU(iou={STEPS})"


def _length(word: str) -> str:
    """The parameter of a range of lengths, as QVHighlights names it."""
    return "" if word.lower() == "full" else f",length={word.lower()}"


ALIASES: list[tuple[str, Callable[[re.Match[str]], str]]] = [  # patterns, (?i): whatever their case; our spellings
    (rf"(?i)NDCG@(\d+),?IoU(?:>=|=|>|@)?({NUMBER})", lambda m: f"nDCG_IoU(iou={m[2]})@{m[1]}"),
    (rf"(?i)(?:R|Rank|Recall)@?(\d+){AT}", lambda m: f"Success_IoU(iou={m[2]})@{m[1]}"),
    (rf"(?i)Rank@(\d+)mIoU@({NUMBER})", lambda m: f"Success_IoU(iou={m[2]})@{m[1]}"),
    (rf"(?i)AP@(\d+){AT}", lambda m: f"AP_IoU(iou={m[2]})@{m[1]}"),
    (r"mAP", lambda m: MAP),
    (rf"(?i)mAP@({NUMBER})(?<!@1)(?<!@[1-9]\d)", lambda m: f"mAP_IoU(iou={m[1]})"),
    (r"(?i)mAP[@_-]?(?:avg|\[?0?\.5:(?:0?\.05:)?0?\.95\]?)", lambda m: MAP),
    (r"(?i)G-mAP", lambda m: MAP),
    (r"(?i)mAP@(\d+\+?)_?tgt", lambda m: f"mAP_IoU(iou={STEPS},targets={m[1]})"),
    (r"(?i)mIoU@(\d+)", lambda m: f"Matched_IoU@{m[1]}"),
    (r"(?i)mR\+@(\d+)", lambda m: f"Recall_Further(iou={STEPS})@{m[1]}"),
    (r"(?i)mIoU\+@(\d+)", lambda m: f"Matched_Further@{m[1]}"),
    (r"(?i)G-mIoU@(\d+)", lambda m: f"Set_IoU@{m[1]}"),
    (rf"(?i)Rej-F1@({NUMBER})", lambda m: f"Rejection_F1(above={m[1]})"),
    (rf"(?i)MedRank@({NUMBER})", lambda m: f"MedianRank(iou={m[1]})"),
    (rf"(?i)StdRan[dk]@({NUMBER})", lambda m: f"StdRank(iou={m[1]})"),
    (rf"(?i)VCMR:({NUMBER})-r(\d+)", lambda m: f"Success_IoU(iou={m[1]})@{m[2]}"),
    (rf"(?i)SVMR:({NUMBER})-r(\d+)", lambda m: f"Success_IoU(iou={m[1]},task=SVMR)@{m[2]}"),
    (r"(?i)VR:r(\d+)", lambda m: f"Success_Video@{m[1]}"),
    (rf"(?i)MR-(full|short|middle|long)-R(\d+)@({NUMBER})", lambda m: f"Success_IoU(iou={m[3]}{_length(m[1])})@{m[2]}"),
    (rf"(?i)MR-(full|short|middle|long)-mAP@({NUMBER})", lambda m: f"mAP_IoU(iou={m[2]}{_length(m[1])})"),
    (r"(?i)MR-(full|short|middle|long)-mAP", lambda m: f"mAP_IoU(iou={STEPS}{_length(m[1])})"),
    (r"(?i)MR-full-mIoU", lambda m: "AxIoU@1"),
    (r"(?i)HL-min-(Fair|Good|VeryGood)-Hit1", lambda m: f"HIT(level={LEVELS[m[1].lower()]})@1"),
    (r"(?i)HL-min-(Fair|Good|VeryGood)-mAP", lambda m: f"mAP_Saliency(level={LEVELS[m[1].lower()]})"),
    (r"ndcg(?:_cut[_.]|@)(\d+)", lambda m: f"nDCG@{m[1]}"),
    (r"map(?:_cut[_.]|@)(\d+)", lambda m: f"AP@{m[1]}"),
    (r"ndcg", lambda m: "nDCG"),
    (r"map", lambda m: "AP"),
    (r"recall(?:[_.]|@)(\d+)", lambda m: f"R@{m[1]}"),
    (r"(?i)(?:P[_.]|Precision(?:[_.]|@))(\d+)", lambda m: f"P@{m[1]}"),
    (r"(?i)(?:MRR|recip_rank(?:_cut)?)(?:[_.@](\d+))?", lambda m: "RR" + (f"@{m[1]}" if m[1] else "")),
]
AMBIGUOUS: list[tuple[str, tuple[str, ...]]] = [  # patterns, whatever their case, and what they may stand for
    (r"NDCG(?:@(?P<k>\d+))?", ("nDCG@{k} (by moment id)", "nDCG_IoU(iou=0.5)@{k}")),
    (r"MAP(?:@(?P<k>\d+))?", ("AP (trec_eval's map, by moment id)", f"{MAP} (detection)")),
    (
        r"R(?:ecall)?@?(?P<k>\d+)",
        ("R@{k} (by moment id)", "Success_IoU(iou=0.5)@{k} (R@{k},0.5)", "Recall_IoU(iou=0.5)@{k}"),
    ),
]


def in_the_grammar(text: str) -> str:
    """The text of a measure without white space and, if it is in another's spelling, in ours."""
    plain = re.sub(r"\s+", "", text).replace("≥", ">=")
    for pattern, grammar in ALIASES:
        if found := re.fullmatch(pattern, plain):
            return grammar(found)
    return plain


def meanings(text: str) -> list[str]:
    """The measures that a spelling may stand for; none for one that is not ambiguous."""
    for pattern, measures in AMBIGUOUS:
        if found := re.fullmatch(pattern, text, re.IGNORECASE):
            return [measure.format(k=found["k"] or "10") for measure in measures]
    return []


def _each(name: str, measure: str, cutoffs: Iterable[int], thresholds: Iterable[float] = (0.0,)) -> dict[str, str]:
    return {name.format(k=k, iou=iou): measure.format(k=k, iou=iou) for k in cutoffs for iou in thresholds}


def _hits(name: str, cutoffs: Iterable[int], thresholds: Iterable[float] = (0.5, 0.7)) -> dict[str, str]:
    return _each(name, "Success_IoU(iou={iou})@{k}", cutoffs, thresholds)


MEASURES = {  # each by an example; docs/measures.md has the formulas
    "nDCG_IoU(iou=0.5)@20": "NDCG@K, IoU≥μ (TVR-Ranking); needs iou",
    "Recall_IoU(iou=0.5)@20": "share of the relevant moments that are found; needs iou",
    "Recall_Further(iou=0.5)@20": "share of all relevant moments but one that are found beside the first (GMR)",
    "Success_IoU(iou=0.5)@5": "R@K,θ: whether one of the first K comes close enough; needs iou",
    "Success_Video@5": "whether one of the first K lies in a right video",
    "AxIoU@10": "average of the running maximum of IoU (AxIoU)",
    "NCxIoU(p=uniform)@10": "AxIoU under any abandonment distribution; needs p",
    "AP_IoU(iou=0.5)@10": "AP@K,θ (AxIoU); needs iou",
    "DCG_IoU@10": "DCG with the IoU as relevance (AxIoU)",
    "MedianRank(iou=0.5)": "median rank of the first hit (STAL); needs iou",
    "StdRank(iou=0.5)": "standard deviation of the rank of the first hit (STAL); needs iou",
    "Judged@10": "share of the first K that lie on a judged moment",
    "mAP_IoU(iou=0.5)": "average precision as in detection (QVHighlights); needs iou",
    "Rank@1": "DiDeMo's Rank@1, Rank@5",
    "mIoU": "DiDeMo's mIoU",
    "nDCG@20": "on moment ids, without IoU, as trec_eval has it",
    "P@10": "precision on moment ids",
    "R@100": "recall on moment ids",
    "RR": "reciprocal rank on moment ids",
    "AP": "average precision on moment ids",
    "infAP": "average precision, inferred from a sample of the pool (trec_eval)",
    "xinfAP": "average precision of a pool sampled by strata (TRECVID)",
    "HIT@1": "whether the most salient clip is salient (QVHighlights)",
    "mAP_Saliency": "average precision of saliency (QVHighlights)",
    "mR@3": "share of K moments that are found, for queries with K or more (QV-M2)",
    "Matched_IoU@3": "mIoU@K: mean IoU of matched pairs (QV-M2, GMR)",
    "Matched_Further@3": "mIoU+@K: Matched_IoU without the best pair (GMR)",
    "Set_IoU(above=0.4)@3": "G-mIoU@K: IoU of the answer as a set, which may be empty (GMR)",
    "Silence(above=0.4)": "share of queries with nothing to find that get no answer",
    "Rejection_F1(above=0.4)": "F1 of silence (GMR)",
    "Rejection_Accuracy(above=0.4)": "share of right decisions between silence and an answer (GMR)",
    "Rejection_AUC": "how well scores tell whether there is something to find (GMR)",
}
FORMULAS = {  # as docs/measures.md has them
    "nDCG_IoU": (
        "DCG@K / ideal DCG@K, with DCG@K = Σ_{k≤K} gain(grade matched at k) / discount(k), an unmatched "
        "prediction having gain 0; the ideal takes the K best moments of the query."
    ),
    "Recall_IoU": "relevant moments matched by the first K predictions, over all relevant moments of the query.",
    "Recall_Further": (
        "relevant moments matched by the first K predictions, less one, over the relevant moments of the "
        "query, less one; 0 if none is matched. Of queries with two relevant moments or more."
    ),
    "AxIoU": "(1/K) Σ_{k≤K} max_{j≤k} r_j.",
    "NCxIoU": (
        "Σ_k P(k) max_{j≤k} r_j; `uniform`: P(k) = 1/K, which is AxIoU; `geometric`: (1 − φ) φ^(k−1); `err`: "
        "r_k Π_{j<k} (1 − r_j). What is left to probability 1 stops at rank K."
    ),
    "Success_IoU": "1 if max_{k≤K} r_k > θ (or ≥ θ), else 0.",
    "Success_Video": "1 if one of the first K predictions lies in a video with a relevant moment, else 0.",
    "AP_IoU": "(1/K) Σ_{k≤K} (1/k) Σ_{j≤k} [r_j > θ].",
    "DCG_IoU": "Σ_{k≤K} gain(r_k) / discount(k); gain linear: r, exp: 2^r − 1.",
    "MedianRank": (
        "rank of the first prediction that passes; over queries the median, the lower middle one for an even number."
    ),
    "StdRank": "sample standard deviation (n − 1) of the ranks of MedianRank.",
    "Judged": "share of the first K predictions that pass the threshold with any judged moment, of grade 0 too.",
    "mAP_IoU": (
        "matching as above, by score; precision at each new moment, made non-increasing from the end (the "
        "maximum over all later ranks), summed and divided by the number of moments."
    ),
    "Rank": "1 if the mean of the three best ranks of the annotators' moments is at most K, else 0.",
    "mIoU": (
        "mean of the three highest IoUs of the first prediction with the annotators' moments. With one "
        "annotator it is the mean IoU of the first prediction, as other datasets report it."
    ),
    "nDCG": "DCG@K / ideal DCG@K, with the gains of the moments retrieved.",
    "P": "relevant moments among the first K, over K.",
    "R": "relevant moments among the first K, over all relevant ones.",
    "RR": "1 over the rank of the first relevant moment.",
    "AP": "precision at the rank of each relevant moment that is retrieved, summed, over all relevant ones.",
    "infAP": (
        "AP, inferred from a random sample of the pool. A relevant moment at rank k has the precision (1 + n "
        "(r + ε) / (s + 2 ε)) / k: of the ranks before it n are in the pool, s of these were sampled, and r "
        "of these are relevant; ε is 10⁻⁵. The mean over the relevant moments of the sample."
    ),
    "xinfAP": (
        "as infAP, of a pool whose strata were sampled at different rates. Before a relevant moment the "
        "expected relevant ones are the sum of n (r + ε) / (s + 3 ε) over the strata. A relevant moment "
        "stands for as many as its stratum has moments in the pool for each that was sampled; the sum of the "
        "precisions is divided by the number of relevant moments that the strata stand for, or by K if that "
        "is smaller."
    ),
    "HIT": (
        "1 if the clip predicted as most salient (the first of equals) has at least that level from any annotator."
    ),
    "mAP_Saliency": (
        "interpolated precision at each new recall of salient clips, averaged; then averaged over annotators."
    ),
    "mR": (
        "moments matched by the first K predictions, over K; of queries with K relevant moments or more. The "
        "mean over the thresholds."
    ),
    "Matched_IoU": (
        "the first K predictions take, in rank order, the free moment with the highest IoU; the mean of these "
        "IoUs over the smaller number of predictions and moments."
    ),
    "Matched_Further": (
        "the pairs of Matched_IoU without the best of them; the mean of their IoUs over the smaller number of "
        "predictions and moments, less one. Of queries with two relevant moments or more."
    ),
    "Set_IoU": (
        "pairs as in Matched_IoU; the sum of their IoUs, over predictions and moments less pairs. Nothing to "
        "find and silence: 1; only one of them: 0."
    ),
    "Silence": (
        "1 for a query with nothing to find that is answered with silence, else 0; the mean is the share of "
        "null queries that are rejected."
    ),
    "Rejection_F1": (
        "F1 of silence as the answer to queries with nothing to find: 2 TN / (2 TN + FN + FP), TN being right "
        "silence, FN wrong silence and FP a wrong answer."
    ),
    "Rejection_Accuracy": "1 if a query is answered with silence exactly if it has nothing to find, else 0.",
    "Rejection_AUC": (
        "probability that a query with something to find has a higher existence score than one with nothing; "
        "equal scores count half."
    ),
}
TVR_RANKING = _each("NDCG@{k}, IoU≥{iou}", "nDCG_IoU(iou={iou})@{k}", (10, 20, 40), (0.3, 0.5, 0.7))
HIGHLIGHTS = {
    f"HL-min-{level}-{name}": measure.format(LEVELS[level.lower()])
    for level in ("Fair", "Good", "VeryGood")
    for name, measure in (("mAP", "mAP_Saliency(level={})"), ("Hit1", "HIT(level={})@1"))
}
TABLES: dict[str, dict[str, str]] = {  # of each convention: its evaluator's names, and the measures
    "paper": TVR_RANKING,
    "released": TVR_RANKING,
    "spr": TVR_RANKING,
    "tvr": _hits("VCMR:{iou}-r{k}", (1, 5, 10, 100)) | _each("VR:r{k}", "Success_Video@{k}", (1, 5, 10, 100)),
    "stal": {
        name: measure
        for iou in (0.5, 0.7)
        for name, measure in {
            f"MedRank@{iou}": f"MedianRank(iou={iou})",
            f"StdRand@{iou}": f"StdRank(iou={iou})",
            **_hits("Recall@{k},{iou}", (1, 10, 100), (iou,)),
        }.items()
    },
    "didemo": {"Rank@1": "Rank@1", "Rank@5": "Rank@5", "mIoU": "mIoU"},
    "qvhighlights": {
        **_hits("MR-full-R{k}@{iou}", (1,)),
        "MR-full-mAP": MAP,
        **{f"MR-full-mAP@{iou}": f"mAP_IoU(iou={iou})" for iou in (0.5, 0.75)},
        **{f"MR-{length}-mAP": f"mAP_IoU(iou={STEPS},length={length})" for length in ("long", "middle", "short")},
        **HIGHLIGHTS,
    },
    "qvm2": {
        "G-mAP": MAP,
        **{f"mAP@{count}_tgt": f"mAP_IoU(iou={STEPS},targets={count})" for count in ("1", "2", "3+")},
        **_each("mR@{k}", "mR@{k}", (1, 2, 3)),
        **_each("mIoU@{k}", "Matched_IoU@{k}", (1, 2, 3)),
        **_hits("R{k}@{iou}", (1,)),
    },
    "gmr": {
        "mAP": MAP,
        **_each("mR@{k}", f"Recall_IoU(iou={STEPS})@{{k}}", (1, 3, 5)),
        **_each("mR+@{k}", f"Recall_Further(iou={STEPS})@{{k}}", (3, 5)),
        **_each("G-mIoU@{k}", f"Set_IoU(above={EXISTS})@{{k}}", (1, 3, 5)),
        **_each("mIoU@{k}", "Matched_IoU@{k}", (1, 3, 5)),
        **_each("mIoU+@{k}", "Matched_Further@{k}", (3, 5)),
        "AUROC": "Rejection_AUC",
        "Rej-R": f"Silence(above={EXISTS})",
        "Rej-F1": f"Rejection_F1(above={EXISTS})",
        "Acc": f"Rejection_Accuracy(above={EXISTS})",
    },
    "ego4d": {**_hits("Rank@{k} mIoU@{iou}", (1, 3, 5), (0.3, 0.5)), "mIoU": "mIoU"},
    "trecvid": {"infAP": "xinfAP"},
}


def table_of(convention: str) -> dict[str, str]:
    """The measures of a convention's table by its evaluator's names, also of one with other options."""
    return TABLES.get(convention.partition(",")[0], TVR_RANKING)


def published_name(measure: str, convention: str, spelling: str) -> str:
    """The name that the convention's evaluator, or else a paper, gives a measure."""
    names = {ours: name for name, ours in table_of(convention).items()}
    return names.get(measure, spelling)
