"""A leaderboard is judged again: a benchmark and runs become a campaign, a release, and another order of the runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from campaigns.models import Campaign
from corpus.models import Corpus, Moment
from judging.audit import audit
from judging.models import Batch
from metrics import read_qrels
from tests.metrics.shared import SHARED, needs_shared, run_cli
from tests.terminal import printed, refused

pytestmark = pytest.mark.django_db
ANET = SHARED / "data" / "activitynet_captions" / "val_1.json"
VIDEOS = 12


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The first videos of ActivityNet Captions, and three systems: the benchmark's moments a little off, the whole
    film, and another sentence's moment.
    """
    held = dict(list(json.loads(ANET.read_text()).items())[:VIDEOS])
    runs: dict[str, Any] = {"near": {}, "whole": {}, "next": {}}
    for video, about in held.items():
        spans = [sorted(span) for span in about["timestamps"]]
        for n, (start, end) in enumerate(spans, 1):
            other = spans[n % len(spans)]
            found = {"near": [start + 0.2 * (end - start), end], "whole": [0.0, about["duration"]], "next": other}
            for name, span in found.items():
                runs[name][f"{video}#{n}"] = [{"video_name": video, "timestamp": span, "score": 1.0}]
    made = {"benchmark": tmp_path / "val.json"} | {name: tmp_path / f"{name}.json" for name in runs}
    made["benchmark"].write_text(json.dumps(held))
    for name, found in runs.items():
        made[name].write_text(json.dumps(found))
    return made


def create(files: dict[str, Path], *more: object) -> str:
    call_command("import_corpus", "anet", files["benchmark"], "--format", "activitynet")
    runs = [files[name] for name in ("near", "whole", "next")]
    words = ["anet-graded", "--corpus", "anet", "--benchmark", files["benchmark"], "--runs", *runs, *more]
    return printed("create_campaign", *map(str, words))


@needs_shared
def test_from_a_benchmark_to_another_order(files: dict[str, Path], tmp_path: Path, member: Any) -> None:
    assert "candidates beyond the depth" in create(files)
    campaign = Campaign.objects.get(name="anet-graded")
    qrels = read_qrels(files["benchmark"])
    assert campaign.queries.count() == len(set(qrels.texts.values()))
    query = campaign.queries.get(query_id=qrels.queries[0])
    assert query.text == qrels.texts[qrels.queries[0]].strip()
    kinds = list(query.candidates.order_by("rank").values_list("moment__predicted", flat=True))
    assert kinds[0] is False  # the benchmark's own moment
    assert not any(audit(campaign).values())
    assert Moment.objects.filter(video__corpus__name="anet").count() == len(qrels.grades)
    assert Batch.objects.in_campaign(campaign).count() == campaign.queries.count()


@needs_shared
def test_what_is_wrong_is_one_line(files: dict[str, Path]) -> None:
    assert refused("create_campaign", "x", "--corpus", "anet", "--benchmark", str(files["benchmark"])) == (
        "--benchmark and --runs go together, without --queries and --select"
    )
    Corpus.objects.create(name="empty", format="activitynet")
    words = ["x", "--corpus", "empty", "--benchmark", files["benchmark"], "--runs", files["near"]]
    assert "expected one of the corpus's videos" in refused("create_campaign", *map(str, words))
    assert not Campaign.objects.filter(name="x").exists()


@needs_shared
def test_the_order_before_and_after(files: dict[str, Path], tmp_path: Path) -> None:
    """Graded anew, the whole film is perfect for every query, and everything else is worth nothing."""
    lines = []
    for query, rows in read_qrels(files["benchmark"]).rows(read_qrels(files["benchmark"]).grades):
        about = json.loads(files["whole"].read_text())[query][0]
        pair = {"query_id": query, "video_name": rows[0][0], "timestamp": about["timestamp"], "relevance": 4}
        lines.append(json.dumps(pair))
    graded = tmp_path / "qrels.jsonl"
    graded.write_text("\n".join(lines))
    runs = [files[name] for name in ("near", "whole", "next")]
    words = ["--benchmark", files["benchmark"], "--qrels", graded, "--runs", *runs, "--format", "json"]
    done = run_cli("rejudged", *words, "--measures", "nDCG_IoU(iou=0.5)@10")
    assert done.returncode == 0, done.stderr
    found = {row["run"]: (row["place"], row["new_place"]) for row in json.loads(done.stdout)["runs"]}
    assert found["near"][0] == 1
    assert found["whole"][1] == 1
