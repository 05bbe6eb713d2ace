"""A leaderboard is judged again: a benchmark and runs become a campaign, a release, and another order of the runs."""

from __future__ import annotations

import json
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from campaigns.models import Campaign
from corpus.models import Corpus, Moment
from jobs.running import work_off
from judging.audit import audit
from judging.models import Batch, Review
from judging.review.reviewing import review
from metrics import read_qrels
from releases.freezing import freeze
from tests.cast import judge_all
from tests.metrics.shared import SHARED, needs_shared, run_cli
from tests.terminal import printed, refused

# A release is written by a thread with a connection of its own, which sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True)
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
def test_the_candidates_are_what_the_benchmark_and_the_runs_hold(files: dict[str, Path]) -> None:
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
def test_grades_make_another_order(files: dict[str, Path], tmp_path: Path) -> None:
    """Whoever looks for a sentence of these films, the annotators say, wants to see the whole film."""
    held = dict(list(json.loads(files["benchmark"].read_text()).items())[:3])
    files["benchmark"].write_text(json.dumps(held))
    create(files)
    campaign = Campaign.objects.get(name="anet-graded")
    ada, bob, leo = (User.objects.create(username=name) for name in ("ada", "bob", "leo"))
    two, lead = [campaign.add_member(user, "annotator") for user in (ada, bob)], campaign.add_member(leo, "lead")
    for batch in Batch.objects.in_campaign(campaign):
        batch.open()
        for person in two:
            batch.refresh_from_db()
            judge_all(batch.hand_to(person), lambda candidate: 4 if is_whole(candidate.moment) else 1)
        batch.refresh_from_db()
        review(batch, lead, Review.Verdict.CLOSE)
    assert not any(audit(campaign).values())
    release = freeze(campaign, lead, "CC-BY-4.0")
    assert work_off(StringIO()) == []
    release.refresh_from_db()
    zipfile.ZipFile(release.file.path).extract("qrels.jsonl", tmp_path)
    runs = [files[name] for name in ("near", "whole", "next")]
    words = ["--benchmark", files["benchmark"], "--qrels", tmp_path / "qrels.jsonl", "--runs", *runs]
    done = run_cli("rejudged", *words, "--unjudged", "skip", "--format", "json", "--measures", "nDCG_IoU(iou=0.5)@10")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["queries"] == campaign.queries.count()
    places = {row["run"]: (row["place"], row["new_place"]) for row in found["runs"]}
    assert places["near"] == (1, 2)
    assert places["whole"][1] == 1
    table = run_cli("rejudged", *words).stdout
    assert "queries that both judge, convention paper" in table


def is_whole(moment: Moment) -> bool:
    return moment.start == 0 and moment.end == moment.video.duration


def test_what_rejudged_refuses(tmp_path: Path) -> None:
    for name, query in (("a", 1), ("b", 2)):
        pair = {"query_id": query, "video_name": "v", "timestamp": [0, 5], "relevance": 1}
        (tmp_path / name).write_text(json.dumps(pair))
    (tmp_path / "run.json").write_text(json.dumps({"1": []}))
    words = ["--benchmark", tmp_path / "a", "--qrels", tmp_path / "b", "--runs", tmp_path / "run.json"]
    done = run_cli("rejudged", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "has no query of" in done.stderr
