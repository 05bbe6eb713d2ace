"""Systems that are trained for a campaign: asked for, trained, broken off, gone on with, submitted, searched with."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.urls import reverse

from base.errors import Unfit
from campaigns.models import Campaign, Membership
from corpus.features import videos_of
from corpus.models import Moment
from demo.judged import MINUTES, TRAINED, ask_for_systems
from jobs.models import Job
from jobs.queue import Lane
from jobs.running import run, work_off
from judging.pool.selection import training_queries
from releases.models import Release
from retrieval.encoders import model_name
from runs.models import Arrival, Run, Scoring, Submission, SystemSearch, TrainedSystem
from runs.receiving import forget_submissions
from runs.systems.forms import OptionsForm
from runs.systems.orders import Wanted, ask_to_search, ask_to_train, remove
from runs.systems.training import train, train_system
from systems.interface import SYSTEMS as REGISTERED
from systems.interface import entry
from systems.neural.description import MODEL, README
from systems.options import Streams
from systems.storage import digest
from tests.cast import browser
from tests.films import write_film
from tests.remembered import remembered
from tests.runs.uploading import GOOD, ranking, submitted

pytestmark = pytest.mark.django_db
SMALL: dict[str, Any] = {
    "iterations": 40,
    "batch_size": 16,
    "hidden": 32,
    "words": 16,
    "language": 16,
    "embedding": 16,
    "learning_rate": 0.01,
    "shortest": 3,
    "longest": 4,
    "nms": 0.5,
    "validate_every": 20,
}
OPTIONS_FORM = SMALL | {  # what the page sends of MCN's options
    "stride": 0.3,
    "momentum": 0.9,
    "decay_every": 0,
    "patience": 0,
    "validation_videos": 0,
    "optimiser": "adam",
    "loss": "nce",
    "margin": 0.1,
    "intra": 1,
    "inter": 4,
    "anywhere": 0,
    "intra_iou": 0.35,
    "dropout": 0,
    "endpoints": "on",
    "fit": "strict",
}
NDCG = "nDCG_IoU(iou=0.5)@20"
PLACES = 10  # moments of a video, each of which shows another thing, and every video in another order
CLIPS = 100  # of a second


@pytest.fixture
def features(settings: Any, tmp_path: Path) -> Path:
    """The folder of features of the corpus; a clip shows what the moment’s caption says."""
    settings.FEATURES_ROOT, settings.MODELS_ROOT = tmp_path / "features", tmp_path / "models"
    folder = tmp_path / "features" / "films"
    folder.mkdir(parents=True)
    np.savez(folder / "i3d.npz", **arrays())
    return folder


def arrays() -> dict[str, Any]:
    random = np.random.default_rng(1)
    found = {}
    for number in range(6):
        rows = random.normal(0, 0.1, (CLIPS, PLACES + 1)).astype(np.float32)
        for clip in range(CLIPS):
            rows[clip, (clip // 10 + number) % PLACES if 1 <= clip % 10 <= 4 else PLACES] += 1
        found[f"secret-video-{number}"] = rows
    return found


@pytest.fixture
@remembered
def researcher(campaign: Campaign, rio: Membership, features: Path) -> Membership:
    """A researcher of a campaign over a corpus whose captions say what the clips show."""
    return with_captions(rio)


def with_captions(member: Membership) -> Membership:
    things = ("walks", "jumps", "sings", "cooks", "reads", "sleeps", "paints", "swims", "drives", "writes")
    people = ("A man", "A woman", "Somebody", "A child", "A dog", "A cat")
    for moment in Moment.objects.filter(video__corpus=member.campaign.corpus).select_related("video"):
        number = int(moment.video.name[-1])
        moment.caption = f"{people[number]} {things[(int(moment.start // 10) + number) % PLACES]}."
        moment.save()
    Campaign.objects.update(encoder=model_name())
    member.campaign.refresh_from_db()
    return member


def wanted(system: str = "stal_clips", **more: Any) -> Wanted:
    options = more.pop("options", {} if system == "chance" else SMALL)
    named: dict[str, Any] = {"name": system, "features": "i3d", "clip_seconds": 1.0, "depth": 6}
    return Wanted(system=system, **named | more, options=options)


def done() -> None:
    assert work_off(StringIO()) == []


def nobody(done: int, total: int, text: str) -> None:
    """Say nothing."""


def failed(row: TrainedSystem) -> str:
    work_off(StringIO())
    job = train_system.jobs(row).get()
    assert job.has_failed
    return job.error


# The release is written by a thread with a connection of its own, which sees what is committed.
@pytest.mark.django_db(transaction=True)
@pytest.mark.any_database
def test_a_system_is_trained_submitted_scored_and_searched_with(
    release: Release, rio: Membership, features: Path
) -> None:
    researcher = with_captions(rio)
    [row] = ask_to_train(researcher, wanted(depth=1, options=SMALL | {"iterations": 150, "validate_every": 150}))
    done()
    row.refresh_from_db()
    assert row.run is not None
    assert row.run.by == researcher
    assert row.run.system == "STAL (clips)"
    assert row.run.queries == 6
    assert Scoring.objects.filter(run=row.run).exists()
    steps = [step for step, _ in row.losses]
    assert steps == sorted(set(steps))
    assert steps[-1] == 150
    assert row.losses[-1][1] < row.losses[0][1]
    assert [step for step, _ in row.validations] == [150]
    assert row.measure == "nDCG_IoU(iou=0.5)@20"  # on the release's validation queries
    search = ask_to_search(row, "Somebody swims.", row.by)
    done()
    search.refresh_from_db()
    assert search.moments
    things = [(start // 10 + int(video[-1])) % PLACES for video, start, _, _ in search.moments[:6]]
    assert things.count(7.0) >= 4, search.moments
    page = browser(researcher).get(reverse("system", args=["films", row.number]), {"q": "Somebody swims."})
    assert "No clip is stored" in page.content.decode()
    assert "Caption similarity" in page.content.decode()


def test_the_page_tells_which_clips_lack_objects(researcher: Membership, features: Path) -> None:
    line = {"video": "secret-video-0", "clip": 0, "name": "cup", "box": [0, 0, 1, 1]}
    (features / "i3d.objects.jsonl").write_text(json.dumps(line))
    notice = "No objects are detected in 599 of 600 clips, and in no clip of 5 of 6 videos."
    [row] = ask_to_train(researcher, wanted("stal", options=SMALL | {"iterations": 2}))
    done()
    page = browser(researcher).get(reverse("system", args=["films", row.number]))
    assert notice in page.content.decode()
    [clips_only] = ask_to_train(researcher, wanted(options=SMALL | {"iterations": 2}))
    done()
    clips_only.refresh_from_db()
    assert clips_only.notice == ""  # it looks at no objects


def test_seeds_become_one_group_of_runs_and_chance_needs_no_training(researcher: Membership) -> None:
    rows = ask_to_train(researcher, wanted("chance", seeds=(1, 2)))
    done()
    runs = Run.objects.order_by("number")
    assert [(run.name, run.group) for run in runs] == [("chance 1", "chance"), ("chance 2", "chance")]
    assert {row.pk for row in rows} == {run.trained_system.pk for run in runs}
    assert runs[0].sha256 != runs[1].sha256


def test_a_run_outlives_its_submission_and_is_not_made_twice(researcher: Membership) -> None:
    [row] = ask_to_train(researcher, wanted("chance"))
    done()
    Submission.objects.update(touched="2020-01-01T00:00Z")
    forget_submissions()
    row.refresh_from_db()
    assert row.submission is None
    assert row.run is not None
    train(row, lambda done, total, text: None)
    assert Run.objects.count() == 1


def test_a_training_that_is_broken_off_goes_on_and_ends_the_same(
    researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SMALL | {"iterations": 12, "validate_every": 4}
    whole, broken = (ask_to_train(researcher, wanted(name=name, options=options))[0] for name in ("whole", "broken"))
    train(whole, lambda done, total, text: None)

    def killed(done: int, total: int, text: str) -> None:
        if text.startswith("training: 8 "):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("systems.neural.training.SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        with pytest.raises(KeyboardInterrupt):
            train(broken, killed)
    broken.refresh_from_db()
    assert not broken.is_submitted
    assert broken.losses[-1][0] == 8
    again: list[str] = []
    train(broken, lambda done, total, text: again.append(text))
    # Not over.
    assert next(text for text in again if text.startswith("training")) == "training: 7 of 12 steps"
    whole.refresh_from_db()
    broken.refresh_from_db()
    assert broken.losses == whole.losses
    assert broken.validations == whole.validations
    one, other = (Arrival.objects.get(submission=row.submission).path for row in (whole, broken))
    assert json.loads(one.read_bytes()) == json.loads(other.read_bytes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("secret-video-3"), "1 of 6 videos have no features: 'secret-video-3'"),
        (lambda arrays: arrays["secret-video-2"].__setitem__((7, 0), np.nan), "'secret-video-2': clip 7 holds a value"),
        (lambda arrays: arrays.update({"secret-video-1": np.ones((40, 11), np.float32)}), "too short for 100 s"),
        (lambda arrays: arrays.update({"secret-video-5": np.ones((100, 9), np.float32)}), "expected 11, as in"),
    ],
)
def test_features_that_do_not_fit_are_told_and_mended_ones_are_gone_on_with(
    researcher: Membership, features: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    wrong = arrays()
    change(wrong)
    np.savez(features / "i3d.npz", **wrong)
    [row] = ask_to_train(researcher, wanted("prior", options={}))
    assert message in failed(row)
    page = browser(researcher).get(reverse("system", args=["films", row.number])).content.decode()
    assert "The training failed" in page
    assert "Go on" in page
    again = reverse("job-again", args=[train_system.jobs(row).get().pk])
    np.savez(features / "i3d.npz", **arrays())
    assert browser(researcher).post(again).status_code == 302
    done()
    row.refresh_from_db()
    assert row.run is not None
    assert browser(researcher).post(again).status_code == 404


@pytest.mark.parametrize("kind", [".npz", ".objects.jsonl"])
def test_a_set_of_features_that_is_a_link_to_elsewhere_is_refused(
    researcher: Membership, features: Path, kind: str
) -> None:
    other = features.parent / f"other{kind}"
    if (there := features / f"i3d{kind}").exists():
        there.rename(other)
    else:
        other.write_text("secret")
    there.symlink_to(other)
    [row] = ask_to_train(researcher, wanted("stal"))
    assert failed(row) == f"i3d{kind}: a link that leads out of {features}; expected the file itself"


def test_a_full_disk_is_told_and_waited_for_and_nothing_is_lost(
    researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = ask_to_train(researcher, wanted())

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        work_off(StringIO())
    job = train_system.jobs(row).get()
    assert job.is_delayed
    assert "No space left on device" in job.error
    assert "what was there is kept" in job.error
    train_system.ask(row)
    done()
    row.refresh_from_db()
    assert row.run is not None


def test_two_sets_are_joined_and_the_run_says_which_files_they_were(researcher: Membership, features: Path) -> None:
    more = {name: rows[:, :2] for name, rows in arrays().items()}
    np.savez(features / "clip.npz", **more)
    page = browser(researcher).get(reverse("systems", args=["films"]), {"system": "mcn"}).content.decode()
    assert "Joined with" in page
    form = OPTIONS_FORM | {"name": "mcn", "features": "i3d", "joined": "clip", "clip_seconds": 1, "depth": 6}
    form |= {"word_vectors": "learned", "seeds": "3"}
    assert browser(researcher).post(f"{reverse('systems', args=['films'])}?system=mcn", form).status_code == 302
    done()
    [row] = TrainedSystem.objects.all()
    assert row.features == "i3d+clip"
    assert row.run is not None
    for file, width in (("i3d", PLACES + 1), ("clip", 2)):
        checksum = digest(features / f"{file}.npz")
        assert f"{file}.npz: SHA-256 {checksum}, 6 videos, 600 clips of {width}, mean " in row.run.description
        assert json.loads(row.run.description.splitlines()[-1])["features"]["train"][f"{file}.npz"] == checksum


def test_sets_with_clips_of_other_lengths_are_cut_and_padded_to_fit(researcher: Membership, features: Path) -> None:
    """As the page and the command ask for it; a video is missing, and the joined set has 50 clips of every video."""
    given = arrays()
    del given["secret-video-3"]
    np.savez(features / "i3d.npz", **given)
    np.savez(features / "c3d.npz", **{name: 3 * rows[::2, :2] for name, rows in arrays().items()})
    rio, new = browser(researcher), f"{reverse('systems', args=['films'])}?system=mcn"
    form = OPTIONS_FORM | {"name": "mcn", "features": "i3d", "joined": "c3d", "clip_seconds": 1, "depth": 6}
    form |= {"word_vectors": "learned", "seeds": "3", "fit": "cut", "unit_rows": "on"}
    refused = rio.post(new, form | {"joined_clips": "many"})
    assert refused.status_code == 400
    assert re.search(r"<details open>\s*<summary>More options", refused.content.decode())
    assert rio.post(new, form | {"joined_clips": "50clips"}).status_code == 302
    ask_to_train(researcher, wanted(name="padded", features="i3d+c3d@2s", fit="pad", options=SMALL))
    done()
    cut, padded = TrainedSystem.objects.order_by("number")
    assert (cut.features, cut.fit, cut.unit_rows) == ("i3d+c3d@50clips", "cut", True)
    assert (padded.features, padded.fit, padded.unit_rows) == ("i3d+c3d@2s", "pad", False)
    reading = "clips of 1 s, what does not fit left out, each row of length 1"
    assert reading in rio.get(reverse("system", args=["films", cut.number])).content.decode()
    for row, videos in ((cut, 5), (padded, 6)):
        assert row.run is not None
        assert "1 videos have no features: 'secret-video-3'" in row.notice
        assert "i3d.npz: SHA-256" in row.run.description
        assert "5 videos, 1 videos missing" in row.run.description
        assert f"features {row.features}, {row.reading}" in row.run.description
        seen = videos_of(researcher.campaign.corpus, row.features, 1.0, nobody, row.fit, row.unit_rows)
        assert len(seen) == videos
        assert set(seen.counts.tolist()) == {CLIPS}
        lengths = np.linalg.norm(seen.clips.reshape(videos, CLIPS, -1), axis=2)
        assert bool(np.allclose(lengths, 2**0.5, atol=1e-3)) == row.unit_rows
    assert (seen.clips[3 * CLIPS : 4 * CLIPS, : PLACES + 1] == 0).all()


def test_a_run_says_of_what_it_was_made(researcher: Membership) -> None:
    [row] = ask_to_train(researcher, wanted())
    done()
    row.refresh_from_db()
    assert row.run is not None
    about = json.loads(row.run.description.splitlines()[-1])
    assert (about["system"], about["options"]["seed"]) == (row.system, row.options["seed"])
    assert about["options"]["hidden"] == SMALL["hidden"]
    assert about["weights"] == {MODEL: digest(row.stored / MODEL)}
    assert (about["trained_on"], about["searched_on"], about["measure"]) == ("cpu", "cpu", row.measure)
    assert about["validation"] == (row.best_validation or [0, None])[1]
    assert about["weights"][MODEL] in (row.stored / README).read_text()


AGAIN: dict[str, dict[str, Any]] = {
    "prior": {"options": {}},
    "mcn": {"options": SMALL | {"iterations": 8, "validate_every": 4, "validation_videos": 4}, "unit_rows": True},
    "two_stage": {"options": SMALL | {"iterations": 4, "validate_every": 2}, "fit": "cut"},
    "xml": {"options": {"iterations": 4, "validate_every": 2, "hidden": 16, "batch_size": 6, "words": 8}},
}


@pytest.mark.parametrize("system", AGAIN)
def test_a_run_is_made_again_from_the_description_that_its_page_offers(
    system: str, researcher: Membership, tmp_path: Path
) -> None:
    [row] = ask_to_train(researcher, wanted(system, seeds=(5,), **AGAIN[system]))
    done()
    row.refresh_from_db()
    assert row.run is not None
    address = reverse("run-description", args=["films", row.run.number])
    page = browser(researcher).get(reverse("run", args=["films", row.run.number])).content.decode()
    assert address in page
    assert "made_by" not in page  # words for people, and a file for programs
    assert f"Trained here as system {row.number}: features i3d, {row.reading}" in page
    offered = browser(researcher).get(address)
    assert offered["Content-Disposition"] == f'attachment; filename="films-run-{row.run.number}.description.json"'
    file, out, words = tmp_path / "d.json", tmp_path / "again.json", StringIO()
    file.write_bytes(offered.content)
    with row.run.file.open("rb") as stored:
        content = stored.read()
    remove(row)
    call_command("make_run_again", file, out=out, stdout=words)
    assert out.read_bytes() == content
    assert words.getvalue() == f"{out}: is the run of the description, SHA-256 {sha256(content).hexdigest()}\n"
    assert (Run.objects.count(), TrainedSystem.objects.count()) == (1, 0)
    assert not [each for each in (tmp_path / "models" / "systems").iterdir() if each != row.folder]


def again(file: Path, about: dict[str, Any], out: Path) -> str:
    """Return the refusal of a description."""
    file.write_text(json.dumps(about))
    with pytest.raises(CommandError) as refused:
        call_command("make_run_again", file, out=out, stdout=StringIO())
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_what_has_changed_since_a_run_was_made_is_named(researcher: Membership, features: Path, tmp_path: Path) -> None:
    [row] = ask_to_train(researcher, wanted("mcn", options=SMALL | {"iterations": 4, "validate_every": 2}))
    done()
    run = Run.objects.get()
    about, file, out = json.loads(run.recipe), tmp_path / "d.json", tmp_path / "again.json"
    other: list[tuple[dict[str, Any], str]] = [
        ({"made_by": about["made_by"] | {"features": "gone"}}, "features: .*expected one of descriptor, i3d"),
        ({"made_by": about["made_by"] | {"campaign": "gone"}}, "gone"),
        ({"made_by": about["made_by"] | {"depth": "6"}}, "does not say of what a run was made"),
        ({"made_by": about["made_by"] | {"encoder": "another"}}, "expected another, whose token vectors mcn was"),
        ({"options": about["options"] | {"iterations": 0}}, "iterations: 0; expected 1 to"),
        ({"options": about["options"] | {"speed": 0}}, "speed: there is no such option"),
        ({"system": "magic"}, "system: .*expected one of chance"),
        ({"trained_on": "abacus"}, "does not say of what a run was made"),
        ({"learned_from": about["learned_from"] | {"release": 9}}, "release 9 of films: is not there"),
        ({"learned_from": about["learned_from"] | {"training_set": "0"}}, "the training set of films: has SHA-256"),
        ({"run": "0"}, "differs from the run of the description.* The weights are the same"),
        (
            {"options": about["options"] | {"seed": 9}},
            "differs from the run of the description.* The weights are others",
        ),
    ]
    for change, message in other:
        found = again(file, about | change, out)
        assert re.search(message, found), found
    np.savez(features / "i3d.npz", **{name: rows + 1 for name, rows in arrays().items()})
    assert re.search(r"i3d\.npz: has SHA-256 .*; expected ", again(file, about, out))
    assert not (tmp_path / "models" / "systems" / row.token / "x").exists()


def test_an_upload_has_no_description_to_make_it_again_from(researcher: Membership) -> None:
    run = submitted(researcher, ranking(GOOD), description="An upload has words alone.").run
    assert run is not None
    assert (run.recipe, run.words) == ("", "An upload has words alone.")
    assert browser(researcher).get(reverse("run-description", args=["films", run.number])).status_code == 404


def test_what_cannot_be_trained_is_refused_where_it_is_asked_for(researcher: Membership) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"options": {"iterations": 0}}, "iterations: 0; expected 1 to"),
        ({"options": {"speed": 3}}, "speed: there is no such option"),
        ({"options": {"seed": 3}}, "seed: among the options; expected seeds beside them"),
        ({"features": "../secret"}, "expected one of descriptor, i3d"),
        ({"features": "i3d+i3d"}, "expected one of descriptor, i3d, or several of files with"),
        ({"features": "i3d+descriptor"}, "or several of files with"),
        ({"clip_seconds": 0.0}, "clip_seconds: 0"),
        ({"features": "i3d@0s"}, "expected one of descriptor, i3d"),
        ({"features": "i3d@1.5clips"}, "expected one of descriptor, i3d"),
        ({"features": "i3d@2s+i3d"}, "expected one of descriptor, i3d"),
        ({"features": "descriptor@2s"}, "expected one of descriptor, i3d"),
        ({"features": "descriptor", "fit": "cut"}, "fit: set for descriptor, which is computed here"),
        ({"features": "descriptor", "unit_rows": True}, "unit_rows: set for descriptor"),
        ({"fit": "loose"}, 'fit: "loose"; expected one of strict, cut, pad'),
        ({"depth": 0}, "depth: 0"),
        ({"seeds": (1, 1)}, "none twice"),
        ({"word_vectors": "magic"}, 'word_vectors: "magic"; expected learned or encoder'),
        ({"system": "magic"}, "expected one of chance"),
    ]
    for more, message in wrong:
        with pytest.raises(Unfit, match=".*".join(message.split())):
            ask_to_train(researcher, Wanted(**wanted().__dict__ | more))
    ask_to_train(researcher, wanted("chance", name="one"))
    with pytest.raises(Unfit, match="name no other run"):
        ask_to_train(researcher, wanted("chance", name="one"))
    assert TrainedSystem.objects.count() == 1


def test_a_page_asks_for_a_system_and_says_what_is_wrong(researcher: Membership) -> None:
    rio, new = browser(researcher), reverse("systems", args=["films"])
    page = rio.get(new, {"system": "mcn"}).content.decode()
    assert "i3d" in page
    assert "Plain descriptor" in page
    assert 'name="learning_rate"' in page
    assert "Validations without a better one, after which training ends" in page
    form = OPTIONS_FORM | {"name": "mcn", "features": "i3d", "clip_seconds": 1, "depth": 6}
    form |= {"word_vectors": "learned", "seeds": "3 4"}
    refused = rio.post(f"{new}?system=mcn", form | {"dropout": 3, "seeds": "3 x"})
    assert refused.status_code == 400
    assert "Whole numbers with spaces" in refused.content.decode()
    refused = rio.post(f"{new}?system=mcn", form | {"dropout": 3})
    assert refused.status_code == 400
    assert "expected 0 to 0.95" in refused.content.decode()
    assert TrainedSystem.objects.count() == 0
    assert rio.post(f"{new}?system=mcn", form).status_code == 302
    one, other = TrainedSystem.objects.order_by("number")
    assert (one.name, other.name, one.group, other.options["seed"]) == ("mcn 3", "mcn 4", "mcn", 4)
    assert "nms" in one.options
    assert "optimiser" not in one.options
    assert rio.get(new, {"system": "magic"}).status_code == 400


@pytest.mark.parametrize("system", ["xml", "reloclnet", "conquer"])
def test_the_page_says_in_what_a_system_differs_from_its_authors_code(researcher: Membership, system: str) -> None:
    page = browser(researcher).get(reverse("systems", args=["films"]), {"system": system}).content.decode()
    assert "It is that of its authors’ code, with one difference: they pad videos" in page
    assert ("Its first stage is a ReLoCLNet" in page) == (system == "conquer")
    other = browser(researcher).get(reverse("systems", args=["films"]), {"system": "stal"}).content.decode()
    assert "its authors’ code" not in other


def test_all_faults_of_the_form_stand_beside_their_fields(researcher: Membership) -> None:
    rio, new = browser(researcher), reverse("systems", args=["films"]) + "?system=mcn"
    form = OPTIONS_FORM | {"name": "mcn", "features": "i3d", "clip_seconds": 0, "depth": 0, "seeds": "one"}
    refused = rio.post(new, form | {"dropout": 2, "iterations": 0, "learning_rate": 20})
    page = refused.content.decode()
    assert refused.status_code == 400
    for right in ("0 to 0.95", "1 to 10,000,000", "1e-09 to 10"):
        assert f"expected {right}" in page
    for words in (
        "greater than or equal to 0.1",
        "greater than or equal to 1.",
        "Whole numbers with spaces between them",
    ):
        assert words in page
    assert not TrainedSystem.objects.exists()


def test_the_options_conditions_and_fields_that_are_wrong_are_named_together_in_the_pages_words(
    researcher: Membership,
) -> None:
    """A name that is taken, a condition on several options, a number out of range and one that is none."""
    rio, new = browser(researcher), reverse("systems", args=["films"]) + "?system=xml"
    ask_to_train(researcher, wanted("chance", name="taken"))
    defaults = {name: value for name, value in asdict(entry("xml").options()).items() if value is not False}
    form = defaults | {"name": "taken", "features": "i3d", "clip_seconds": 1, "depth": 0, "seeds": "1"}
    form |= {
        "fit": "strict",
        "word_vectors": "learned",
        "hidden": 7,
        "shortest": 9,
        "longest": 3,
        "kernel": 4,
        "learning_rate": 99,
    }
    refused = rio.post(new, form | {"iterations": "many"})
    page = refused.content.decode()
    assert refused.status_code == 400
    faults = re.findall(r'class="wrong" role="alert">([^<]+)<', page)
    assert faults == [
        "&quot;taken&quot;; expected at most 100 characters that name no other run of the campaign",
        "Ensure this value is greater than or equal to 1.",
        "9 clips, and the longest windows have 3; expected at most as many",
        "Enter a whole number.",
        "99; expected 1e-09 to 10",
        "7; expected a multiple of the 4 heads",
        "4; expected an odd number of clips",
    ]
    assert re.search(r"<details open>\s*<summary>More options", page)  # because some of them are wrong
    assert "<details>" in rio.get(new).content.decode()
    right = form | {"name": "new", "depth": 1, "hidden": 8, "shortest": 2, "kernel": 5, "learning_rate": 0.1}
    assert rio.post(new, right).status_code == 302


def test_a_preset_makes_trainings_as_long_as_in_the_paper(researcher: Membership) -> None:
    """4,000 epochs of the campaign's captions that no query is worded as, and a validation after each 20."""
    rio, new = browser(researcher), reverse("systems", args=["films"])
    queries = len(training_queries(researcher.campaign))
    assert queries > 0
    for system, batch in (("xml", 128), ("reloclnet", 512), ("conquer", 196)):
        page = rio.get(new, {"system": system}).content.decode()
        assert f"?drawer=train&amp;system={system}&amp;preset=paper" in page
        page = rio.get(new, {"system": system, "preset": "paper"}).content.decode()
        assert f'name="iterations" value="{math.ceil(4000 * queries / batch)}"' in page
        assert f'name="validate_every" value="{math.ceil(20 * queries / batch)}"' in page
        assert f'name="batch_size" value="{batch}"' in page
        assert (f'name="first_iterations" value="{math.ceil(4000 * queries / batch)}"' in page) == (system == "conquer")
    assert "preset=paper" not in rio.get(new, {"system": "mcn"}).content.decode()


