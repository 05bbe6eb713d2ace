"""With orjson (the extra `fast`) and without it, the same files say the same, and the same is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

from metrics import MeasureError, read_qrels, read_run
from metrics.formats import json_files
from tests.metrics.shared import write
from tests.metrics.test_bad_input import BAD_QRELS, BAD_RUNS

pytest.importorskip("orjson")
RUN = {"é%": [{"video_name": "a:b", "timestamp": [0, 0.1 + 0.2], "model_scores": 1e-300}], "2": []}


@pytest.fixture(params=["orjson", "json"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "json":
        monkeypatch.setattr(json_files, "orjson", None)


@pytest.mark.usefixtures("parser")
def test_a_run_is_the_same(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "run", json.dumps(RUN, ensure_ascii=False)))
    assert (run.queries, run.videos) == (("é%", "2"), ["a:b"])
    assert (run.end.tolist(), run.scores.tolist()) == ([0.1 + 0.2], [1e-300])


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("name", [name for name in BAD_QRELS if "trec" not in name])
def test_bad_qrels_are_refused_alike(name: str, tmp_path: Path) -> None:
    text, says = BAD_QRELS[name]
    with pytest.raises(MeasureError) as refused:
        read_qrels(write(tmp_path / "qrels", text), lenient=False)
    assert says in str(refused.value)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("name", [name for name in BAD_RUNS if name != "unknown query"])
def test_bad_runs_are_refused_alike(name: str, tmp_path: Path) -> None:
    data: Any
    data, says = BAD_RUNS[name]
    with pytest.raises(MeasureError) as refused:
        read_run(write(tmp_path / "run", data), lenient=False)
    assert says in str(refused.value)
