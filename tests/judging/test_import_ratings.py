"""Finished ratings become a campaign that settles, exports and is released like any other."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from campaigns.models import Campaign, Membership
from jobs.running import work_off
from judging.models import Assignment, Candidate, Judgement, Query
from judging.review.decisions import adjudicate, withdraw_adjudication
from releases.data_card import counted
from releases.exports import ExportScope
from releases.freezing import freeze
from reports.campaign_summaries import store_summaries
from tests.cast import browser, text_between_tags
from tests.releases.test_releases import opened
from tests.stand_ins import HEADER, write_pairs
from tests.terminal import printed, refused

RATINGS = ["0,4,4", "0,6,3", "1,4,0", "1,6,3", "1,9,2", "1,10,1", "2,4,0", "2,6,3", "2,4,4", "2,4,0"]
PAIRS = ["0,q1,A man sits.,film,0,2.5,.9", "1,q1,A man sits.,film,3,4,.8", "2,q2,A dog runs.,film,0,2.5,.7"]


def text_of(campaign: Campaign, address: str, *arguments: object, **params: str) -> str:
    """A page as the lead sees it, without line breaks."""
    lead = campaign.add_member(User.objects.get_or_create(username="leo")[0], Membership.Role.LEAD)
    page = browser(lead).get(reverse(address, args=[campaign.name, *arguments]), params)
    return " ".join(page.content.decode().split())


def importing(folder: Path, ratings: list[str] = RATINGS, pairs: list[str] = PAIRS) -> tuple[object, ...]:
    (folder / "ratings.csv").write_text("\n".join(["pair_id,worker,relevance", *ratings, ""]))
    (folder / "pairs.csv").write_text("\n".join([HEADER, *pairs, ""]))
    files = ("--ratings", folder / "ratings.csv", "--pairs", folder / "pairs.csv")
    return "import_ratings", "done", *files, "--defects", folder / "defects.csv"


@pytest.mark.django_db
def test_ratings_take_their_seats(tmp_path: Path) -> None:
    answer = printed(*importing(tmp_path))
    assert "done: 3 pairs, 2 settled, 1 discarded" in answer
    candidates = Candidate.objects.order_by("query", "rank")
    assert [(each.outcome, each.grade, each.escalated) for each in candidates] == [
        ("settled", 4, False),
        ("settled", 2, True),
        ("discarded", None, True),
    ]
    seats = Judgement.objects.filter(candidate=candidates[1]).order_by("seat")
    assert [(each.seat, each.annotator.worker, each.grade) for each in seats] == [
        (1, 4, 0),
        (2, 6, 3),
        (3, 9, 2),
        (4, 10, 1),
    ]
    assert Campaign.objects.get().imported
    assert "ok" in printed("audit", "done")


@pytest.mark.django_db
def test_texts_are_worded_as_those_of_other_importers(tmp_path: Path) -> None:
    """So that a later campaign finds them again, whose grades it reuses by the text."""
    printed(*importing(tmp_path, pairs=["0,q1,A man  sits.,film,0,2.5,.9", "1,q1, A man sits.,film,3,4,.8", PAIRS[2]]))
    assert Query.objects.get(query_id="q1").text == "A man sits."


@pytest.mark.django_db
def test_a_worker_who_rated_a_pair_again_stays_one_worker(tmp_path: Path) -> None:
    printed(*importing(tmp_path))
    assert {(each.worker, each.same_as and each.same_as.worker) for each in Membership.objects.all()} == {
        (4, None), (6, None), (9, None), (10, None), (15, 4), (16, 4)
    }  # fmt: skip
    defects = (tmp_path / "defects.csv").read_text()
    assert defects == 'pair_id,defect\n2,one worker twice\n2,"one worker twice, with different grades"\n'
    printed("export_qrels", "done", "--out", tmp_path / "out")
    rated = list(csv.reader((tmp_path / "out" / "ratings.csv").read_text().splitlines()))
    assert Counter(worker for _, worker, *_ in rated[1:]) == {"4": 5, "6": 3, "9": 1, "10": 1}


@pytest.mark.django_db(transaction=True)
def test_a_release_of_ratings_that_stopped_anywhere_is_whole(tmp_path: Path) -> None:
    """One, two or three ratings without agreement, and a pair's own id, worker and round in every file."""
    ratings = ["11,4,4", "12,4,0", "12,6,3", "13,4,0", "13,6,3", "13,9,3", "14,9,0", "14,4,3", "14,4,2", "14,6,1"]
    pairs = [f"{key},q1,A man sits.,film,{key},{key}.5,.9" for key in (11, 12, 13, 14)]
    printed(*importing(tmp_path, ratings, pairs))
    campaign = Campaign.objects.get()
    lead = campaign.add_member(User.objects.create(username="leo"), "lead")
    for candidate in Candidate.objects.filter(outcome=Candidate.Outcome.DISCARDED):
        adjudicate(candidate, lead, 2, "a word")
        withdraw_adjudication(candidate, lead)
    release = freeze(campaign, lead, "MIT")
    assert work_off(io.StringIO()) == []
    release.refresh_from_db()
    assert "BROKEN" not in printed("verify_release", release.file.path)
    archive = opened(release)
    judged = [json.loads(line) for line in archive.read("judgements.jsonl").splitlines()]
    assert [(row["worker"], row["round"]) for row in judged if row["pair_id"] == "14"] == [
        (4, None), (4, None), (6, None), (9, None)
    ]  # fmt: skip
    assert json.loads(archive.read("MANIFEST.json"))["counts"]["annotators"] == 3
    assert "known   pairs in which one worker counts twice, as in the imported ratings: 1" in printed(
        "verify_release", release.file.path
    )
    card = " ".join(archive.read("README.md").decode().split())
    assert "imported as finished ratings" in card
    assert "one worker counts twice, as the ratings came: 1." in card
    assert "which ratings belong to which round" in card
    for untrue in ("seeing the clip", "ranked by", "language", "guidelines/", "splits/"):
        assert untrue not in card, untrue
    assert [json.loads(row)["pair_id"] for row in archive.read("qrels.jsonl").splitlines()] == ["14"]