def test_a_feature_that_is_too_large_is_to_blame_and_no_learning_rate(researcher: Membership, features: Path) -> None:
    wrong = arrays()
    wrong["secret-video-4"][99, 3] = 1e38
    np.savez(features / "i3d.npz", **wrong)
    [row] = ask_to_train(researcher, wanted("mcn"))
    assert failed(row) == "i3d.npz: video 'secret-video-4': clip 99 holds a value of 1e+38; expected at most 1e+09"


def test_how_long_a_training_takes_is_estimated_from_the_last_one(researcher: Membership) -> None:
    rio, new = browser(researcher), reverse("systems", args=["films"])
    assert "The training takes" not in rio.get(new, {"system": "stal_clips"}).content.decode()
    [row] = ask_to_train(researcher, wanted())
    began = time.monotonic()
    done()
    row.refresh_from_db()
    assert row.step_seconds is not None
    assert 0 < row.step_seconds * SMALL["iterations"] < time.monotonic() - began
    TrainedSystem.objects.update(step_seconds=0.25)
    estimate = "The training takes about 4 min: 1,000 steps of 250.0 ms, as long as the last one took."
    assert estimate in rio.get(new, {"system": "stal_clips"}).content.decode()
    assert "The training takes" not in rio.get(new, {"system": "mcn"}).content.decode()  # another kind
    assert "The training takes" not in rio.get(new, {"system": "prior"}).content.decode()  # without steps
    refused = rio.post(f"{new}?system=stal_clips", {"iterations": 72_000}).content.decode()
    assert "about 5.0 h: 72,000 steps" in refused
    [again] = ask_to_train(researcher, wanted(name="again"))
    TrainedSystem.objects.filter(pk=again.pk).update(step_seconds=3.0)
    assert "about 50 min: 1,000 steps of 3.0 s" in rio.get(new, {"system": "stal_clips"}).content.decode()  # the last


