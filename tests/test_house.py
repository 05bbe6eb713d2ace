"""The house (CONTRIBUTING.md, "The house"): its measures, which fail when the plan is outgrown."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from uuid import uuid4

import grimp
import pytest
from django.urls import reverse

from campaigns.models import Membership
from judging.models import Batch
from judging.work import submitting
from runs.models import TrainedSystem
from runs.systems.orders import ask_to_train
from tests.cast import browser, claim, judge_all
from tests.runs import conftest as people
from tests.runs import test_systems as training

ROOT = Path(__file__).parent.parent
LARGEST_SHARE = 0.25  # of the code, in one app
CODE = {".py", ".html", ".js", ".css"}
MOST_IN_A_ROOT = 12  # modules
MOST_MODULES = 528
MOST_LINES_OF_A_VIEW = 20
METHODS = {"get", "post", "put", "patch", "delete"}  # of the API's resources
MOST_FILES_OF_A_PRESS = 8
MOST_ROOMS_OF_A_SUBMISSION = 6
MOST_FILES_OF_A_TRAINING = 12
APART = {"tests", "benchmarks", "tools"}
MEANT_TOO_MUCH = {"said", "asked", "told", "shown"}  # each had many meanings
MEANT_TOO_MUCH |= {"Yardstick", "yardstick", "said_since", "_spoke_of", "_met", "_left"}
# What clients of the API read stays as it is.
READ_BY_CLIENTS = {("api/resources/runs.py", "told"), ("api/resources/corpora.py", "asked")}
PLACES_OF_NAMES = ("id", "arg", "attr", "name", "asname", "rest")  # in the nodes of a syntax tree

rio, features, researcher = people.rio, training.features, training.researcher  # fixtures


def apps() -> set[str]:
    """Every package at the top of the checkout that holds code of the product."""
    return {file.parent.name for file in ROOT.glob("*/__init__.py")} - APART


def lines_of(app: str) -> int:
    """The lines of an app's code: its modules without migrations, its templates, scripts and stylesheets."""
    folders = (ROOT / app, ROOT / "templates" / app, ROOT / "static" / app)
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in CODE]
    return sum(len(file.read_text().splitlines()) for file in files if "migrations" not in file.parts)


def test_every_app_has_its_floor() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    floors = next(each for each in linter["contracts"] if each["name"] == "An arrow only ever points down")
    on_floors = [name.strip() for floor in floors["layers"] for name in floor.split("|")]
    assert sorted(on_floors) == sorted(linter["root_packages"]) == sorted(apps())


def test_no_two_files_import_each_other_however_long_the_way_round() -> None:
    graph = grimp.build_graph(*sorted(apps()), exclude_type_checking_imports=True)
    imports = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    while free := {module for module, others in imports.items() if not others & imports.keys()}:
        imports = {module: others for module, others in imports.items() if module not in free}
    assert not imports, f"in circles, or importing from them: {sorted(imports)}"


def test_no_app_holds_more_than_a_quarter_of_the_code() -> None:
    lines = {app: lines_of(app) for app in apps()}
    shares = {app: count / sum(lines.values()) for app, count in lines.items()}
    assert max(shares.values()) <= LARGEST_SHARE, shares


