"""The demo's films: they are whole, timed to the frame, the same every time, and graded at every level."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import av
import pytest

from demo.management.commands.demo import FILES
from retrieval.rewriting.by_cast import CastSubstituter
from retrieval.rewriting.cast import Cast, Entry, Lexicon
from retrieval.rewriting.cast_file import read_cast
from retrieval.rewriting.checks import CastFinder, check
from tools.films.acts import ACTIONS, FPS
from tools.films.files import write_film, write_tables
from tools.films.frames import Painter
from tools.films.grades import EXAMPLES, QUERIES, Key, true_grade
from tools.films.scripts import Film, Moment, films, moments
from tools.films.stage import CAST


def film(name: str) -> Film:
    return next(film for film in films() if film.name == name)


def key_of(description: str) -> Key:
    found = [m for m in moments() if m.description == description]
    assert len(found) == 1, description
    return key(found[0])


def key(moment: Moment) -> Key:
    return moment.video, moment.start, moment.end


def test_there_are_enough_films_moments_and_queries() -> None:
    assert len(films()) >= 28
    assert all(4 <= len(film.moments) <= 7 for film in films())
    assert len(moments()) >= 140
    assert len(QUERIES) >= 18


def test_names_give_nothing_away() -> None:
    assert [film.name for film in films()] == [f"film_{n:02d}" for n in range(1, len(films()) + 1)]


@pytest.mark.parametrize("film", films(), ids=lambda film: film.name)
def test_times_fall_on_frames_and_moments_keep_apart(film: Film) -> None:
    for moment in film.moments:
        assert (moment.start * FPS).is_integer()
        assert (moment.end * FPS).is_integer()
        assert 0 <= moment.start < moment.end <= film.duration
        assert moment.end - moment.start >= 1
    for before, after in pairwise(film.moments):
        assert before.end < after.start


@pytest.mark.parametrize("film", films(), ids=lambda film: film.name)
def test_shots_fill_the_film_without_a_gap(film: Film) -> None:
    assert film.shots[0].first == 0
    assert film.shots[-1].last == film.frames
    assert all(one.last == other.first for one, other in pairwise(film.shots))


def test_nobody_jumps_from_one_frame_to_the_next() -> None:
    for film in films():
        worlds = [shot.at(frame) for shot in film.shots for frame in range(shot.first, shot.last)]
        for before, after in pairwise(worlds):
            for who, pose in after.poses.items():
                if not (pose.hidden or before.poses[who].hidden):
                    assert abs(pose.x - before.poses[who].x) < 20, (film.name, who)
                    assert abs(pose.hip[1] - before.poses[who].hip[1]) < 0.5, (film.name, who)


def cast() -> Cast:
    entries = [Entry(each.name, each.phrase, each.same_as) for each in read_cast(FILES / "cast.csv")]
    return Cast(entries, [], Lexicon([moment.description for moment in moments()]))


@cache
def captions() -> dict[str, str]:
    """The caption that rewording makes of each description, by the demo's cast list."""
    substituter = CastSubstituter(cast())
    return {moment.description: substituter.substituted(moment.description).after for moment in moments()}


def test_every_caption_passes_both_checks(db: None) -> None:
    pairs = list(captions().items())
    verdicts = check(pairs, CastFinder(cast()), lambda: None)
    refused = {pair: verdict.why for pair, verdict in zip(pairs, verdicts, strict=True) if verdict.why}
    assert refused == {}
    assert CastFinder(cast()).names([before for before, _ in pairs]) != [[]] * len(pairs)


def test_captions_are_sentences_without_names_and_no_two_alike() -> None:
    made = list(captions().values())
    assert len(set(made)) == len(made)
    names = {name.lower() for name in CAST}
    for caption in made:
        assert caption[0].isupper()
        assert caption.endswith(".")
        assert not names & set(caption.lower().strip(".").replace(",", "").split())


def test_every_query_is_the_caption_of_a_moment_that_answers_it_perfectly() -> None:
    made = captions()
    for query in QUERIES:
        [moment] = [moment for moment in moments() if made[moment.description] == query.text]
        assert moment.description != query.text
        assert true_grade(query.text, key(moment)) == 4


def test_every_action_is_seen() -> None:
    seen = {beat.verb for film in films() for shot in film.shots for beat in shot.beats}
    assert set(ACTIONS) == seen


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: str(query.query_id))
def test_every_query_has_the_best_and_the_worst(query: object) -> None:
    grades = Counter(true_grade(query.text, key(moment)) for moment in moments())  # type: ignore[attr-defined]
    assert grades[4] >= 2
    assert grades[0] >= 1
    assert grades[3] + grades[2] >= 2


