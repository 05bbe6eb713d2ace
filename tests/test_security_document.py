"""docs/asvs.csv has a row for each requirement of OWASP ASVS 5.0.0, and every test that it names exists."""

from __future__ import annotations

import csv
import re
from collections import Counter
from functools import cache

import pytest

from accounts.forms import WORDS
from tests.installation import ROOT

DOCUMENT = (ROOT / "docs" / "security.md").read_text()
ROWS = list(csv.reader((ROOT / "docs" / "asvs.csv").read_text().splitlines()))[1:]
VERDICTS = ("met", "partly", "not met", "operator", "not concerned")
# The numbers of level 1, then those of level 2, of each section: "1.2: 1-5 / 6-9" is 1.2.1 to 1.2.5 and 1.2.6 to 1.2.9.
REQUIREMENTS = """
1.1: / 1-2; 1.2: 1-5 / 6-9; 1.3: 1-2 / 3-11; 1.4: / 1-3; 1.5: 1 / 2
2.1: 1 / 2-3; 2.2: 1-2 / 3; 2.3: 1 / 2-4; 2.4: / 1
3.2: 1-2 /; 3.3: 1 / 2-4; 3.4: 1-2 / 3-6; 3.5: 1-3 / 4-5; 3.7: / 1-2
4.1: 1 / 2-3; 4.2: / 1; 4.3: / 1-2; 4.4: 1 / 2-4
5.1: / 1; 5.2: 1-2 / 3; 5.3: 1-2 /; 5.4: / 1-3
6.1: 1 / 2-3; 6.2: 1-8 / 9-12; 6.3: 1-2 / 3-4; 6.4: 1-2 / 3-4; 6.5: / 1-5; 6.6: / 1-3; 6.8: / 1-4
7.1: / 1-3; 7.2: 1-4 /; 7.3: / 1-2; 7.4: 1-2 / 3-5; 7.5: / 1-2; 7.6: / 1-2
8.1: 1 / 2; 8.2: 1-2 / 3; 8.3: 1 /; 8.4: / 1
9.1: 1-3 /; 9.2: 1 / 2-4
10.1: / 1-2; 10.2: / 1-2; 10.3: / 1-4; 10.4: 1-5 / 6-11; 10.5: / 1-5; 10.6: / 1-2; 10.7: / 1-3
11.1: / 1-2; 11.2: / 1-3; 11.3: 1-2 / 3; 11.4: 1 / 2-4; 11.5: / 1; 11.6: / 1
12.1: 1 / 2-3; 12.2: 1-2 /; 12.3: / 1-4
13.1: / 1; 13.2: / 1-5; 13.3: / 1-2; 13.4: 1 / 2-5
14.1: / 1-2; 14.2: 1 / 2-4; 14.3: 1 / 2-3
15.1: 1 / 2-3; 15.2: 1 / 2-3; 15.3: 1 / 2-7
16.1: / 1; 16.2: / 1-5; 16.3: / 1-4; 16.4: / 1-3; 16.5: / 1-3
17.1: / 1; 17.2: / 1-4; 17.3: / 1-2
"""


def required() -> list[tuple[str, str]]:
    """The number and the level of each requirement of levels 1 and 2."""
    found = []
    for section, first, second in re.findall(r"([\d.]+): *([\d-]*) */ *([\d-]*)", REQUIREMENTS):
        for level, numbers in (("1", first), ("2", second)):
            if numbers:
                low, _, high = numbers.partition("-")
                found += [(f"{section}.{each}", level) for each in range(int(low), int(high or low) + 1)]
    return found


def test_each_requirement_has_its_row_and_no_other_is_made_up() -> None:
    requirements = required()
    assert Counter(level for _, level in requirements) == {"1": 70, "2": 183}
    assert [number for number, *_ in ROWS] == [number for number, _ in requirements]


def test_each_row_has_a_verdict_and_a_reason() -> None:
    for number, subject, verdict, how, tested in ROWS:
        assert verdict in VERDICTS, number
        assert subject.strip() or verdict == "not concerned", number
        assert how.strip(), number
        assert verdict != "met" or tested == "by reading" or "::" in tested, number


def test_the_sums_in_the_document_are_right() -> None:
    counts = Counter(verdict for _, _, verdict, *_ in ROWS)
    sums = re.search(
        r"(\d+) are met, (\d+) partly, and (\d+) not; (\d+) are up to the operator,.*?; (\d+) do not apply",
        DOCUMENT,
        re.S,
    )
    assert sums
    assert [int(number) for number in sums.groups()] == [counts[verdict] for verdict in VERDICTS]


@cache
def names_in(file: str) -> set[str]:
    path = ROOT / "tests" / file
    return set(re.findall(r"^ *def (test_\w+)", path.read_text(), re.M)) if path.exists() else set()


@pytest.mark.parametrize(
    "named",
    sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", DOCUMENT + "".join(row[-1] for row in ROWS)))),
    ids="::".join,
)
def test_each_named_test_exists(named: tuple[str, str]) -> None:
    file, name = named
    assert name in names_in(file)


def test_the_words_of_this_site_are_documented() -> None:
    listed = re.search(r"these words of this site: ([\w\s,]+)\.", DOCUMENT)
    assert listed
    assert re.split(r",\s+", listed[1]) == WORDS