@pytest.mark.django_db
def test_json_lines_of_tvr_ranking_are_a_pair_file(tmp_path: Path) -> None:
    arguments = importing(tmp_path)
    record = {"query_id": 7, "query": "A man sits.", "video_name": "film", "duration": 90, "similarity": 0.5}
    (tmp_path / "pairs.csv").write_text(
        "".join(
            json.dumps(record | {"pair_id": number, "timestamp": [number, number + 1]}) + "\n" for number in range(3)
        )
    )
    assert "3 pairs" in printed(*arguments)
    assert Candidate.objects.first().query.query_id == "7"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"pair_id": 1', "line 3: not JSON"),
        ("[1]", "line 3: a JSON list; expected a JSON object"),
        ('{"pair_id": 1, "timestamp": [1]}', "line 3: field timestamp: [1]; expected [start, end] in seconds"),
        ('{"pair_id": 1, "timestamp": [1, true]}', "line 3: field end: true; expected a number"),
        ('{"pair_id": "\\u0000", "timestamp": [1, 2]}', "line 3: field pair_id"),
        ('{"pair_id": 1, "timestamp": [1, 2], "query_id": 1}', "line 3: field query: null; expected a text"),
    ],
)
@pytest.mark.django_db
def test_a_wrong_line_of_json_is_named(tmp_path: Path, line: str, words: str) -> None:
    arguments, file = importing(tmp_path), tmp_path / "pairs.csv"
    right = {"pair_id": 0, "query_id": 7, "query": "A man sits.", "video_name": "film", "timestamp": [0, 1]}
    file.write_text(f"{json.dumps(right)}\n\n{line}\n")
    answer = refused(*arguments)
    assert answer.startswith(f"{file}: {words}")
    assert "\n" not in answer


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (PAIRS[::2], "pair 1: has ratings and a final grade, but is not in the pair file"),
        (["9,q1,A man sits.,film,0,2.5,.9"], "pair 0: has ratings and a final grade"),
        ([*PAIRS, "0,q1,A man sits.,film,5,6,.9"], "line 5: field pair_id: 0 stands for another pair"),
        ([*PAIRS[:2], "2,q2,A man sits.,film,0,2.5,.7"], "query q2: has the text of query q1"),
        ([*PAIRS[:2], "2,q1,A man stands.,film,7,8,.7"], "pair 2: query q1 has another text in pair 0"),
        ([*PAIRS[:2], "2,q1,A man sits.,film,3,4,.7"], "query q1: has one moment in two pairs"),
        ([*PAIRS[:2], "2,q2,A dog runs.,film,4,3,.7"], "line 4: fields start, end: 4 to 3"),
        ([*PAIRS[:2], "2,q2,A dog runs.,film,nan,3,.7"], 'line 4: field start: "nan"; expected a finite number'),
        ([*PAIRS[:2], "2,,A dog runs.,film,1,3,.7"], "line 4: field query_id"),
    ],
)
@pytest.mark.django_db
def test_bad_pairs_are_named_and_nothing_is_stored(tmp_path: Path, pairs: list[str], words: str) -> None:
    assert words in refused(*importing(tmp_path, pairs=pairs))
    assert not Campaign.objects.exists()