def test_all_five_grades_occur() -> None:
    grades = Counter(true_grade(query.text, key(moment)) for query in QUERIES for moment in moments())
    assert set(grades) == {0, 1, 2, 3, 4}
    assert min(grades.values()) >= 50


def test_two_queries_read_alike_under_two_numbers() -> None:
    texts = Counter(query.text for query in QUERIES)
    assert sorted(texts.values())[-2:] == [1, 2]
    assert len({query.query_id for query in QUERIES}) == len(QUERIES)


RED = "A man in a red shirt opens the door."
BOARD = "A person stands up and walks to the board."


@pytest.mark.parametrize(
    ("query", "description", "grade"),
    [
        (BOARD, "A woman in a green dress stands up from her chair and walks to the whiteboard.", 4),
        (BOARD, "A boy stands up from his chair and runs to the whiteboard.", 3),
        (BOARD, "A man in red walks to the board and points at it.", 2),  # the guideline's own example
        (BOARD, "A man in a white shirt rises a little from his chair and drops back into it.", 2),
        (BOARD, "Leo points at the board.", 1),
        (BOARD, "A girl eats an apple.", 0),
        ("A man lifts a box.", "Omar lifts a box.", 4),
        ("A man lifts a box.", "A man in red begins to lift a brown box, but sets it down again.", 2),
        ("A man lifts a box.", "The man in the white shirt puts the box down on the floor.", 1),
        (RED, "Rost opens the door.", 4),
        (RED, "A bearded man in blue comes in through the door.", 3),
        (RED, "The woman in a yellow jumper walks to the door and opens it.", 2),
        (RED, "The man closes the door again.", 1),
        ("A woman opens the door and leaves.", "The bearded man walks to the door, opens it and leaves.", 3),
        ("A man gives a woman flowers.", "A woman gives a man in a white shirt yellow flowers.", 2),
    ],
)  # fmt: skip
def test_grades_follow_the_guideline(query: str, description: str, grade: int) -> None:
    assert true_grade(query, key_of(description)) == grade


def test_unknown_queries_and_moments_are_named() -> None:
    with pytest.raises(LookupError, match=r"no query 'A cat sleeps\."):
        true_grade("A cat sleeps.", key(moments()[0]))
    with pytest.raises(LookupError, match="no moment"):
        true_grade(BOARD, ("film_01", 0.0, 1.0))


def test_two_examples_of_each_grade_are_no_pool_pairs() -> None:
    descriptions = Counter(moment.description for moment in moments())
    assert all(descriptions[each.description] == 1 for each in EXAMPLES)
    assert not {each.query for each in EXAMPLES} & {query.text for query in QUERIES}
    assert Counter(each.grade for each in EXAMPLES) == dict.fromkeys(range(5), 2)


def test_a_film_decodes_to_its_frames(tmp_path: Path) -> None:
    path = tmp_path / "one.mp4"
    write_film(film("film_05"), path)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        times = [frame.time for frame in container.decode(stream)]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height) == (480, 270)
        assert stream.average_rate == FPS
        assert set(container.metadata) <= {"major_brand", "minor_version", "compatible_brands"}
    assert times == pytest.approx([n / FPS for n in range(film("film_05").frames)])


def test_a_film_is_the_same_every_time(tmp_path: Path) -> None:
    sums = set()
    for attempt in ("one", "two"):
        path = tmp_path / f"{attempt}.mp4"
        write_film(film("film_08"), path)
        sums.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(sums) == 1


def test_something_moves_in_every_moment() -> None:
    for film in films():
        painter = Painter(film.shots[0].world)
        for moment in film.moments[:2]:
            frames = range(round(moment.start * FPS), round(moment.end * FPS), 6)
            shots = [next(shot for shot in film.shots if shot.first <= n < shot.last) for n in frames]
            pictures = {painter.paint(shot.at(n)).tobytes() for shot, n in zip(shots, frames, strict=True)}
            assert len(pictures) > 1, moment.description


def test_the_demo_has_the_files_that_the_screenplay_makes(tmp_path: Path) -> None:
    write_tables(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        name: (FILES / name).read_bytes() for name in ("examples.json", "moments.jsonl", "queries.json", "truth.csv")
    }
    for film in films():
        with av.open(str(FILES / "films" / f"{film.name}.mp4")) as container:
            assert container.streams.video[0].frames == film.frames
    lines = (tmp_path / "moments.jsonl").read_text().splitlines()
    assert len(lines) == len(moments())
    assert '"type": "v"' in lines[0]
    truth = (tmp_path / "truth.csv").read_text().splitlines()
    assert truth[0] == "query_id,video,start,end,grade"
    assert len(truth) == 1 + len(QUERIES) * len(moments())