def test_a_waiting_training_says_what_is_before_it(researcher: Membership, leo: Membership) -> None:
    rio, new = browser(researcher), reverse("systems", args=["films"])
    [first] = ask_to_train(researcher, wanted(name="first"))
    [second] = ask_to_train(leo, wanted("prior", name="second", options={}))
    [third] = ask_to_train(researcher, wanted(name="third"))
    pages = {row: reverse("system", args=["films", row.number]) for row in (first, second, third)}

    def page(row: TrainedSystem) -> str:
        return rio.get(pages[row]).content.decode()

    assert "before it" not in page(first)
    assert "waits for a worker: 1 training is before it<" in page(second)  # nobody knows how long it takes
    assert "waits for a worker: 2 trainings are before it<" in page(third)
    TrainedSystem.objects.filter(pk=first.pk).update(step_seconds=2.0, losses=[[10, 1.0]])  # of 40 steps
    assert "2 trainings are before it, about 60 s<" in page(third)
    assert "3 trainings are before it, about 2 min." in rio.get(new, {"system": "mcn"}).content.decode()
    assert "1 training is before it, about 60 s\n" in rio.get(reverse("systems", args=["films"])).content.decode()
    # On one line it made the page wider than a window of 1,280 pixels.
    assert re.search(r"<td>\s*waits for a worker: 1 tr", rio.get(reverse("systems", args=["films"])).content.decode())
    train_system.jobs(second).update(due=Now() + timedelta(hours=1))  # because of a fault it is tried later
    assert "1 training is before it, about 60 s<" in page(third)
    train_system.jobs(third).update(state=Job.State.RUNNING, lease=Now())
    assert "before it" not in page(third)
    assert "1 training is before it, about 80 s<" in page(first)  # what runs is before all that waits


