"""A run is checked prediction by prediction, and stored only if nothing is wrong with it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.urls import reverse

from base.errors import BadValue, TooLarge, WrongState
from campaigns.models import Campaign, Membership
from corpus import reading
from jobs.running import work_off
from judging.models import Query
from metrics import Run as Predictions
from runs.models import Run, Submission, Visibility
from runs.receiving import MOST_MIB, announce, describe, receive_run, submit
from runs.tables import read_table
from tests.cast import browser
from tests.runs.uploading import GOOD, packed, ranking, send, submitted, uploaded

pytestmark = pytest.mark.django_db
VIDEO = "secret-video-0"
TREC = f"1 Q0 {VIDEO}@1250-4500 1 9.0 bert\n"
INDEX = json.dumps({VIDEO: [100.0, 7]})


def one(start: object = 1.0, end: object = 4.0, score: object = 2.0, video: object = VIDEO, query: str = "1") -> str:
    """A run of two predictions, of which the second is as said."""
    good = {"video_name": VIDEO, "timestamp": [50.0, 60.0], "model_scores": 3.0}
    row = {"video_name": video, "timestamp": [start, end], "model_scores": score}
    return json.dumps({query: [good, row]})


def listed(*predictions: object, query: object = "1") -> str:
    return json.dumps([{"query_id": query, "query": "A person sits down.", "predictions": list(predictions)}])


# The file, and what is said of it: where it is wrong, in which field, and what would be right.
BROKEN: dict[str, tuple[str | bytes, str]] = {
    "empty": ("\n", "run.json: is empty"),
    "binary": (b"\x00\x01\x02", "run.json: is not text"),
    "not UTF-8": (b'{"1": "\xff"}', "line 1: is not UTF-8 text"),
    "cut off": (ranking(GOOD)[:-20], "line 1, column"),
    "cut off while packed": (packed(ranking(GOOD))[:-12], "cannot be read"),
    "no JSON": ('{"1": [}', "line 1, column 8: broken JSON"),
    "a key twice": ('{"1": [], "1": []}', "key '1' stands twice"),
    "no object": ("[[[[]]]]", "must be [[video, sentence]"),
    "empty object": ("{}", "needs at least one query"),
    "a list for no list": ('{"1": "a"}', "query '1': the value is 'a'; it must be a list"),
    "unknown query": (
        one(query="77"),
        "query '77': the query is unknown; it must be one of the campaign's, such as '1'",
    ),
    "unknown queries": ('{"77": [], "78": []}', "query '77': the query is unknown, as are all others of the run"),
    "unknown video": (one(video="film"), "query '1', prediction 2: video 'film' is unknown"),
    "no video": (one(video=""), "prediction 2: video name '' must be a text"),
    "begins long before 0": (
        one(start=-2.5),
        "timestamp [-2.5, 4] begins before 0; times are seconds, at most 2 s below",
    ),
    "lies before 0": (one(start=-1.5, end=-0.5), "timestamp [-1.5, -0.5] begins before 0"),
    "ends before it starts": (one(start=5.0), "timestamp [5, 4] ends before it starts"),
    "ends after the video": (one(end=103.0), "lies outside video 'secret-video-0', which is 100 s long"),
    "begins after the video": (one(start=100.5, end=101.0), "lies outside video"),
    "times are NaN": (one(start=float("nan")), "timestamp (start) is nan; it must be a finite number"),
    "a time is a text": (one(end="4"), "timestamp (end) is '4'; it must be a finite number"),
    "three times": (one().replace("[1.0, 4.0]", "[1.0, 4.0, 5.0]"), "it must be [start, end] in seconds"),
    "score is NaN": (one(score=float("nan")), "prediction 2: score is nan"),
    "score is endless": (one(score=0.5).replace("0.5", "1e400"), "score is inf; it must be a finite number"),
    "score is missing": (one(score=None), "score is None; it must be a finite number"),
    "no score": (one().replace('"model_scores": 2.0', '"rank": 2'), "field model_scores or score is missing"),
    "worse first": (one(score=5.0), "prediction 2: score is 5, after 3; a list needs its best prediction first"),
    "index without a file of videos": (listed([7, 1.0, 4.0, 2.0]), "give the video index file"),
    "three of four": (listed([VIDEO, 1.0, 4.0]), "it must be [video, start, end, score]"),
    "a query twice": (json.dumps(json.loads(listed()) * 2), "query '1' stands twice"),
    "qrels": ('{"query_id": 1, "relevance": 3}\n{"query_id": 1, "relevance": 2}\n', "these look like qrels"),
    "TREC qrels": (f"1 0 {VIDEO}@1250-4500 4\n", "line 1: has 4 fields"),
    "TREC line too short": (TREC + "1 Q0 x 2 1.0\n", "line 2: has 5 fields; it must be: query Q0 moment_id rank"),
    "TREC no moment": (TREC + "1 Q0 film 2 1.0 bert\n", "line 2: moment id 'film' is not video@startms-endms"),
    "TREC no score": (TREC + f"1 Q0 {VIDEO}@0-900 2 best bert\n", "line 2: score is 'best'"),
    "a mistake in the index": (listed([8, 1.0, 4.0, 2.0]), "video index 8 is not in the video index file"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_gets_a_clear_answer_and_nothing_is_stored(kind: str, rio: Membership) -> None:
    content, expected = BROKEN[kind]
    videos = INDEX if kind == "a mistake in the index" else ""
    submission = submitted(rio, content, videos=videos)
    assert submission.findings["count"] == 1, submission.findings
    [message] = submission.findings["told"]
    assert message.startswith("run.json")
    assert expected in message
    assert not Run.objects.exists()
    assert not (Path(default_storage.location) / "runs").exists()  # type: ignore[attr-defined]


def test_what_lies_a_little_outside_its_video_is_cut_and_counted(rio: Membership) -> None:
    moments = [(VIDEO, 50.0, 101.5, 3.0), (VIDEO, -0.5, 4.0, 2.0), (VIDEO, 0.0, 4.0, 1.0), (VIDEO, 1.0, 4.0, 0.5)]
    run = uploaded(rio, {"1": moments})
    table = read_table(Predictions, run.table)
    assert list(zip(table.start.tolist(), table.end.tolist(), strict=True)) == [(50.0, 100.0), (0.0, 4.0), (1.0, 4.0)]
    [note] = [each for each in run.notes if "are cut" in each]
    assert "2 predictions that lie a little outside their video are cut (the first: query '1', prediction 1)" in note
    assert "1 then stand in their list before, and are left out" in note


def test_repeated_predictions_and_unknown_queries_are_left_out_and_counted(rio: Membership) -> None:
    moments = [(VIDEO, 50.0, 60.0, 3.0), (VIDEO, 1.0, 4.0, 2.0), (VIDEO, 50.0, 60.0, 1.0)]
    run = uploaded(rio, {"76": [], "1": moments, "77": [("film", 1.0, 4.0, 2.0)]})
    assert run.notes[:2] == [
        "run.json: unknown queries that are left out: 2 (the first: '76')",
        "run.json: repeated predictions that are left out: 1 (the first: query '1', prediction 3)",
    ]
    table = read_table(Predictions, run.table)
    assert (table.queries, table.start.tolist()) == (("1",), [50.0, 1.0])


def test_a_cause_has_a_few_messages_and_all_faults_are_counted(rio: Membership) -> None:
    bad = [(f"film-{n}", 1.0, 4.0 + m, 9.0 - n) for n in range(130) for m in range(2)]
    found = submitted(rio, ranking({"1": [(VIDEO, -3.0, 2.0, 10.0), *bad]})).findings
    assert found["count"] == 1 + 130
    assert "prediction 1: timestamp [-3, 2] begins before 0" in found["told"][0]
    unknown = "video 'film-0' is unknown (2 predictions); it must be one of the campaign's corpus"
    assert found["told"][1] == f"run.json: query '1', prediction 2: {unknown}"
    assert found["told"][6:] == ["run.json: videos that are unknown: 125 more"]


def test_values_of_a_wrong_type_are_told_up_to_a_hundred_and_all_counted(rio: Membership) -> None:
    typed = json.dumps({"1": [{"video_name": VIDEO, "timestamp": [0, "x"], "score": 1}] * 120})
    found = submitted(rio, typed).findings
    assert (found["count"], len(found["told"])) == (120, 100)


def test_a_refusal_names_the_likely_cause_of_unknown_videos(rio: Membership) -> None:
    found = submitted(rio, ranking({"1": [(f"films/{VIDEO}.mp4", 1.0, 4.0, 2.0)]})).findings
    assert found["warnings"] == [
        f"no prediction lies in a video of the corpus: 'films/{VIDEO}.mp4' in the run, '{VIDEO}' in the corpus "
        "(differs by folder and file extension); rename 1 video"
    ]
    page = browser(rio.user).get(reverse("upload-check", args=[rio.campaign.name, Submission.objects.get().token]))
    assert "differs by folder and file extension" in page.content.decode()


def test_a_refusal_names_the_likely_unit_of_times(rio: Membership) -> None:
    moments = [(VIDEO, 1000.0 * n, 1000.0 * n + 4000, -float(n)) for n in range(1, 90)]
    [warning] = submitted(rio, ranking({"1": moments})).findings["warnings"]
    assert warning.startswith("times look like milliseconds: nine of ten predictions end before 84,")


def test_a_run_with_shares_of_the_duration_or_without_some_queries_is_stored_with_a_note(rio: Membership) -> None:
    Query.objects.create(campaign=rio.campaign, query_id="2", text="Somebody waits.")
    run = uploaded(rio, {"1": [(VIDEO, 0.25, 0.75, 1.0)]})
    page = browser(rio.user).get(reverse("run", args=[rio.campaign.name, run.number])).content.decode()
    for note in ("times look like shares of the duration", "1 of 2 queries of the campaign is missing"):
        assert any(note in each for each in run.notes), run.notes
        assert note in page


def test_a_mended_file_replaces_the_broken_one_and_becomes_the_run(
    rio: Membership, django_capture_on_commit_callbacks: Any
) -> None:
    submission = submitted(rio, one(query="77"), system="BERT", description="Twelve layers.")
    assert submission.findings["count"] == 1
    content = packed(ranking(GOOD))
    send(submission, "run", "good.json.gz", content)
    submit(submission)
    with django_capture_on_commit_callbacks(execute=True):
        work_off(StringIO())
    run = Run.objects.get()
    assert (run.name, run.system, run.number, run.queries, run.predictions) == ("bert", "BERT", 1, 1, 3)
    assert (run.sha256, run.size) == (hashlib.sha256(content).hexdigest(), len(content))
    with run.file.open("rb") as file:
        assert json.loads(gzip.decompress(file.read())) == json.loads(ranking(GOOD))
    table = read_table(Predictions, run.table)
    assert table.videos == [row[0] for row in GOOD["1"]]
    assert table.scores.tolist() == [9.0, 8.5, -1.0]
    submission.refresh_from_db()
    assert submission.run == run
    assert not submission.folder.exists()


SAME = {
    "ranking": (ranking(GOOD), ""),
    "predictions": (listed(*([video, start, end, score] for video, start, end, score in GOOD["1"])), ""),
    "with an index": (
        listed(*([n, start, end, score] for n, (_, start, end, score) in enumerate(GOOD["1"]))),
        json.dumps({video: [100.0, n] for n, (video, *_) in enumerate(GOOD["1"])}),
    ),
    "tvretrieval": (
        json.dumps(
            {
                "video2idx": {video: n for n, (video, *_) in enumerate(GOOD["1"])},
                "VCMR": [{"desc_id": 1, "predictions": [[n, *row[1:]] for n, row in enumerate(GOOD["1"])]}],
            }
        ),
        "",
    ),
    "trec": (
        "".join(f"1 Q0 {video}@{s * 1000:.0f}-{e * 1000:.0f} 1 {score} t\n" for video, s, e, score in GOOD["1"]),
        "",
    ),
}


@pytest.mark.parametrize("format", SAME)
@pytest.mark.parametrize("pack", [str.encode, packed], ids=["plain", "packed"])
def test_every_format_is_read(format: str, pack: Callable[[str], bytes], rio: Membership) -> None:
    content, videos = SAME[format]
    run = submitted(rio, pack(content), videos=videos).run
    assert run
    table = read_table(Predictions, run.table)
    rows = zip(table.videos, table.start.tolist(), table.end.tolist(), table.scores.tolist(), strict=True)
    cut = [(video, start, min(end, 100.0), score) for video, start, end, score in GOOD["1"]]  # to their videos
    assert {table.queries[0]: list(rows)} == {"1": cut}


def test_ids_of_merged_queries_are_those_of_the_qrels(campaign: Campaign, rio: Membership) -> None:
    Query.objects.filter(campaign=campaign).update(aliases=["1b", "1c"])
    first, other = GOOD["1"][:1], GOOD["1"][1:]
    kept = read_table(Predictions, uploaded(rio, {"1b": other, "1c": first}, name="by alias").table)
    assert (kept.queries, len(kept.videos)) == (("1",), 2)
    kept = read_table(Predictions, uploaded(rio, {"1b": other, "1": first}, name="by both").table)
    assert (kept.queries, len(kept.videos)) == (("1",), 1)


def test_what_unpacks_to_too_much_is_refused(rio: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REELJUDGE_UNPACK_MIB", "1")
    [message] = submitted(rio, packed(" " * (3 << 20)), filename="run.json.gz").findings["told"]
    assert message.startswith("run.json.gz: unpacks to more than 1 MiB")


def test_what_is_announced_is_checked(rio: Membership) -> None:
    submission = describe(rio, {"name": "bert"})
    with pytest.raises(TooLarge, match="at most 64 MiB"):
        announce(submission, "run", "run.json", (MOST_MIB << 20) + 1)
    with pytest.raises(BadValue, match="name of a file"):
        announce(submission, "run", "../run.json", 9)
    with pytest.raises(BadValue, match="expected the file of a run"):
        submit(submission)
    announce(submission, "run", "run.json", 9)
    with pytest.raises(BadValue, match=r"0 % of run\.json"):
        submit(submission)
    for fields in ({"name": ""}, {"name": "x" * 101}, {"paper": "javascript:alert(1)"}, {"visibility": "all"}):
        with pytest.raises(BadValue):
            describe(rio, {"name": "other"} | fields)


def test_a_name_belongs_to_one_run(rio: Membership) -> None:
    late = describe(rio, {"name": "bert"})
    send(late, "run", "run.json", ranking(GOOD).encode())
    uploaded(rio, GOOD)
    with pytest.raises(BadValue, match="no other run of the campaign has"):
        describe(rio, {"name": "bert"})
    with pytest.raises(WrongState, match="stored already"):
        submit(Submission.objects.exclude(pk=late.pk).get())
    submit(late)
    work_off(StringIO())
    late.refresh_from_db()
    assert "no other run" in late.findings["told"][0]
    assert Run.objects.count() == 1
    stored = [file for _, _, files in os.walk(default_storage.location) for file in files]  # type: ignore[attr-defined]
    assert len(stored) == 2


def test_the_job_is_harmless_twice(rio: Membership) -> None:
    submission = submitted(rio, ranking(GOOD))
    stored = submission.run
    receive_run(submission, lambda *progress: None)
    submission.refresh_from_db()
    assert submission.run == stored
    assert Run.objects.count() == 1


@pytest.mark.both_databases
def test_nothing_of_a_stored_run_changes_but_who_sees_it(campaign: Campaign, rio: Membership) -> None:
    run = Run.objects.create(campaign=campaign, number=1, by=rio, name="bert", size=10, queries=1, predictions=1)
    run.show_to(Visibility.PRIVATE)
    for fields in ({"name": "other"}, {"sha256": "0"}, {"visibility": "public", "file": "other"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Run.objects.update(**fields)
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.all().delete()
    run.refresh_from_db()
    assert (run.name, run.visibility) == ("bert", "private")


def test_the_worker_parses_no_run_itself(rio: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "check_run_file", None)
    assert uploaded(rio, GOOD).predictions == 3


def test_a_run_beyond_the_limits_leaves_one_line_and_nothing_else(rio: Membership, settings: Any) -> None:
    settings.READING_MEMORY = 320
    submission = submitted(rio, '{"1": [' + "[]," * 2_000_000 + "[]]}")
    assert submission.findings["told"] == [
        "run.json: reading needs more than 320 MiB of memory; expected a file that needs less"
    ]
    assert not Run.objects.exists()


def test_the_first_file_makes_a_submission_with_a_name(rio: Membership) -> None:
    uploaded(rio, GOOD, name="mcn_seed1")
    client, name = browser(rio.user), rio.campaign.name
    where = reverse("run-files", args=[name, "new"])
    file = {"purpose": "run", "name": "mcn_seed1.json.gz", "size": 9}
    answer = client.post(where, file, content_type="application/json")
    made = Submission.objects.get(run=None)
    assert (answer.status_code, answer.json()["fields"]) == (201, {"name": "mcn_seed1-2", "system": "mcn"})
    assert answer.json()["page"] == reverse("upload-check", args=[name, made.token])
    page = client.get(answer.json()["page"]).content.decode()
    assert 'value="mcn_seed1-2"' in page
    assert client.post(where, file | {"size": 2**40}, content_type="application/json").status_code == 413
    assert Submission.objects.filter(run=None).count() == 1  # what is refused leaves nothing


def test_a_form_without_its_file_says_so(rio: Membership) -> None:
    client, form = browser(rio.user), {"name": "mcn", "visibility": "shared"}
    saved = client.post(reverse("run-upload", args=[rio.campaign.name]), form)
    refused = client.post(saved["Location"], form | {"system": "MCN"})
    assert refused.status_code == 400
    assert "no file" in refused.content.decode()
    assert Submission.objects.get().system == "MCN"
