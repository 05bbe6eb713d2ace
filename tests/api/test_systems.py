"""Trained systems over the API: asked for, trained, searched with, gone on with, removed."""

from __future__ import annotations

import math
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from campaigns.models import Membership
from jobs.running import work_off
from judging.pool.selection import training_queries
from runs.models import Run, TrainedSystem
from tests.api.asking import Program, problem_in
from tests.cast import content_of
from tests.runs.test_systems import arrays, with_captions

pytestmark = pytest.mark.django_db
SYSTEMS = "campaigns/films/systems"
CHANCE = {"system": "chance", "name": "drawn", "features": "i3d"}


@pytest.fixture
def rio(batch: Any, member: Callable[..., Membership], settings: Any, tmp_path: Path) -> Membership:
    """A researcher of a campaign over a corpus that has features, with one query."""
    settings.UPLOAD_ROOT, settings.MODELS_ROOT = tmp_path / "uploads", tmp_path / "models"
    settings.FEATURES_ROOT = tmp_path / "features"
    folder = tmp_path / "features" / "films"
    folder.mkdir(parents=True)
    np.savez(folder / "i3d.npz", **arrays())
    return with_captions(member("rio", "researcher"))


def test_the_kinds_tell_their_options_and_the_corpus_its_features(rio: Membership) -> None:
    answer = Program(rio, "read").get(f"{SYSTEMS}/kinds").json()
    assert answer["features"] == ["descriptor", "i3d"]
    kinds = {each["name"]: each for each in answer["kinds"]}
    assert (kinds["chance"]["learns"], kinds["mcn"]["learns"], kinds["mcn"]["needs"]) == (False, True, ["clips"])
    options = {each["name"]: each for each in kinds["mcn"]["options"]}
    assert "seed" not in options
    assert options["dropout"] == {
        "name": "dropout",
        "group": "Steps of training",
        "type": "number",
        "default": 0.0,
        "least": 0.0,
        "most": 0.95,
        "choices": [],
    }
    assert (options["endpoints"]["type"], options["endpoints"]["default"]) == ("boolean", True)
    assert options["loss"]["choices"] == ["nce", "triplet"]
    assert all(each["least"] is not None for each in options.values() if each["type"] in ("integer", "number"))


def test_words_are_learned_or_read_by_the_campaigns_encoder(rio: Membership) -> None:
    program, body = Program(rio), {"system": "tef_only", "features": "i3d", "word_vectors": "encoder"}
    [read] = program.post(SYSTEMS, body | {"name": "read"}).json()
    [learned] = program.post(SYSTEMS, body | {"name": "learned", "word_vectors": "learned"}).json()
    assert (read["encoder"], learned["encoder"]) == (rio.campaign.encoder, "")
    assert read["encoder"]
    problem_in(program.post(SYSTEMS, body | {"name": "other", "word_vectors": "guessed"}), 400)


def test_from_the_request_to_the_runs_and_a_search(rio: Membership) -> None:
    program, body = Program(rio), CHANCE | {"seeds": [1, 2], "options": {"nms": 0.5, "stride": 0.3}}
    answer = program.post(SYSTEMS, body, idempotency_key="drawn")
    assert answer.status_code == 202
    one, two = answer.json()
    assert (one["name"], two["name"], one["group"], one["state"]) == ("drawn 1", "drawn 2", "drawn", "waiting")
    assert one["options"] == {"nms": 0.5, "seed": 1}  # 0.3 is the default
    assert program.get(answer["Location"]).json() == one["job"]
    assert program.post(SYSTEMS, body, idempotency_key="drawn").json() == answer.json()
    assert TrainedSystem.objects.count() == 2
    problem_in(program.get(f"{SYSTEMS}/1/search", q="a dog"), 409)
    work_off(StringIO())
    page = program.get(SYSTEMS, limit=1).json()
    assert [each["number"] for each in page["results"]] == [2]
    [found] = program.get(page["next"].removeprefix("http://testserver")).json()["results"]
    assert (found["number"], found["state"], found["job"]["state"]) == (1, "stored", "done")
    assert (found["run"], found["findings"]) == (Run.objects.get(name="drawn 1").number, None)
    assert program.get(f"{SYSTEMS}/1").json() == found | {"curves": []}
    first = program.get(f"{SYSTEMS}/1/search", q="a dog")
    assert (first.status_code, first.json()["found"], first.json()["hits"]) == (202, False, [])
    assert program.get(first["Location"]).json()["kind"] == "search-with-system"
    work_off(StringIO())
    second = program.get(f"{SYSTEMS}/1/search", q="a dog")
    hits = second.json()["hits"]
    assert (second.status_code, second.json()["found"], len(hits)) == (200, True, 10)
    assert [each["score"] for each in hits] == sorted((each["score"] for each in hits), reverse=True)
    assert hits[0]["moment"].startswith("secret-video-")
    problem_in(program.post(f"{SYSTEMS}/1/again"), 409)


