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
