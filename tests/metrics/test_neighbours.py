"""The formats of the neighbours: each is read and written, told from its content, and refused in one line where it is
wrong.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import MeasureError, calc, read_qrels, read_run, run_from_dict
from metrics.formats.qrels import QRELS_WRITERS
from metrics.formats.runs import RUN_WRITERS
from metrics.formats.tables import Qrels, Run, Table
from tests.metrics.shared import run_cli, write

EGO4D = {
    "version": "1",
    "videos": [
        {
            "video_uid": "v",
            "split": "val",
            "clips": [
                {
                    "clip_uid": "c1",
                    "video_start_sec": 30.0,
                    "annotations": [
                        {
                            "annotation_uid": "a1",
                            "language_queries": [
                                {"clip_start_sec": 1.5, "clip_end_sec": 4.0, "query": "Where is the cup?"},
                                {},
                                {"clip_start_sec": 0.0, "clip_end_sec": 2.25, "template": "Objects"},
                            ],
                        }
                    ],
                }
            ],
        }
    ],
}
EGO4D_RUN = {
    "version": "1.0",
    "challenge": "ego4d_nlq_challenge",
    "results": [
        {"clip_uid": "c1", "annotation_uid": "a1", "query_idx": 0, "predicted_times": [[1.0, 4.0], [0.0, 9.0]]},
        {"clip_uid": "c1", "annotation_uid": "a1", "query_idx": 2, "predicted_times": []},
    ],
}
AVS_RUN = """<?xml version="1.0"?>
<!DOCTYPE videoAdhocSearchResults SYSTEM "https://www-nlpir.nist.gov/projects/tv2018/dtds/videoAdhocSearchResults.dtd">
<videoAdhocSearchResults>
  <videoAdhocSearchRunResult trType="D" class="F" pid="SiteID" priority="1" desc="a &amp; b">
    <videoAdhocSearchTopicResult tNum="561" elapsedTime="2">
      <item seqNum="2" shotId="shot3_1"/>
      <item seqNum="1" shotId="shot1_7"/>
    </videoAdhocSearchTopicResult>
    <videoAdhocSearchTopicResult tNum="562" elapsedTime="3.5"></videoAdhocSearchTopicResult>
  </videoAdhocSearchRunResult>