@pytest.mark.parametrize(
    ("more", "status", "fields"),
    [
        ({"options": {"speed": 3}}, 400, {"options.speed"}),
        ({"options": {"seed": 3}}, 400, {"options.seed"}),
        ({"options": {"nms": "0.5"}}, 400, {"options.nms"}),
        ({"options": {"shortest": 10**299}}, 400, {"options.shortest"}),
        ({"options": {"dropout": 0.5}}, 422, {"dropout"}),  # another system's
        ({"options": {"nms": 1.5}}, 422, {"nms"}),
        ({"seeds": []}, 400, {"seeds"}),
        ({"seeds": [1, 1]}, 422, {"seeds"}),
        ({"features": "../secret"}, 422, {"features"}),
        ({"name": "seen"}, 422, {"name"}),
        ({"system": "magic"}, 400, {"system"}),
    ],
)
def test_what_cannot_be_trained_is_refused(
    rio: Membership, more: dict[str, Any], status: int, fields: set[str]
) -> None:
    program = Program(rio)
    assert program.post(SYSTEMS, CHANCE | {"name": "seen"}).status_code == 202
    assert problem_in(program.post(SYSTEMS, CHANCE | more), status)["fields"].keys() == fields
    assert TrainedSystem.objects.count() == 1


def test_all_that_is_wrong_is_listed_at_once(rio: Membership) -> None:
    """What no document may hold, and what does not fit the campaign or other options."""
    program = Program(rio)
    assert program.post(SYSTEMS, CHANCE | {"name": "seen"}).status_code == 202
    options = {"hidden": 7, "kernel": 4, "shortest": 9, "longest": 3, "learning_rate": 99}
    wrong = {"system": "xml", "name": "seen", "features": "secret", "options": options}
    faults = problem_in(program.post(SYSTEMS, CHANCE | wrong), 422)["fields"]
    unfit = {"name", "features", "hidden", "kernel", "shortest", "learning_rate"}
    assert faults.keys() == unfit
    assert faults["hidden"] == ["7; expected a multiple of the 4 heads"]
    broken = wrong | {"depth": "many", "clip_seconds": 0, "options": options | {"nms": "0.5", "kernel": True}}
    faults = problem_in(program.post(SYSTEMS, CHANCE | broken), 400)["fields"]
    assert faults.keys() == unfit - {"kernel"} | {"depth", "clip_seconds", "options.nms", "options.kernel"}
    bodies: list[Any] = [[], {"system": 3}, {"options": 3}, {"system": "xml", "seeds": 3, "options": [1], "x": None}]
    for body in bodies:
        problem_in(program.post(SYSTEMS, body), 400)
    assert TrainedSystem.objects.count() == 1


