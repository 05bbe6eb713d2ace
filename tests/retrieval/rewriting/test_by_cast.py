"""Names of a cast list become noun phrases, in sentences that stay English."""

from __future__ import annotations

import pytest

from retrieval.rewriting.by_cast import CastSubstituter
from retrieval.rewriting.cast import Cast, Entry, Lexicon

# Olga and Vera are women, Karel and House are men, Anton is an old man, and Novak is Karel's other name.
ENTRIES = [
    Entry("Olga", "woman"),
    Entry("Vera", "a woman"),
    Entry("Karel", "man"),
    Entry("House", "man"),
    Entry("Anton", "old man"),
    Entry("Novak", same_as="Karel"),
    Entry("Karel Novak", same_as="Karel"),
    Entry("Mia", "child"),
    Entry("Boris", "someone"),
    Entry("James", "doctor"),
    Entry("Hunt", "man"),
]
LEXICON = Lexicon(["He leaves the house.", "Dr. House is in a house.", "Then Olga waves.", "Karel sits."] * 3)


def reworded(text: str) -> str:
    return CastSubstituter(Cast(ENTRIES, ["Prague"], LEXICON)).substituted(text).after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Olga opens the door.", "A woman opens the door."),
        ("Then Anton sits down.", "Then an old man sits down."),
        ("The bag is Olga's.", "The bag is a woman's."),
        ("She takes James' hat.", "She takes a doctor's hat."),
        ("She takes James's hat.", "She takes a doctor's hat."),
        ("She pulls Karels jacket.", "She pulls a man's jacket."),
        ("Olga’s dog barks.", "A woman's dog barks."),
        ("Dr. House and Olga wait.", "A man and a woman wait."),
        ("The detective Olga waits.", "The woman waits."),
        ("Dr.House waits.", "A man waits."),
        ("Karel Novak waits. Novak sits.", "A man waits. The man sits."),
        ("He hugs Mr. Novak. Karel smiles.", "He hugs a man. The man smiles."),
        ("Olga hugs Vera.", "A woman hugs another woman."),
        ("Olga hugs Vera and Vera hugs Olga.", "A woman hugs another woman and the other woman hugs the woman."),
        ("She sees House and Karel laughs.", "She sees a man and another man laughs."),
        ("She sees House and Karel as he eats.", "She sees two men as he eats."),
        ("She sits while House and Karel talks.", "She sits while two men talks."),
        ("Olga and Vera laugh.", "Two women laugh."),
        ("Both Olga and Vera laugh.", "Two women laugh."),
        ("Olga and Vera laugh. Olga & Vera sit.", "Two women laugh. The two women sit."),
        ("Olga's and Vera's hats are red.", "A woman's and another woman's hats are red."),
        ("Olga and Karel's house is red.", "A woman and a man's house is red."),
        ("Olga, Vera, and Karel laugh.", "Three people laugh."),
        ("She looks at Karel, House and Novak.", "She looks at two men."),
        ("He greets Olga, Vera and Mia.", "He greets three people."),
        ("Olga, Karel is here.", "A woman, a man is here."),
        ("The Novaks eat. The Novaks' dog barks.", "The family eat. The family's dog barks."),
        ("The Olga of today.", "The woman of today."),
        ("She says that Karel takes what Olga has.", "She says that a man takes what a woman has."),
        ("A woman looks at Olga.", "A woman looks at another woman."),
        ("The house is in Prague.", "The house is in Prague."),
        ("Anton lives in the house of House.", "An old man lives in the house of a man."),
        ("olga waves at KAREL.", "A woman waves at a man."),
        ("Boris takes Boris's bag.", "Someone takes someone's bag."),
        ("Karel gives House Novak's pen.", "A man gives another man the man's pen."),
        ("Olgah and preOlga and Olga-like stay.", "Olgah and preOlga and Olga-like stay."),
        ("She hunts a man, and Hunt sees Hunts dog.", "She hunts a man, and another man sees the man's dog."),
        ("Dr. X meets Olga.", "Dr. X meets a woman."),
        ("“Olga!” shouts Karel.", "“A woman!” shouts a man."),
        ("", ""),
    ],
)
def test_names_become_noun_phrases(before: str, after: str) -> None:
    assert reworded(before) == after


def test_all_names_of_a_person_have_one_phrase() -> None:
    entries = [Entry("Karel", "old man"), Entry("Novak", "man", same_as="Karel")]
    assert CastSubstituter(Cast(entries, [], LEXICON)).substituted("Novak waits.").after == "An old man waits."


def test_what_was_replaced_is_told() -> None:
    proposal = CastSubstituter(Cast(ENTRIES, [], LEXICON)).substituted("Dr. House and Karel greet Olga's dog.")
    assert proposal.replaced == [("Dr. House and Karel", "Two men"), ("Olga's", "a woman")]


def test_the_fingerprint_tells_cast_lists_apart() -> None:
    one = Cast(ENTRIES, ["Prague"], LEXICON).fingerprint
    assert one == Cast(ENTRIES[::-1], ["Prague"], Lexicon()).fingerprint
    assert one != Cast(ENTRIES[1:], ["Prague"], LEXICON).fingerprint
    assert one != Cast(ENTRIES, [], LEXICON).fingerprint
