"""A shift at the workplace in which everything goes wrong, and the count of what was lost or stored twice."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from playwright.sync_api import Error, Page, Route, TimeoutError, expect

from tests.browsing import Person, moving
from tests.installation import sql
from tests.waiting import wait_until

PRESSES_A_FAULT = (2, 6)
PATIENCE = 90_000  # milliseconds
GOING_BACK = 0.1  # of presses change the grade before
ROWS = """
import json
from judging.models import Assignment
rows = {}
for each in Assignment.objects.select_related("annotator__campaign", "batch"):
    grades = {j.candidate_id: [r.grade for r in j.revisions.all()] for j in each.judgements.all()}
    for position, candidate in enumerate(each.places, 1):
        rows[f"{each.token} {position}"] = grades.get(candidate, [])
print(json.dumps(rows))
"""


@dataclass
class Account:
    presses: int
    faults: Counter[str]
    lost: int
    doubled: int
    turned: int  # places where the last grade stored is not the last one pressed

    def __str__(self) -> str:
        faults = ", ".join(f"{number} × {name}" for name, number in sorted(self.faults.items()))
        return f"{self.presses:,} presses ({faults}): {self.lost} lost, {self.doubled} doubled, {self.turned} turned"


class Shift:
    """One annotator, batch after batch; each press that is accepted is noted, and compared with the rows at the end."""

    def __init__(self, person: Person, seed: int = 1, new_key_at_each_try: bool = False) -> None:
        self.person, self.chance = person, random.Random(seed)
        self.place, self.context = person.place, person.context
        self.new_key_at_each_try = new_key_at_each_try
        self.grades: dict[str, list[int]] = defaultdict(list)
        self.faults: Counter[str] = Counter()
        self.presses = 0
        self.page = person.claim()

    def work(self, presses: int, faults: list[str] | None = None) -> Account:
        """Judge until so many keys were pressed, under one fault after the other."""
        names = faults or list(FAULTS)
        while self.presses < presses:
            for name in self.chance.sample(names, len(names)):
                self.faults[name] += 1
                with FAULTS[name](self):
                    for _ in range(self.chance.randint(*PRESSES_A_FAULT)):
                        self.press()
                self.hand_in_when_done()
        self.settle()
        return self.account()

    def press(self) -> None:
        """A grade for the clip that is shown, or for the one before it."""
        if self.page.locator("#summary").is_visible():
            return
        if self.chance.random() < GOING_BACK:
            self.page.keyboard.press("ArrowLeft")
        if not self.sees():
            return
        position, grade = self.position, self.chance.randrange(5)
        self.page.keyboard.press(str(grade))
        if self.position == position and self.page.locator("#summary").is_hidden():
            return  # not accepted
        self.grades[f"{self.token} {position}"].append(grade)
        self.presses += 1

    def sees(self) -> bool:
        """Whether there is a picture to judge by, perhaps after another try."""
        for _ in range(2):
            with suppress(TimeoutError):
                moving(self.page, timeout=2000)
                return True
            self.page.keyboard.press("r")
        return False

    @property
    def position(self) -> str:
        return self.page.locator("#position").inner_text().split(" ")[0]

    @property
    def token(self) -> str:
        return self.page.url.rstrip("/").rsplit("/", 1)[1]

    @property
    def is_saved(self) -> bool:
        return self.page.locator("#saved").inner_text() == "saved ✓"

    def settle(self) -> None:
        """Wait until the browser says that all is saved."""
        expect(self.page.locator("#saved")).to_have_text("saved ✓", timeout=PATIENCE)

    def hand_in_when_done(self) -> None:
        """Submit what is all judged, and begin the next batch in the same page or from her home."""
        if self.page.locator("#summary").is_hidden():
            return
        self.settle()
        self.person.page = self.page
        self.person.submit()
        if self.chance.random() < 0.5:
            self.page.click("#begin-next")
            moving(self.page)
        else:
            self.page = self.person.claim()

    def new_tab(self) -> Page:
        """Another tab in which she goes on; what the first had not sent is sent from her home."""
        self.person.page = self.context.new_page()
        self.person.page.goto(f"{self.place.address}/judge/")
        self.person.page.wait_for_load_state("networkidle")
        return self.person.claim()

    def account(self) -> Account:
        stored = json.loads(self.place.shell(ROWS).splitlines()[-1])
        expected = {place: Counter(grades) for place, grades in self.grades.items()}
        rows = {place: Counter(grades) for place, grades in stored.items()}
        places = expected.keys() | rows.keys()
        none: Counter[int] = Counter()
        lost = sum((expected.get(each, none) - rows.get(each, none)).total() for each in places)
        doubled = sum((rows.get(each, none) - expected.get(each, none)).total() for each in places)
        turned = sum(stored[place][-1:] != grades[-1:] for place, grades in self.grades.items())
        return Account(self.presses, self.faults, lost, doubled, turned)


@contextmanager
def offline(shift: Shift) -> Iterator[None]:
    shift.context.set_offline(True)
    yield
    shift.context.set_offline(False)


@contextmanager
def server_killed(shift: Shift) -> Iterator[None]:
    shift.place.kill()
    yield
    shift.place.serve()


@contextmanager
def tab_closed_in_mid_save(shift: Shift) -> Iterator[None]:
    yield
    shift.page.close()
    shift.page = shift.new_tab()


@contextmanager
def answers_lost(shift: Shift) -> Iterator[None]:
    """The server stores, and the browser never hears of it."""
    lost: list[Route] = []

    def lose(route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        if shift.new_key_at_each_try:
            body["key"] = str(uuid4())
        try:
            route.fetch(post_data=json.dumps(body))
            route.abort()
        except Error:
            pass  # the page is gone meanwhile
        lost.append(route)

    shift.page.route("**/judgements/*", lose)
    yield
    wait_until(lambda: shift.is_saved or lost, lambda: "an answer is lost")
    shift.page.unroute_all(behavior="ignoreErrors")


@contextmanager
def lease_over(shift: Shift) -> Iterator[None]:
    sql(shift.place, "UPDATE judging_assignment SET lease = '2020-01-01 00:00:00' WHERE state = 'live'")
    yield


@contextmanager
def place_freed(shift: Shift) -> Iterator[None]:
    """The lease ran out, and somebody who looked for work took note of it."""
    live = "SELECT batch_id FROM judging_assignment WHERE state = 'live'"
    sql(
        shift.place,
        f"UPDATE judging_batch SET taken = taken - 1 WHERE id IN ({live})",
        "UPDATE judging_assignment SET state = 'lapsed', lease = '2020-01-01 00:00:00' WHERE state = 'live'",
    )
    yield


@contextmanager
def two_tabs(shift: Shift) -> Iterator[None]:
    """Half of what is said is said in another tab."""
    first = shift.page
    shift.page = second = shift.new_tab()
    shift.press()
    shift.press()
    shift.page = first
    yield
    shift.page = second
    first.close()


Fault = Callable[[Shift], AbstractContextManager[None]]
FAULTS: dict[str, Fault] = {
    "offline": offline,
    "server killed": server_killed,
    "tab closed in mid-save": tab_closed_in_mid_save,
    "answers lost": answers_lost,
    "lease over": lease_over,
    "place freed": place_freed,
    "two tabs": two_tabs,
}
