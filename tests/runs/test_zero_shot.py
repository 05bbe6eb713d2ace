"""Zero-shot in the product: its features by the vision model of the settings, its run, typed searches, and refusals."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from PIL import Image

from base.errors import Unfit
from campaigns.models import Campaign, Membership
from jobs.models import Job
from retrieval.encoders import model_name
from runs.models import Run, SystemSearch, TrainedSystem
from runs.systems.orders import ask_to_search, ask_to_train
from tests.cast import browser
from tests.runs.test_systems import done, failed, wanted
from tests.systems import towers

pytestmark = pytest.mark.django_db
SECONDS, RATE = 100, 0.5  # of each film, and pictures a second


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return towers.store(tmp_path_factory.mktemp("models") / "clip", steps=60)


@pytest.fixture
def researcher(rio: Membership, model: Path, settings: Any, tmp_path: Path) -> Membership:
    """A researcher of a campaign over green films, of which the second is blue from 40 s to 60 s."""
    settings.FEATURES_ROOT, settings.MODELS_ROOT = tmp_path / "features", tmp_path / "models"
    settings.VISION_MODEL = str(model)
    corpus = rio.campaign.corpus
    for video in corpus.videos.all():
        folder = tmp_path / "films" / video.name
        folder.mkdir(parents=True)
        for number in range(round(SECONDS * RATE)):
            blue = video.name.endswith("1") and 40 <= number / RATE < 60
            Image.fromarray(towers.picture("blue" if blue else "green", number)).save(folder / f"{number}.png")
        video.media, video.duration = video.name, float(SECONDS)
        video.save()
    corpus.media_folder, corpus.frame_rate = str(tmp_path / "films"), RATE
    corpus.save()
    return rio


def order(member: Membership, **more: Any) -> TrainedSystem:
    usual: dict[str, Any] = {"name": "zero", "features": "vision", "clip_seconds": 4.0, "options": {}}
    system = more.pop("system", "zero_shot")
    [row] = ask_to_train(member, wanted(system, **usual | more))
    return row


def test_films_are_searched_for_typed_words_without_training(researcher: Membership) -> None:
    row = order(researcher)
    done()
    row.refresh_from_db()
    run = Run.objects.get(trained_system=row)
    assert run.system == "Zero-shot"
    assert re.search(r"text vectors of clip sha256:[0-9a-f]{16}; ", run.description)  # and not its folder
    assert not Job.objects.filter(state=Job.State.FAILED).exists()
    assert not list(row.folder.glob("train_*"))  # no training set was written
    assert row.notice == "The index compares a query with all clips."
    search = ask_to_search(row, "a blue wall", row.by)
    done()
    search.refresh_from_db()
    assert search.moments is not None
    video, start, end, _ = search.moments[0]
    assert video[-1] == "1"
    assert start >= 40
    assert end <= 60
    assert end - start == 4  # as long as the corpus's moments, which have two seconds
    page = reverse("system", args=["films", row.number])
    assert browser(researcher).get(page, {"q": "a blue wall"}).status_code == 200
    assert SystemSearch.objects.count() == 1


def test_typed_words_are_searched_by_zero_shot_where_there_is_one(researcher: Membership) -> None:
    listed = reverse("systems", args=["films"])
    assert 'role="search"' not in browser(researcher).get(listed).content.decode()
    row = order(researcher)
    order(researcher, system="chance", name="later", features="vision")
    done()
    address = reverse("system", args=["films", row.number])
    assert f'action="{address}"' in browser(researcher).get(listed).content.decode()
    out = StringIO()
    call_command("search_system", "films", query="a blue wall", depth=2, stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert "secret-video-1" in lines[0]
    assert lines[2] == "The index compares a query with all clips."
    TrainedSystem.objects.all().delete()
    with pytest.raises(CommandError, match="campaign films has no system that is trained"):
        call_command("search_system", "films", query="a blue wall", stdout=out)


def test_another_model_than_that_of_the_clips_is_refused(researcher: Membership, settings: Any, tmp_path: Path) -> None:
    row = order(researcher)
    settings.VISION_MODEL = str(tmp_path / "another")
    assert "VISION_MODEL: names" in failed(row)
    settings.VISION_MODEL = ""
    (tmp_path / "features" / "films" / "i3d").mkdir(parents=True)
    with pytest.raises(Unfit, match="features: i3d, and VISION_MODEL names no model; expected that setting to name"):
        order(researcher, name="other", features="i3d")


def test_the_page_asks_for_no_words(researcher: Membership, model: Path) -> None:
    page = reverse("systems", args=["films"])
    answer = browser(researcher).get(page, {"system": "zero_shot"}).content.decode()
    assert "It is not trained: it compares queries with clips" in answer
    assert 'name="word_vectors"' not in answer
    assert '<option value="vision" selected>' in answer
    form = {"name": "from the page", "features": "vision", "clip_seconds": 3, "depth": 1, "seeds": 1, "kind": "flat"}
    form |= {"shortest": 2, "longest": 5, "stride": 0.3, "nms": 1, "clips": 50, "recall": 0.9, "length_power": 0.5}
    posted = browser(researcher).post(f"{page}?system=zero_shot", form)
    assert posted.status_code == 302, posted.content.decode()
    row = TrainedSystem.objects.get()
    assert (row.system, row.options["clips"], row.encoder) == ("zero_shot", 50, model_name(str(model)))
    assert Campaign.objects.get(pk=researcher.campaign_id).systems.count() == 1