def test_kinds_say_how_long_they_take_and_waiting_ones_what_is_before_them(rio: Membership) -> None:
    program = Program(rio)

    def kind(name: str, **params: str) -> Any:
        return next(each for each in program.get(f"{SYSTEMS}/kinds", **params).json()["kinds"] if each["name"] == name)

    assert (kind("mcn")["steps"], kind("mcn")["step_seconds"], kind("chance")["steps"]) == (1000, None, 0)
    assert "stride" not in {each["name"] for each in kind("xml")["options"]}
    assert (kind("xml")["paper"], kind("mcn", preset="paper")["paper"]) == (None, None)
    queries = len(training_queries(rio.campaign))
    steps = {"iterations": math.ceil(4000 * queries / 128), "validate_every": math.ceil(20 * queries / 128)}
    assert kind("xml", preset="paper")["paper"] == steps
    assert program.get(f"{SYSTEMS}/kinds").json()["before"] == {"trainings": 0, "seconds": 0}
    for name in ("one", "two"):
        assert program.post(SYSTEMS, CHANCE | {"system": "mcn", "name": name}).status_code == 202
    first, second = (program.get(f"{SYSTEMS}/{number}").json() for number in (1, 2))
    assert (first["steps_left"], first["step_seconds"]) == (1000, None)
    assert (first["before"], second["before"]) == ({"trainings": 0, "seconds": 0}, {"trainings": 1, "seconds": None})
    TrainedSystem.objects.filter(name="one").update(step_seconds=0.5, losses=[[200, 1.0]])
    assert kind("mcn")["step_seconds"] == 0.5
    assert program.get(f"{SYSTEMS}/2").json()["before"] == {"trainings": 1, "seconds": 400}
    assert program.get(f"{SYSTEMS}/kinds").json()["before"] == {"trainings": 2, "seconds": 900}
    assert first["job"]["lane"] == "training"


def test_a_failed_one_is_gone_on_with_or_removed(
    rio: Membership, leo: Membership, ada: Membership, member: Callable[..., Membership], settings: Any
) -> None:
    program, other = Program(rio), Program(member("roy", "researcher"))
    file = Path(settings.FEATURES_ROOT) / "films" / "i3d.npz"
    whole = file.read_bytes()
    np.savez(file, **{"secret-video-0": arrays()["secret-video-0"]})
    for name in ("one", "two"):
        program.post(SYSTEMS, CHANCE | {"system": "prior", "name": name})
    work_off(StringIO())
    row = program.get(f"{SYSTEMS}/1").json()
    assert (row["state"], row["job"]["state"]) == ("failed", "failed")
    assert "5 of 6 videos have no features" in row["job"]["error"]
    file.write_bytes(whole)
    again = other.post(f"{SYSTEMS}/1/again")
    assert (again.status_code, again.json()["state"]) == (202, "waiting")
    work_off(StringIO())
    assert program.get(again["Location"]).json()["state"] == "done"
    problem_in(other.ask("DELETE", f"{SYSTEMS}/2"), 404)
    problem_in(Program(ada).ask("DELETE", f"{SYSTEMS}/2"), 404)
    problem_in(Program(rio, "read").ask("DELETE", f"{SYSTEMS}/2"), 403)
    assert program.ask("DELETE", f"{SYSTEMS}/2").status_code == 204
    assert Program(leo).ask("DELETE", f"{SYSTEMS}/1").status_code == 204
    problem_in(program.get(f"{SYSTEMS}/1"), 404)
    assert [run.name for run in Run.objects.all()] == ["one"]


def test_curves_are_points_and_files(rio: Membership) -> None:
    program = Program(rio, "read", "runs")
    program.post(SYSTEMS, CHANCE)
    problem_in(program.get(f"{SYSTEMS}/1/curves/csv"), 404)  # nothing was learned yet
    TrainedSystem.objects.update(losses=[[10, 2.5]], validations=[[10, 0.25]], measure="m")
    points = [{"curve": "loss", "step": 10, "value": 2.5}, {"curve": "m", "step": 10, "value": 0.25}]
    assert program.get(f"{SYSTEMS}/1").json()["curves"] == points
    file = program.get(f"{SYSTEMS}/1/curves/csv")
    assert content_of(file) == b"curve,step,value\nloss,10,2.5\nm,10,0.25\n"
    problem_in(program.get(f"{SYSTEMS}/1/curves/exe"), 404)


def test_annotators_and_small_scopes_get_nothing(rio: Membership, ada: Membership) -> None:
    annotator = Program(ada)
    Program(rio).post(SYSTEMS, CHANCE)
    for address in ("", "/kinds", "/1", "/1/curves/csv", "/1/search?q=a"):
        problem_in(annotator.get(f"{SYSTEMS}{address}"), 404)
    problem_in(annotator.post(SYSTEMS, CHANCE | {"name": "mine"}), 404)
    problem_in(Program(rio, "read").post(SYSTEMS, CHANCE | {"name": "mine"}), 403)
    problem_in(Program(rio, "runs").get(SYSTEMS), 403)
    assert TrainedSystem.objects.count() == 1