def test_a_search_is_before_trainings_that_have_not_begun(researcher: Membership) -> None:
    [row] = ask_to_train(researcher, wanted("chance"))
    done()
    row.refresh_from_db()
    ask_to_train(researcher, wanted("chance", name="waits"))
    search = ask_to_search(row, "Somebody swims.", row.by)
    job = Job.objects.take("wanda", [Lane.TRAINING])
    assert job is not None
    assert (job.kind, job.row) == ("search-with-system", search.pk)
    assert Job.objects.take("wanda", [Lane.JUDGING, Lane.QUICK, Lane.LONG]) is None


@pytest.mark.parametrize("system", REGISTERED)
def test_the_page_proposes_the_defaults_of_the_commands(system: str) -> None:
    """Among them is that nothing is suppressed, as in TVR-Ranking."""
    kind = entry(system).options
    form = OptionsForm(None, kind)
    proposed = {name: field.initial for name, field in form.fields.items()}
    assert proposed == {name: value for name, value in asdict(kind()).items() if name != "seed"}
    assert not (issubclass(kind, Streams) and {"stride", "decay_every"} & proposed.keys())
    grouped = [field.name for _, group in (("", form.first), *form.groups) for field in group]
    assert sorted(grouped) == sorted(form.fields)
    assert form.fields["nms"].initial == 1.0
    assert "1 keeps all, as in TVR-Ranking" in str(form.fields["nms"].help_text)