@pytest.mark.parametrize("app", sorted(apps()))
def test_an_apps_root_holds_a_dozen_modules_at_most(app: str) -> None:
    modules = [file.name for file in (ROOT / app).glob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= MOST_IN_A_ROOT, modules


def test_the_product_has_few_modules_and_nothing_is_hung_on_models() -> None:
    files = [file for app in apps() for file in (ROOT / app).rglob("*.py")]
    modules = [file for file in files if "migrations" not in file.parts]  # an app has one for each release
    assert len(modules) <= MOST_MODULES
    of_models = [file for file in modules if "systems" not in file.parts]
    assert [file.name for file in of_models if "ignore[attr-defined]" in file.read_text(encoding="utf-8")] == []


def test_a_view_parses_calls_and_answers() -> None:
    """In at most twenty lines below its docstring: what takes more is a rule, and stands where all doors reach it."""
    views = [ROOT / "annotate", ROOT / "lead" / "views", ROOT / "runs" / "views", ROOT / "api" / "resources"]
    found = [
        f"{file.relative_to(ROOT)}: {node.name}"
        for folder in views
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and (node.name in METHODS or "request" in arguments_of(node)[:2])
        if node.body[-1].end_lineno - node.body[0].end_lineno > MOST_LINES_OF_A_VIEW  # type: ignore[operator]
    ]
    assert found == []


def arguments_of(function: ast.FunctionDef) -> list[str]:
    return [each.arg for each in function.args.args]


def test_no_identifier_is_a_word_that_meant_too_much() -> None:
    """The noun for what it holds stands there instead: `data`, `params`, `payload`, `rows`, `message`."""
    folders = [ROOT / name for name in sorted(apps() | APART | {"docs"})]
    files = [ROOT / "manage.py", *(file for folder in folders for file in folder.rglob("*.py"))]
    found = [
        f"{file.relative_to(ROOT)}, line {line}: {name}"
        for file in files
        for line, name in identifiers(file.read_text(encoding="utf-8"))
        if name in MEANT_TOO_MUCH and (str(file.relative_to(ROOT)), name) not in READ_BY_CLIENTS
    ]
    assert found == []


def identifiers(source: str) -> Iterator[tuple[int, str]]:
    """Each name in a module with its line: names, arguments, keywords, attributes, functions, classes, imports."""
    for node in ast.walk(ast.parse(source)):
        for place in PLACES_OF_NAMES:
            if isinstance(name := getattr(node, place, None), str):
                yield node.lineno, name  # type: ignore[attr-defined]


def frames_of(call: Callable[[], Any]) -> tuple[Any, list[tuple[str, ...]]]:
    """What the call returns, and the files of ours on the stack whenever one of ours was called, outermost first."""
    stacks: list[tuple[str, ...]] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not (here := _ours(frame)):
            return
        stack, outer = [here], frame.f_back
        while outer:
            if name := _ours(outer):
                stack.append(name)
            outer = outer.f_back
        stacks.append(tuple(reversed(stack)))

    sys.setprofile(look)
    try:
        answer = call()
    finally:
        sys.setprofile(None)
    return answer, stacks


def _ours(frame: FrameType) -> str | None:
    return _file_of_ours(frame.f_code)


@cache
def _file_of_ours(code: CodeType) -> str | None:
    """The code's file below the checkout, if it is the product's; settings, migrations and middleware apart."""
    try:
        file = Path(code.co_filename).relative_to(ROOT)
    except ValueError:
        return None
    if code.co_name == "<module>" or file.parts[0] not in apps() - {"config"}:
        return None
    return str(file)


def middleware(file: str) -> bool:
    """Whether every request, or every one that brings JSON, passes through the file, whatever it asks for."""
    of_each = {"base/middleware.py", "base/database.py", "base/problem_documents.py"}
    return file in of_each | {"metrics/formats/json_reader.py", "accounts/second_factor.py"}


@pytest.mark.django_db
def test_a_key_press_is_stored_through_few_files(batch: Batch, ada: Membership) -> None:
    held, client = claim(ada), browser(ada)

    def press() -> Any:
        fields = {"grade": 3, "seconds": 1.5, "input": "key"}
        body = fields | {"fence": held.fence, "key": str(uuid4()), "press": 1}
        return client.put(reverse("judge", args=[held.token, 1]), body, content_type="application/json")

    press()  # the first one imports what the later ones only call
    answer, stacks = frames_of(press)
    assert answer.status_code == 200
    files = {file for stack in stacks for file in stack if not middleware(file)}
    assert "judging/work/grading.py" in files
    assert len(files) <= MOST_FILES_OF_A_PRESS, sorted(files)


@pytest.mark.django_db
def test_a_submission_passes_few_rooms_and_comes_back_to_none(batch: Batch, ada: Membership, bob: Membership) -> None:
    """The second annotator's: it settles the round, and the campaign's policy looks at the batch."""
    batch.query.campaign.auto_close_below = 4.0
    batch.query.campaign.save()
    first, second = claim(ada), claim(bob)
    for held in (first, second):
        judge_all(held, lambda candidate: 1, submit=False)
    submitting.submit(first, first.fence)
    _, stacks = frames_of(lambda: submitting.submit(second, second.fence))
    assert Batch.objects.get().state == Batch.State.REVIEWED
    ways = {way(stack) for stack in stacks}
    assert max(map(len, ways)) <= MOST_ROOMS_OF_A_SUBMISSION, ways
    assert all(len(set(each)) == len(each) for each in ways), ways


def way(stack: tuple[str, ...]) -> tuple[str, ...]:
    """The rooms that a call goes through, each named once as long as it stays there; `base` only wraps calls."""
    rooms = [str(Path(file).parent) for file in stack if not file.startswith("base/")]
    return tuple(room for before, room in zip([None, *rooms], rooms, strict=False) if room != before)


@pytest.mark.django_db
def test_a_training_passes_few_files(researcher: Membership) -> None:
    """From the order to the stored weights and the run. What the library does inside is its own, as in `metrics`."""
    options = training.SMALL | {"iterations": 4, "validate_every": 2}

    def train() -> TrainedSystem:
        [row] = ask_to_train(researcher, training.wanted("mcn", options=options))
        training.done()
        return row

    row, stacks = frames_of(train)
    row.refresh_from_db()
    assert row.run is not None
    files = {file for stack in stacks for file in stack if of_a_training(file)}
    files |= {file for stack in stacks for caller, file in pairwise(stack) if enters_systems(caller, file)}
    assert {"runs/systems/orders.py", "runs/systems/training.py", "systems/neural/training.py"} <= files
    assert len(files) <= MOST_FILES_OF_A_TRAINING, sorted(files)


def of_a_training(file: str) -> bool:
    """Whether a file of the product is about systems and nothing else."""
    return file.startswith("runs/systems/") or file == "corpus/features.py"


def enters_systems(caller: str, file: str) -> bool:
    """Whether a call goes from such a file into the systems' library."""
    return of_a_training(caller) and file.startswith("systems/")