@pytest.mark.django_db
def test_a_pair_file_of_settled_pairs_only_is_enough(tmp_path: Path) -> None:
    """As TVR-Ranking's authors publish their pairs. Of the discarded ones nobody knows query and moment."""
    answer = printed(*importing(tmp_path, pairs=PAIRS[:2]))
    assert "done: 2 pairs, 2 settled, 0 discarded" in answer
    assert "without a final grade and not in the pair file, left out: 1\n" in answer
    page = text_of(Campaign.objects.get(), "agreement")
    assert "1 more candidates without a final grade were rated" in page


@pytest.mark.parametrize(
    ("ratings", "words"),
    [
        (["0,4,4,1", "0,6,3,3"], "line 3: field round: '3'; expected 1 or 2"),
        (["0,4,4,1", "0,6,3,"], "line 3: field round: ''; expected 1 or 2"),
        (["0,4,4,1", "0,6,3,1", "0,7,3,1"], "line 4: a third rating of pair 0 in round 1; expected at most two"),
        (["0,4,4,1", "0,6,3,2"], "pair 0 has ratings of round 2, and not two of round 1"),
    ],
)
@pytest.mark.django_db
def test_wrong_rounds_are_named(tmp_path: Path, ratings: list[str], words: str) -> None:
    arguments = importing(tmp_path)
    (tmp_path / "ratings.csv").write_text("\n".join(["pair_id,worker,relevance,round", *ratings, ""]))
    assert words in refused(*arguments)


@pytest.mark.django_db
def test_a_column_says_the_rounds(tmp_path: Path) -> None:
    """Whatever the order of the lines."""
    arguments = importing(tmp_path)
    lines = ["1,4,0,2", "1,6,3,1", "1,9,2,2", "1,10,0,1", "0,4,4,1", "0,6,3,1"]
    (tmp_path / "ratings.csv").write_text("\n".join(["pair_id,worker,relevance,round", *lines, ""]))
    assert "no column round" not in printed(*arguments)
    campaign = Campaign.objects.get()
    seats = Judgement.objects.filter(candidate__imported_as="1").order_by("seat")
    assert [(each.annotator.worker, each.seat) for each in seats] == [(6, 1), (10, 2), (4, 3), (9, 4)]
    page = text_of(campaign, "agreement")
    assert "of 2 pairs of round one" in page
    assert "Under 2 s" not in page