</videoAdhocSearchResults>
"""
SAMPLED = "561 0 shot1_7 1 1\n561 0 shot2_9 2 -1\n561 0 shot3_1 2 0\n562 0 shot9_9 1 1\n"
DRES = {
    "answerSets": [
        {
            "taskName": "kis-1",
            "answers": [
                {"mediaItemName": "00123", "mediaItemCollectionName": "V3C", "start": 10500, "end": 12000},
                {"text": "a red car"},
                {"mediaItemName": "00124", "start": 0, "end": 999},
            ],
        }
    ]
}
DRES_SERVER = {
    "submissionId": "s",
    "answers": [
        {
            "id": "1",
            "status": "CORRECT",
            "taskId": "t",
            "answers": [{"type": "TEMPORAL", "item": {"name": "00123"}, "start": 0, "end": 500}],
        }
    ],
}
WINDOWS: list[dict[str, Any]] = [
    {"qid": 7, "query": "He sits.", "duration": 10, "vid": "a", "relevant_windows": [[0, 4], [6, 8]]}
    | {"relevant_clip_ids": [0, 1], "saliency_scores": [[1, 2, 3], [0, 4, 4]]},
    {"qid": 8, "query": "Nobody sings.", "duration": 10, "vid": "b", "relevant_windows": []},
]
PREDICTED: list[dict[str, Any]] = [
    {"qid": 7, "query": "He sits.", "vid": "a", "pred_relevant_windows": [[0.0, 5.0, 0.9], [6.0, 9.0, 0.4]]}
    | {"pred_saliency_scores": [0.5, -0.25], "pred_exist_score": 0.75},
    {"qid": 8, "query": "Nobody sings.", "vid": "b", "pred_relevant_windows": [], "pred_exist_score": 0.125},
]
LIGHTHOUSE: list[dict[str, Any]] = [
    {"query": "Nobody sings.", "pred_relevant_windows": [[1.0, 2.0, 0.3]], "pred_saliency_scores": [0.5]},
    {"query": "He sits.", "pred_relevant_windows": [[0.0, 5.0, 0.9], [6.0, 9.0, 0.4]]},
]
BEIR_QRELS = "query-id\tcorpus-id\tscore\n1\ta@0-5000\t4\n1\tb%20c@0-1500\t0\n"
BEIR_RUN = {"1": {"a@0-5000": 0.25, "b%20c@0-1500": 0.75}, "2": {}}


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


QRELS = {"ego4d": json.dumps(EGO4D), "xinfap": SAMPLED, "qvhighlights": lines(WINDOWS), "beir": BEIR_QRELS}
RUNS = {
    "ego4d": json.dumps(EGO4D_RUN),
    "trecvid": AVS_RUN,
    "dres": json.dumps(DRES),
    "qvhighlights": lines(PREDICTED),
    "lighthouse": json.dumps(LIGHTHOUSE),
    "beir": json.dumps(BEIR_RUN),
}


def same(one: Table, other: Table) -> bool:
    columns = ("offsets", "start", "end", "scores", "grades")
    plain = ("queries", "videos", "texts", "existence", "sampling")
    return (
        all(getattr(one, name, None) == getattr(other, name, None) for name in plain)
        and all(np.array_equal(getattr(one, c), getattr(other, c)) for c in columns if hasattr(one, c))
        and one.saliency.keys() == other.saliency.keys()
        and all(np.array_equal(one.saliency[query], other.saliency[query]) for query in one.saliency)
    )


def rows(table: Table, values: Any) -> dict[str, list[tuple[str, float, float, Any]]]:
    return dict(table.rows(values))


@pytest.mark.parametrize("format", QRELS)
def test_qrels_go_round(format: str, tmp_path: Path) -> None:
    first = read_qrels(write(tmp_path / "first", QRELS[format]))
    text = QRELS_WRITERS[format](first)
    assert same(read_qrels(write(tmp_path / "again", text)), first)
    assert same(read_qrels(tmp_path / "again", format), first)
    done = run_cli("convert", "--qrels", tmp_path / "first", "--to", format)
    assert (done.returncode, done.stdout) == (0, text)


@pytest.mark.filterwarnings("ignore:.*1 answers name no span")
@pytest.mark.parametrize("format", RUNS)
def test_runs_go_round(format: str, tmp_path: Path) -> None:
    first = read_run(write(tmp_path / "run", RUNS[format]))
    text = RUN_WRITERS[format](first)
    assert same(read_run(write(tmp_path / "again", text)), first)
    assert same(read_run(tmp_path / "again", format), first)
    done = run_cli("convert", "--run", tmp_path / "run", "--to", format)
    assert (done.returncode, done.stdout) == (0, text)


def test_ego4d(tmp_path: Path) -> None:
    qrels = read_qrels(write(tmp_path / "gt.json", EGO4D))
    assert rows(qrels, qrels.grades) == {"c1/a1/0": [("c1", 1.5, 4.0, 1)], "c1/a1/2": [("c1", 0.0, 2.25, 1)]}
    assert qrels.texts == {"c1/a1/0": "Where is the cup?"}
    run = read_run(write(tmp_path / "run.json", EGO4D_RUN))
    assert rows(run, run.scores) == {"c1/a1/0": [("c1", 1.0, 4.0, 2.0), ("c1", 0.0, 9.0, 1.0)], "c1/a1/2": []}


def test_trecvid(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "run.xml", AVS_RUN))
    assert rows(run, run.scores) == {"561": [("shot1_7", 0.0, 1.0, 2.0), ("shot3_1", 0.0, 1.0, 1.0)], "562": []}
    qrels = read_qrels(write(tmp_path / "qrels", SAMPLED))
    assert rows(qrels, qrels.grades)["561"] == [("shot1_7", 0.0, 1.0, 1), ("shot3_1", 0.0, 1.0, 0)]
    assert qrels.sampling
    assert qrels.sampling.strata == ("1", "2", "1")
    assert qrels.sampling.unsampled == (("561", "shot2_9@0-1000", "2"),)
    assert calc("AP", qrels, run).per_query() == {"561": {"AP": 1.0}, "562": {"AP": 0.0}}


def test_shots_have_times_by_a_side_file_or_by_their_ids(tmp_path: Path) -> None:
    side = write(
        tmp_path / "shots.csv", "moment_id,video,start,end\nshot1_7,00001,4.5,6\nshot3_1,00003,0,2\nshot9_9,9,0,1\n"
    )
    run = read_run(write(tmp_path / "run.xml", AVS_RUN), moments=side)
    assert rows(run, run.scores)["561"] == [("00001", 4.5, 6.0, 2.0), ("00003", 0.0, 2.0, 1.0)]
    again = read_run(write(tmp_path / "again.xml", RUN_WRITERS["trecvid"](run)))
    assert rows(again, again.scores) == rows(run, run.scores)
    qrels = read_qrels(write(tmp_path / "qrels", SAMPLED), moments=side)
    assert qrels.videos == ["00001", "00003", "9"]
    assert calc("Success_IoU(iou=0.9)@1", qrels, run)["Success_IoU(iou=0.9)@1"] == 0.5


def test_dres(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="1 answers name no span"):
        run = read_run(write(tmp_path / "run.json", DRES))
    assert rows(run, run.scores) == {"kis-1": [("00123", 10.5, 12.0, 2.0), ("00124", 0.0, 0.999, 1.0)]}
    both = read_run(write(tmp_path / "both.json", [DRES_SERVER, DRES_SERVER | {"submissionId": "u"}]), lenient=True)
    assert rows(both, both.scores) == {"t": [("00123", 0.0, 0.5, 2.0), ("00123", 0.0, 0.5, 1.0)]}


def test_windows(tmp_path: Path) -> None:
    qrels = read_qrels(write(tmp_path / "gt.jsonl", lines(WINDOWS)))
    assert rows(qrels, qrels.grades) == {"7": [("a", 0.0, 4.0, 1), ("a", 6.0, 8.0, 1)], "8": []}
    assert qrels.saliency["7"].tolist() == [[1, 2, 3], [0, 4, 4], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    run = read_run(write(tmp_path / "run.jsonl", lines(PREDICTED)))
    assert run.existence == {"7": 0.75, "8": 0.125}
    one = read_run(write(tmp_path / "one.jsonl", lines(PREDICTED[:1])))
    assert one.queries == ("7",)
    assert read_qrels(write(tmp_path / "one.gt", lines(WINDOWS[:1]))).queries == ("7",)


def test_lighthouse(tmp_path: Path) -> None:
    qrels = write(tmp_path / "gt.jsonl", lines(WINDOWS))
    named = write(tmp_path / "lighthouse.json", LIGHTHOUSE)
    run = read_run(named)
    assert run.queries == ("Nobody sings.", "He sits.")
    done = run_cli("convert", "--run", named, "--queries", qrels, "--to", "qvhighlights", "--out", tmp_path / "run")
    assert (done.returncode, done.stderr) == (0, "")
    placed = read_run(tmp_path / "run")
    assert rows(placed, placed.scores)["7"] == [("a", 0.0, 5.0, 0.9), ("a", 6.0, 9.0, 0.4)]
    assert placed.saliency["8"].tolist() == [0.5]
    assert calc("Success_IoU(iou=0.7)@1", qrels, placed)["Success_IoU(iou=0.7)@1"] == 1.0
    other = write(tmp_path / "other.json", [LIGHTHOUSE[1] | {"query": "He stands."}])
    done = run_cli("convert", "--run", other, "--queries", qrels, "--to", "qvhighlights")
    assert done.stderr == "error: other: no query of the qrels has the text 'He stands.'\n"


def test_beir_is_a_folder(tmp_path: Path) -> None:
    original = read_qrels(write(tmp_path / "gt.jsonl", lines(WINDOWS)))
    split = tmp_path / "beir" / "qrels" / "test.tsv"
    split.parent.mkdir(parents=True)
    done = run_cli("convert", "--qrels", tmp_path / "gt.jsonl", "--to", "beir", "--out", split)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    write(tmp_path / "beir" / "queries.jsonl", lines([{"_id": "7", "text": "He sits."}]))
    qrels = read_qrels(tmp_path / "beir")
    assert rows(qrels, qrels.grades)["7"] == rows(original, original.grades)["7"]
    assert qrels.texts == {"7": "He sits."}
    run = read_run(write(tmp_path / "run.json", BEIR_RUN))
    assert run.videos == ["b c", "a"]  # by score
    (tmp_path / "beir" / "qrels" / "dev.tsv").write_text(BEIR_QRELS)
    with pytest.raises(MeasureError, match=r"has 2 splits; name the file of one: qrels/dev.tsv, qrels/test.tsv"):
        read_qrels(tmp_path / "beir")


def test_documents_of_beir_have_times_by_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    document = {"_id": "d1", "text": "He sits.", "metadata": {"video": "a", "start": 1.0, "end": 2.5}}
    write(tmp_path / "corpus.jsonl", lines([document, {"_id": "d2", "text": ""}]))
    qrels = read_qrels(write(tmp_path / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\n1\td1\t3\n"))
    assert rows(qrels, qrels.grades) == {"1": [("a", 1.0, 2.5, 3)]}
    with pytest.raises(
        MeasureError, match="line 2: moment 'd2' has no times, neither in a side file nor in the corpus"
    ):
        read_qrels(write(tmp_path / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\n1\td2\t3\n"))


def test_runs_of_spr_load(tmp_path: Path) -> None:
    """SPR's refined predictions have `model_scores`, and its proposals a `moment_rank` from 0, in which two may tie."""
    found = {"video_name": "friends_s01e01_seg02_clip_00", "timestamp": [1.5, 9.0], "model_scores": 0.0123}
    run = read_run(write(tmp_path / "spr.json", {"12": [found, found | {"model_scores": 0.01, "timestamp": [0, 1]}]}))
    assert rows(run, run.scores)["12"][0] == ("friends_s01e01_seg02_clip_00", 1.5, 9.0, 0.0123)
    proposal = {"timestamp": [0, 8], "video_name": "a", "moment_rank": 0}
    proposals = {"12": [proposal, proposal | {"video_name": "b", "moment_rank": 3}]}
    run = read_run(write(tmp_path / "proposals.json", proposals))
    assert rows(run, run.scores) == {"12": [("a", 0.0, 8.0, 0.0), ("b", 0.0, 8.0, -3.0)]}


