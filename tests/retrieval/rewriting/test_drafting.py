"""A cast list is drafted from a corpus: its capitalised words, with counts, contexts and a guess at each phrase."""

from __future__ import annotations

import pytest

from corpus.models import Corpus, Moment, Video
from retrieval.models import CastName
from retrieval.rewriting.cast import Lexicon, sentence_starts
from retrieval.rewriting.cast_file import draft, drafted

TEXTS = [
    "Olga opens her bag. She smiles.",
    "Then Olga lifts her hat.",
    "Karel eats his soup.",
    "Then he looks at Karel, who drops his spoon.",
    "Dr. Karel Novak waits on Monday in the TV room.",
    "Smiling, she sees a Captain in Prague.",
    "The captain of the ship. The Captain and the captain. The captain.",
    "Hilda laughs.",
    "Waiting is hard. A man waits.",
]


def test_names_are_found_with_a_guess_at_their_phrases() -> None:
    found = {entry.name: entry for entry in drafted(TEXTS)}
    assert {name: entry.phrase for name, entry in found.items()} == {
        "Karel": "man",
        "Olga": "woman",
        "Karel Novak": "man",
        "Novak": "person",
        "Prague": "woman",  # wrongly: whoever completes the draft says that it stays
        "Hilda": "person",
    }
    assert found["Karel Novak"].same_as == "Karel"
    assert (found["Karel"].count, found["Hilda"].count) == (3, 1)
    assert found["Olga"].contexts == TEXTS[:2]
    assert not any(entry.confirmed for entry in found.values())


def test_a_point_after_a_title_ends_no_sentence() -> None:
    assert sentence_starts("Dr. House waits. She goes! “Then he” sits") == {0, 17, 28}


def test_words_that_the_corpus_shows_in_lower_case_are_no_names() -> None:
    lexicon = Lexicon(["The park is big. Park sits.", *["A green park."] * 3, "He sees Park and Ross."])
    assert lexicon.seems_a_name("Park", begins=False)
    assert not lexicon.seems_a_name("Green", begins=True)
    assert not lexicon.is_hardly_ever_lower("Park")
    assert lexicon.is_hardly_ever_lower("Ross")


@pytest.mark.django_db
def test_drafting_again_keeps_what_the_lead_said() -> None:
    corpus = Corpus.objects.create(name="films", format="tvr")
    video = Video.objects.create(corpus=corpus, name="v", duration=100)
    for number, text in enumerate(TEXTS):
        Moment.objects.create(video=video, start=number, end=number + 1, description=text, caption=text)
    CastName.objects.create(corpus=corpus, name="Olga", phrase="old woman", confirmed=True)
    CastName.objects.create(corpus=corpus, name="Prague", stays=True, confirmed=True)
    entries = draft(corpus)
    assert [entry.name for entry in entries][:2] == ["Karel", "Olga"]
    olga = CastName.objects.get(name="Olga")
    assert (olga.phrase, olga.confirmed, olga.count) == ("old woman", True, 2)
    assert CastName.objects.get(name="Prague").stays
    assert len(draft(corpus)) == len(entries)