@pytest.mark.django_db
def test_what_nobody_knows_of_imported_ratings_is_not_shown(tmp_path: Path) -> None:
    """The order of the file says nothing: the same lines, sorted, are the same campaign."""
    printed(*importing(tmp_path, sorted(RATINGS, key=lambda line: line.split(",")[1])))
    campaign = Campaign.objects.get()
    assert not Assignment.objects.exclude(submitted=None).exists()
    agreement = text_of(campaign, "agreement")
    assert "Ordinal α of all" in agreement
    assert "66.67 %" in agreement
    assert "2 of 3 candidates have more than two grades" in agreement
    assert "their rounds are unknown" in agreement
    for unknown in ("before escalation", "Contested", "co-judges’"):
        assert unknown not in agreement, unknown
    worker = text_of(campaign, "annotator", 4, view="agreement")
    assert "imported; rounds and co-judges are unknown" in worker
    for unknown in ("Quadratic kappa", "With each co-judge", "Median seconds"):
        assert unknown not in worker, unknown
    assert "Escalated" in agreement
    judgements = text_of(campaign, "judgements")
    assert (judgements.count("unknown"), "not yet" in judgements, "Co-judge" in judgements) == (1, False, False)
    assert "again" not in judgements  # one worker has one number
    people = text_of(campaign, "annotators")
    assert "When and how long their workers judged is unknown" in people
    # The membership that holds worker 4's second rating of a pair.
    assert "15" not in text_between_tags(people)
    assert "When and how long the imported ratings were made is unknown" in text_of(campaign, "annotators", view="pay")
    desk = text_of(campaign, "campaign")
    assert "over all grades; 66.67 % escalated" in desk
    for empty in ("0.0 hours", "What it costs", "contested of", "<polyline"):
        assert empty not in desk, empty


@pytest.mark.django_db
def test_more_pairs_than_two_batches_hold_are_refused(tmp_path: Path) -> None:
    pairs = [f"{number},q1,A man sits.,film,{number},{number + 1},.5" for number in range(41)]
    ratings = [f"{number},1,2" for number in range(41)]
    assert "query q1: has 41 pairs; expected at most 40" in refused(*importing(tmp_path, ratings, pairs))


@pytest.mark.django_db
def test_a_second_import_under_the_same_name_is_refused(tmp_path: Path) -> None:
    printed(*importing(tmp_path))
    assert "campaign done: is there already" in refused(*importing(tmp_path))
    assert Candidate.objects.count() == 3


@pytest.mark.long
@pytest.mark.django_db
def test_the_ratings_of_tvr_ranking(shared: Path, tmp_path: Path) -> None:
    """All 227,808, to the figures of their paper, with stand-ins for the queries and moments."""
    source, pairs = shared / "tvr_ranking" / "raw_annotation.csv", tmp_path / "pairs.csv"
    write_pairs(source, pairs)
    answer = printed("import_ratings", "tvr-ranking", "--ratings", source, "--pairs", pairs)
    assert "96,483 pairs, 94,442 settled, 2,041 discarded" in answer
    assert "one worker twice: 11,682" in answer
    campaign = Campaign.objects.get()
    held = counted(ExportScope(campaign))
    assert (held["judgements"], held["annotators"], held["one_worker_twice"]) == (227_808, 21, 11_682)
    store_summaries(campaign)
    client = browser(campaign.add_member(User.objects.create(username="leo"), Membership.Role.LEAD))
    page = client.get("/campaigns/tvr-ranking/agreement/")
    assert page.context["counts"]["alpha"]["all"] == pytest.approx(0.615, abs=5e-4)
    headlines = " ".join(re.sub("<[^>]*>", " ", page.content.decode()).split())
    assert "Ordinal α of all 227,808 judgements" in headlines
    assert "18.06 % escalated : 17,421 of 96,483 candidates" in headlines
    final = client.get("/campaigns/tvr-ranking/figures/figure-5b.csv").content.decode().splitlines()
    counts = [int(row["candidates"]) for row in csv.DictReader(final)]
    assert counts == [5929, 19245, 30056, 24439, 14773]
    for figure in ("5a", "5b"):
        drawn = client.get(f"/campaigns/tvr-ranking/figures/figure-{figure}.svg")
        assert drawn.content.startswith(b"<svg")