IN_CLIPS = st.lists(
    st.tuples(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(-(2**30), 2**30)), max_size=4, unique=True
)


@given(lists=st.dictionaries(st.integers(0, 999), IN_CLIPS, min_size=1, max_size=4))
def test_any_run_in_one_video_goes_round(
    lists: dict[int, list[tuple[int, int, int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("round")
    made = {
        f"clip/note/{query}": [
            ("clip", min(a, b) / 1024, max(a, b) / 1024, float(len(spans) - n)) for n, (a, b, _) in enumerate(spans)
        ]
        for query, spans in lists.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = run_from_dict(made, lenient=True)
        for format in ("qvhighlights", "ego4d"):
            back = read_run(write(folder / "run", RUN_WRITERS[format](run)), format, lenient=True)
            assert back.queries == run.queries
            assert [back.start.tolist(), back.end.tolist()] == [run.start.tolist(), run.end.tolist()]
            assert back.scores.tolist() == run.scores.tolist()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (json.dumps(EGO4D).replace('"clip_end_sec": 4.0', '"clip_end": 4.0'), "query 0: field clip_end_sec is missing"),
        (json.dumps({"videos": [{"clips": 3}]}), "clips is 3; it must be a list"),
        ("561 0 shot1_7 1\n561 0 shot1_7 1\n", "line 1: moment id 'shot1_7' is not video@startms-endms"),
        ("561 0 shot1_7 1 1\n561 0 shot1_8 1 x\n", "line 2: judgment is 'x'; it must be -1, or an integer"),
        ("561 0 shot1_7 1 1\n561 0 shot1_8 1\n", "line 2: has 4 fields; it must be: topic 0 shot stratum judgment"),
        ("query-id\tcorpus-id\tscore\n1\ta@0-5000\tx\n", "line 2: grade (relevance) is 'x'"),
    ],
)
def test_wrong_qrels_are_refused_in_one_line(text: str, says: str, tmp_path: Path) -> None:
    refuses("--qrels", write(tmp_path / "file", text), says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (AVS_RUN.replace('seqNum="2"', 'seqNum="1"'), "topic '561': seqNum 1 stands twice"),
        (AVS_RUN.replace('seqNum="2"', 'seqNum="two"'), "item 1: seqNum is 'two'; it must be an integer from 1 up"),
        (AVS_RUN.replace('tNum="562"', 'tNum="561"'), "topic 2: query '561' stands twice"),
        (AVS_RUN.replace("</videoAdhocSearchResults>", ""), "broken XML: no element found"),
        (AVS_RUN.replace("<!DOCTYPE", "<!DOCTYPE a [<!ENTITY b 'c'>]><!DOCTYPE"), "declares entities"),
        (
            AVS_RUN.replace("<!DOCTYPE", "<!DOCTYPE a [<!ATTLIST item x CDATA 'y'>]><!DOCTYPE"),
            "declares entities or attr",
        ),
        ("<run/>", "is XML with <run>, not a run"),
        ("<!DOCTYPE html><html><body></body></html>", "is XML with <html>, not a run"),
        (json.dumps({"answerSets": [{"answers": []}]}), "answer set 1: field taskName or taskId is missing"),
        (json.dumps(DRES).replace("10500", '"10.5 s"'), "answer 1: start is '10.5 s'; it must be a number of milli"),
        (json.dumps(EGO4D_RUN).replace('"query_idx": 0', '"query": 0'), "result 1: field query_idx is missing"),
        (lines([PREDICTED[0] | {"pred_exist_score": "high"}]), "pred_exist_score must be a list of finite numbers"),
        (json.dumps({"1": {"a": 0.5}}), "query '1': moment id 'a' is not video@startms-endms"),
    ],
)
def test_wrong_runs_are_refused_in_one_line(text: str, says: str, tmp_path: Path) -> None:
    refuses("--run", write(tmp_path / "file", text), says)


def refuses(flag: str, path: Path, says: str) -> None:
    done = run_cli("convert", flag, path, "--to", "trec")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: ")
    assert says in done.stderr


OTHER_FILES = {
    "a web page": (b"<!DOCTYPE html>\n<html lang=en>", "HTML"),
    "a notebook": (json.dumps({"cells": [], "nbformat": 4}).encode(), "a Jupyter notebook"),
    "Croissant": (json.dumps({"@context": {}, "@type": "sc:Dataset"}).encode(), "Croissant's metadata"),
    "COCO": (json.dumps({"images": [], "annotations": []}).encode(), "COCO's annotations"),
    "a pool": (b'{"query_id": 1, "candidates": []}\n{"query_id": 2, "candidates": []}\n', "a pool"),
    "BEIR's queries": (b'{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b"}\n', "BEIR's corpus or queries"),
    "other records": (b'[{"name": "x", "price": 3}]', "records have the fields name, price"),
    "a table": (b"name,price,colour\nx,3,red\n", "a table with the columns name, price, colour"),
    "a zip": (b"PK\x03\x04rest", "a zip archive"),
    "a PDF": (b"%PDF-1.7\nrest", "a PDF document"),
    "Parquet": (b"PAR1rest", "a Parquet table"),
    "an array": (b"\x93NUMPY\x01\x00", "an array of NumPy"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "a pickle": (b"\x80\x04\x95rest", "a pickle of Python"),
    "a film": (b"\x00\x00\x00\x20ftypisom", "a film (MP4)"),
}


@pytest.mark.parametrize("name", OTHER_FILES)
@pytest.mark.parametrize("flag", ["--qrels", "--run"])
def test_a_file_that_is_none_of_them_is_called_by_its_name(name: str, flag: str, tmp_path: Path) -> None:
    content, says = OTHER_FILES[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    if name == "a web page" and flag == "--run":
        says = "XML with <html>" if content.endswith(b"</html>") else "broken XML"
    refuses(flag, path, says)


def test_qrels_and_runs_in_each_others_place_are_told_apart(tmp_path: Path) -> None:
    for format, text in QRELS.items():
        done = run_cli("convert", "--run", write(tmp_path / "file", text), "--to", "trec")
        assert "swapped?" in done.stderr, format
    for format, text in RUNS.items():
        done = run_cli("convert", "--qrels", write(tmp_path / "file", text), "--to", "trec")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), format
        assert ("grade" if format == "beir" else "swapped?") in done.stderr, format  # qrels by moment id look the same


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    qrels, run = (
        read_qrels(write(tmp_path / "gt", lines(WINDOWS))),
        run_from_dict({"1": [("a", 0, 1, 1), ("b", 0, 1, 0)]}),
    )
    assert isinstance(qrels, Qrels)
    assert isinstance(run, Run)
    with pytest.raises(MeasureError, match="query '7' is not named clip_uid/annotation_uid/query_idx"):
        QRELS_WRITERS["ego4d"](qrels)
    with pytest.raises(
        MeasureError, match=r"query '1': its moments lie in 2 videos .'a', 'b', ….; this format has one"
    ):
        RUN_WRITERS["qvhighlights"](run)
