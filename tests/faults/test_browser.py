"""Whatever goes wrong in the middle of a batch, each grade that was pressed is stored once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests import browsing
from tests.browsing import Person
from tests.faults.browser_shift import FAULTS, Shift
from tests.installation import Installation, installation

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
BATCHES = 8


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Installation]:
    """A server of its own, since it is killed again and again."""
    with installation(tmp_path_factory.mktemp("faults"), "sqlite") as made:
        browsing.import_films(made)
        browsing.make_campaign(made, "faults", queries=BATCHES)
        browsing.wait_until_open(made, "faults", BATCHES)
        yield made


@pytest.fixture
def person(place: Installation, chromium: Browser) -> Callable[[str], Person]:
    def make(name: str) -> Person:
        password = place.accounts("faults", "annotator", name)[name]
        return Person(place, chromium.new_context(), name, password)

    return make


def test_nothing_is_lost_and_nothing_doubled(person: Callable[[str], Person], place: Installation) -> None:
    account = Shift(person("ada")).work(presses=60)
    assert set(account.faults) == set(FAULTS)
    assert account.presses >= 60
    assert (account.lost, account.doubled, account.turned) == (0, 0, 0), str(account)
    assert "BROKEN" not in place.manage("audit", "faults")


def test_without_its_key_a_retry_would_be_seen_as_doubled(person: Callable[[str], Person]) -> None:
    account = Shift(person("bob"), new_key_at_each_try=True).work(presses=5, faults=["answers lost"])
    assert account.doubled > 0