def test_curves_are_drawn_and_stored_as_files(researcher: Membership) -> None:
    [row] = ask_to_train(researcher, wanted("chance"))
    rio, address = browser(researcher), ["films", row.number]
    assert rio.get(reverse("system-curves", args=[*address, "svg"])).status_code == 404  # nothing to draw yet
    TrainedSystem.objects.update(losses=[[10, 2.5], [20, 1.5]], validations=[[10, 0.25], [20, 0.125]], measure=NDCG)
    best = rio.get(reverse("systems", args=["films"])).content.decode()
    assert ">0.250<" in best  # whose weights are kept
    assert "After 20 steps the loss is 1.500." in rio.get(reverse("system", args=address)).content.decode()
    table = rio.get(reverse("system-curves", args=[*address, "csv"])).content.decode().splitlines()
    assert table == ["curve,step,value", "loss,10,2.5", "loss,20,1.5", f"{NDCG},10,0.25", f"{NDCG},20,0.125"]
    assert b"</svg>" in rio.get(reverse("system-curves", args=[*address, "svg"])).content
    progress = rio.get(reverse("system", args=address), headers={"hx-request": "true"})
    assert progress["HX-Refresh"] == "true"  # there is something to draw by now
    progress = rio.get(reverse("system", args=address) + "?drawn=yes", headers={"hx-request": "true"})
    assert progress["HX-Trigger"] == "figures-changed"
    assert "HX-Refresh" not in progress


