"""A SimCSE model is trained on a corpus, the same twice, goes on after a stop, and is known by its weights."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from judging.models import Candidate
from judging.pool.ranking import rank_candidates
from retrieval.encoders import same_model, weights_hash
from retrieval.models import TrainedEncoder
from retrieval.simcse import comparing, training
from retrieval.simcse.making import forget_trainings, train_simcse
from retrieval.simcse.training import Captions, Recipe, load_base, origin, split, train
from systems import encoders
from tests.remembered import remembered
from tests.terminal import printed, refused

pytestmark = pytest.mark.django_db
CAPTIONS = [
    f"the {color} {size} {thing} {verb}"
    for color, size, thing, verb in product(
        ("red", "green", "blue"), ("small", "tall", "old"), ("cup", "box", "chair", "lamp"), ("drops", "lifts")
    )
]
RECIPE = Recipe(batch_size=8, epochs=2, learning_rate=1e-3, held_out=10)
OPTIONS = ("--batch-size", 8, "--epochs", 2, "--learning-rate", 1e-3, "--held-out", 10)


@pytest.fixture(autouse=True)
def _models_in_the_test_folder(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.MODELS_ROOT = tmp_path / "models"
    yield
    encoders.encoder.cache_clear()


@pytest.fixture
@remembered
def described(db: None) -> Corpus:
    """Seventy-two captions, each of two moments."""
    corpus = Corpus.objects.create(name="short films", format="tvr")
    video = Video.objects.create(corpus=corpus, name="film", duration=1000)
    Moment.objects.bulk_create(
        Moment(video=video, start=start, end=start + 5, description=caption, caption=caption)
        for start, caption in enumerate(CAPTIONS * 2)
    )
    return corpus


def trained(base: Path, folder: Path, recipe: Recipe = RECIPE, **options: Any) -> dict[str, bytes]:
    """The weights after a training, as bytes by name."""
    model = load_base(str(base))
    train(model, CAPTIONS, recipe, folder, **options)
    return {name: values.numpy().tobytes() for name, values in model.state_dict().items()}


def test_one_seed_gives_the_same_weights_and_another_others(simcse: Path, tmp_path: Path) -> None:
    import torch

    untrained = {name: values.numpy().tobytes() for name, values in load_base(str(simcse)).state_dict().items()}
    torch.manual_seed(1)
    first = trained(simcse, tmp_path / "first")
    torch.manual_seed(2)  # what was drawn before does not matter
    assert trained(simcse, tmp_path / "second") == first != untrained
    assert trained(simcse, tmp_path / "third", Recipe(**vars(RECIPE) | {"seed": 2})) != first


def test_a_training_draws_no_random_number_of_others(simcse: Path, tmp_path: Path) -> None:
    import torch

    torch.manual_seed(7)
    undisturbed = torch.rand(3).tolist()
    torch.manual_seed(7)
    trained(simcse, tmp_path)
    assert torch.rand(3).tolist() == undisturbed


@pytest.mark.parametrize("stops", [[0], [1], [7], [17], [3, 3, 11]])
def test_a_training_that_was_stopped_ends_with_the_same_weights(
    simcse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: list[int]
) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    began: list[int] = []

    def stop_at(last: int) -> Any:
        def report(done: int, total: int) -> None:
            assert total == 18
            began.append(done)
            if done == last:
                raise KeyboardInterrupt

        return report

    for last in stops:
        with pytest.raises(KeyboardInterrupt):
            trained(simcse, tmp_path / "stopped", report=stop_at(last))
    began.clear()
    weights = trained(simcse, tmp_path / "stopped", report=stop_at(-1))
    assert began[0] == stops[-1]
    assert weights == trained(simcse, tmp_path / "whole")


def test_a_checkpoint_that_was_being_written_when_the_process_died_harms_nothing(
    simcse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    save, calls = np.savez, []

    def dying(out: Any, **arrays: Any) -> None:
        calls.append(out)
        if len(calls) == 5:
            out.write(b"half")
            raise KeyboardInterrupt
        save(out, **arrays)

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", dying)
        with pytest.raises(KeyboardInterrupt):
            trained(simcse, tmp_path / "died")
    assert trained(simcse, tmp_path / "died") == trained(simcse, tmp_path / "whole")


def test_training_brings_the_two_vectors_of_a_caption_together(simcse: Path, tmp_path: Path) -> None:
    model = load_base(str(simcse))
    before, longest = comparing.alignment(model, CAPTIONS), model.max_seq_length
    losses = train(model, CAPTIONS, Recipe(**vars(RECIPE) | {"epochs": 8}), tmp_path)
    assert comparing.alignment(model, CAPTIONS) < before / 2
    assert losses[-1] < losses[0] - 0.5
    assert model.max_seq_length == longest


def test_the_command_stores_a_version_and_its_report(simcse: Path, described: Corpus, settings: Any) -> None:
    answer = printed("train_simcse", "short films", "--base", simcse, "--now", *OPTIONS)
    made = TrainedEncoder.objects.get()
    assert (made.name, made.version, made.seed, made.corpus) == ("short-films-simcse", 1, 1, described)
    assert made.weights == weights_hash(str(made.folder))
    assert made.folder == settings.MODELS_ROOT / "short-films-simcse-1"
    assert f"ENCODER={made.folder}" in answer
    text, facts = ((made.folder / "report.txt").read_text(), json.loads((made.folder / "report.json").read_text()))
    assert text in answer
    assert facts["captions"] == {"training": 62, "held_out": 10}
    assert facts["lists"]["depth"] == 40
    assert 0 < facts["lists"]["overlap"] < 1
    assert facts["numbers"]["before"] != facts["numbers"]["after"]
    assert facts["made_with"]["threads"] >= 1
    assert {"version": 1, "weights": made.weights} | made.report == facts
    assert [child.name for child in (settings.MODELS_ROOT / "in-training").iterdir()] == []


def test_training_the_same_again_makes_no_new_version_and_another_seed_does(simcse: Path, described: Corpus) -> None:
    command = ("train_simcse", "short films", "--base", simcse, "--now", *OPTIONS)
    assert printed(*command) == printed(*command)
    assert TrainedEncoder.objects.count() == 1
    assert "short-films-simcse 2, SHA-256" in printed(*command, "--seed", 2)
    printed(*command, "--name", "again")
    first, second, again = TrainedEncoder.objects.order_by("pk")
    assert first.weights == again.weights != second.weights


def test_a_worker_trains_with_progress(simcse: Path, described: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.running.SECONDS_BETWEEN_REPORTS", 0)
    messages, report = list[str](), Job.report

    def reported(job: Job, *progress: Any) -> None:
        report(job, *progress)
        messages.append(job.message)

    monkeypatch.setattr(Job, "report", reported)
    assert "a worker does the rest" in printed("train_simcse", "short films", "--base", simcse, *OPTIONS)
    assert work_off(StringIO()) == []
    assert "training: 5 of 16 steps" in messages
    assert "measuring the model after training: 0 of 72 captions" in messages
    assert messages[-1] == "short-films-simcse 1 is stored"


def test_a_name_is_trained_with_one_set_of_options_at_a_time(simcse: Path, described: Corpus) -> None:
    command = ("train_simcse", "short films", "--base", simcse, *OPTIONS)
    printed(*command)
    printed(*command)
    assert Job.objects.count() == 1
    assert "is being trained with other options (job " in refused(*command, "--seed", 2)


def test_what_is_there_without_a_row_is_replaced(simcse: Path, described: Corpus, settings: Any) -> None:
    (settings.MODELS_ROOT / "short-films-simcse-1").mkdir(parents=True)
    (settings.MODELS_ROOT / "short-films-simcse-1" / "model.safetensors").write_text("of a process that died")
    printed("train_simcse", "short films", "--base", simcse, "--now", *OPTIONS)
    made = TrainedEncoder.objects.get()
    assert weights_hash(str(made.folder)) == made.weights


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epochs", 0), "--epochs: 0; expected 1 to 100"),
        (("--batch-size", 1), "--batch-size: 1; expected 2 to 4096"),
        (("--temperature", "nan"), "--temperature: nan; expected more than 0, at most 10"),
        (("--learning-rate", 0), "--learning-rate: 0; expected more than 0, at most 1"),
        (("--seed", -1), "--seed: -1; expected 0 to"),
        (("--name", "../away"), "--name '../away': expected 1 to 60 letters"),
        (("--base", "/no/such/folder"), "--base /no/such/folder: no weights on this machine"),
    ],
)
def test_bad_options_are_refused(described: Corpus, options: tuple[Any, ...], message: str) -> None:
    assert message in refused("train_simcse", "short films", *options)
    assert not Job.objects.exists()


def test_a_corpus_that_is_not_there_or_too_small_is_refused(described: Corpus) -> None:
    assert refused("train_simcse", "films") == "there is no corpus 'films'; there are: short films"
    Moment.objects.exclude(caption__in=CAPTIONS[:19]).delete()
    assert "19 distinct captions; expected at least 20" in refused("train_simcse", "short films")


def test_a_base_without_dropout_is_refused(simcse: Path, described: Corpus, tmp_path: Path) -> None:
    folder = tmp_path / "simcse-dry"
    shutil.copytree(simcse, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    assert "has no dropout" in refused("train_simcse", "short films", "--base", folder, "--now", *OPTIONS)
    (folder / "config.json").write_text("{")
    assert "cannot be loaded" in refused("train_simcse", "short films", "--base", folder, "--now", *OPTIONS)
    assert not TrainedEncoder.objects.exists()


def test_a_campaign_ranked_by_the_model_takes_the_same_weights_at_another_path(
    simcse: Path, described: Corpus, settings: Any, tmp_path: Path
) -> None:
    printed("train_simcse", "short films", "--base", simcse, "--now", *OPTIONS)
    made = TrainedEncoder.objects.get()
    campaign = Campaign.objects.create(name="films", corpus=described, batch_size=2)
    campaign.queries.create(query_id="1", text="the red cup drops")
    settings.ENCODER = str(made.folder)
    rank_candidates(campaign, lambda *progress: None)
    campaign.refresh_from_db()
    assert campaign.encoder == f"short-films-simcse 1 [CLS] sha256:{made.weights[:16]}"

    elsewhere = tmp_path / "another machine"
    shutil.copytree(made.folder, elsewhere)
    shutil.rmtree(made.folder)
    settings.ENCODER = str(elsewhere)
    campaign.queries.create(query_id="2", text=CAPTIONS[7])
    rank_candidates(campaign, lambda *progress: None)
    assert Candidate.objects.filter(query__query_id="2", rank=1).get().similarity == pytest.approx(1)

    settings.ENCODER = "bundled"
    campaign.queries.create(query_id="3", text="the old chair drops")
    with pytest.raises(ReeljudgeError, match="which ranked this campaign so far"):
        rank_candidates(campaign, lambda *progress: None)


def test_captions_are_split_by_the_seed_alone() -> None:
    one = split(CAPTIONS * 2 + ["", " red "], RECIPE)
    other = split([*CAPTIONS[::-1], "red"], RECIPE)
    assert one == other
    assert not set(one.training) & set(one.held_out)
    assert sorted(one.all) == sorted({*CAPTIONS, "red"})
    assert split(CAPTIONS, Recipe(**vars(RECIPE) | {"seed": 2})).held_out != split(CAPTIONS, RECIPE).held_out
    assert origin("a", one, RECIPE) != origin("b", one, RECIPE) != origin("b", Captions([], []), RECIPE)


def test_uniformity_as_it_is_defined() -> None:
    random = np.random.default_rng(1)
    vectors = random.normal(size=(30, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [(a, b) for a in range(30) for b in range(30) if a != b]
    by_hand = np.log(np.mean([np.exp(-2 * np.sum((vectors[a] - vectors[b]) ** 2)) for a, b in pairs]))
    assert comparing.uniformity(vectors) == pytest.approx(by_hand, abs=1e-5)


def test_rank_biased_overlap_as_it_is_defined() -> None:
    one, other = np.array([[1, 2, 3, 4]]), np.array([[2, 1, 5, 3]])
    p = 0.9
    agreements = [0 / 1, 2 / 2, 2 / 3, 3 / 4]
    summed = (1 - p) / p * sum(share * p**depth for depth, share in enumerate(agreements, 1))
    assert comparing.rank_biased_overlap(one, other, p) == pytest.approx(3 / 4 * p**4 + summed)
    assert comparing.overlap(one, other) == 0.75


def test_same_model_compares_weights_and_pooling() -> None:
    assert same_model("a b [CLS] sha256:12", "c [CLS] sha256:12")
    assert not same_model("a sha256:12", "a [CLS] sha256:12")
    assert not same_model("a sha256:12", "a sha256:13")
    assert same_model("hub/model", "hub/model")
    assert not same_model("hub/model", "hub/other")


def test_abandoned_trainings_are_deleted_within_the_hour(settings: Any, tmp_path: Path) -> None:
    settings.MODELS_ROOT = tmp_path
    root, week = tmp_path / "in-training", 7 * 24 * 3600
    ages = {"old-0123": week + 60, "old-0123.77": week + 60, "new-0123": week - 60, "waiting-0123": 2 * week}
    for name, age in ages.items():
        (root / name).mkdir(parents=True)
        (root / name / "checkpoint.npz").write_bytes(b"half")
        for path in (root / name / "checkpoint.npz", root / name):
            os.utime(path, (time.time() - age,) * 2)
    os.utime(root / "new-0123", (0, 0))  # what lies in it is newer
    train_simcse.ask(key="waiting")
    forget_trainings()
    assert sorted(child.name for child in root.iterdir()) == ["new-0123", "waiting-0123"]