def test_the_commands_index_and_search(researcher: Membership, tmp_path: Path) -> None:
    def command(*words: str) -> str:
        out = StringIO()
        call_command(*words, stdout=out)
        return out.getvalue()

    ask_to_train(researcher, wanted("prior", depth=3, options={"bins": 10}))
    done()
    assert "is indexed" in command("index_system", "films", "1")
    assert len(command("search_system", "films", "1", "--query", "A dog", "--depth", "3").splitlines()) == 3
    assert "1 queries" in command("search_system", "films", "1", "--out", str(tmp_path / "run.json"))
    assert len(json.loads((tmp_path / "run.json").read_text())) == 1
    assert "the index is whole" in command("index_system", "films", "1", "--check")
    (TrainedSystem.objects.get().folder / "stored" / "index.npz").write_bytes(b"damaged")
    for words, message in (
        (["index_system", "films", "1", "--check"], "index.npz: cannot be read"),
        (["index_system", "films", "7"], "it has: 1 .prior"),
    ):
        with pytest.raises(CommandError, match=message) as fault:
            command(*words)
        assert fault.value.returncode == 2


def test_searches_are_made_once_and_forgotten(researcher: Membership) -> None:
    from runs.systems.orders import forget_searches

    [row] = ask_to_train(researcher, wanted("chance"))
    page = reverse("system", args=["films", row.number])
    assert "waits for a worker" in browser(researcher).get(page, {"q": "A dog"}).content.decode()
    assert SystemSearch.objects.count() == 0
    done()
    for _ in range(2):
        assert browser(researcher).get(page, {"q": "A dog"}).status_code == 200
    assert SystemSearch.objects.count() == 1
    assert Job.objects.filter(kind="search-with-system").count() == 1
    SystemSearch.objects.update(made="2020-01-01T00:00Z")
    forget_searches()
    assert SystemSearch.objects.count() == 0


def test_features_are_computed_from_films_once(
    rio: Membership, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FEATURES_ROOT, settings.MODELS_ROOT = tmp_path / "features", tmp_path / "models"
    write_film(tmp_path / "films")
    corpus = rio.campaign.corpus
    corpus.media_folder = str(tmp_path / "films" / "media")
    corpus.save()
    Campaign.objects.update(encoder=model_name())
    [row] = ask_to_train(rio, wanted("prior", name="early", features="descriptor", options={}))
    assert "video 'secret-video-0': the corpus has no film of it" in failed(row)
    corpus.videos.update(media="film.mp4", duration=44.0)
    messages: list[str] = []
    monkeypatch.setattr("jobs.running.SECONDS_BETWEEN_REPORTS", 0)
    videos = videos_of(corpus, "descriptor", 2.0, lambda done, total, text: messages.append(text))
    assert videos.clips.shape == (6 * 22, 358)
    assert videos.clips.mean() == pytest.approx(0, abs=1e-4)
    assert messages[-1] == "computing features: 5 of 6 parts"
    assert len(messages) > 6 * 22  # each clip renews the lease
    assert Job.objects.filter(kind="compute-features", is_part=True, state=Job.State.DONE).count() == 6
    files = sorted((tmp_path / "features" / "computed").rglob("*.npy"))
    before = [file.stat().st_mtime_ns for file in files]
    assert np.array_equal(videos_of(corpus, "descriptor", 2.0, lambda *message: None).clips, videos.clips)
    assert len(before) == 6
    assert [file.stat().st_mtime_ns for file in files] == before


def test_the_demo_asks_for_its_systems_once_and_one_after_the_other(rio: Membership) -> None:
    ask_for_systems(rio)
    ask_for_systems(rio)
    rows = list(TrainedSystem.objects.order_by("number"))
    seconds = [seconds for seconds, _ in TRAINED.values()]
    assert [row.system for row in rows] == list(TRAINED)
    assert len(rows) == 10
    jobs = {job.row: job.due for job in train_system.jobs()}
    due = [jobs[row.pk] for row in rows]
    waits = [round((later - first).total_seconds()) for first, later in itertools.pairwise(due)]
    assert waits == seconds[:-1]
    assert sum(seconds) < 60 * MINUTES


def test_who_asked_and_leads_remove_a_system_and_its_run_stays(
    researcher: Membership, leo: Membership, member: Callable[..., Membership], django_capture_on_commit_callbacks: Any
) -> None:
    rows = ask_to_train(researcher, wanted("prior", seeds=(1, 2), options={}))
    done()
    ask_to_search(TrainedSystem.objects.get(number=1), "A dog", researcher)
    folders = [row.folder for row in rows]
    assert all(folder.is_dir() for folder in folders)
    remove = reverse("system-remove", args=["films", 1])
    other = browser(member("roy", "researcher"))
    assert other.post(remove).status_code == 404
    assert "Remove this system" not in other.get(reverse("system", args=["films", 1])).content.decode()
    assert "Remove this system" in browser(researcher).get(reverse("system", args=["films", 1])).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        assert browser(researcher).post(remove).status_code == 302
    assert [folder.exists() for folder in folders] == [False, True]
    assert browser(researcher).post(remove).status_code == 404
    with django_capture_on_commit_callbacks(execute=True):
        page = browser(leo).post(reverse("system-remove", args=["films", 2]), follow=True).content.decode()
    assert "prior 2 is removed. Its run stays." in page
    assert not TrainedSystem.objects.exists()
    assert not SystemSearch.objects.exists()
    assert not any(folder.exists() for folder in folders)
    assert Run.objects.count() == 2
    done()  # the search that is still asked for finds nothing to do


def test_removing_a_system_ends_its_training(researcher: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.running.SECONDS_BETWEEN_REPORTS", 0.0)
    [row] = ask_to_train(researcher, wanted())
    seen: list[str] = []

    def watch(job: Job) -> None:
        seen.append(job.message)
        if job.message.startswith("training: 8 "):
            remove(row)

    job = Job.objects.take("here:1")
    assert job is not None
    run(job, watch)
    assert seen[-1].startswith("training: 8 ")
    assert not Job.objects.filter(pk=job.pk).exists()
    assert not TrainedSystem.objects.exists()
    assert not Submission.objects.exists()


def test_what_is_removed_before_its_run_is_submitted_submits_none(
    researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = ask_to_train(researcher, wanted("chance"))

    def say(done: int, total: int, text: str) -> None:
        if text.startswith("searching"):
            remove(row)

    train(row, say)
    assert not TrainedSystem.objects.exists()
    assert not Submission.objects.exists()


def test_options_that_are_the_defaults_are_not_kept(researcher: Membership) -> None:
    [row] = ask_to_train(researcher, wanted("prior", options={"bins": 75, "nms": 0.5, "shortest": 2}))
    assert row.options == {"nms": 0.5, "seed": 1}
