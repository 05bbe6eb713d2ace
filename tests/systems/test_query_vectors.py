"""Token vectors of queries from files: by their ids, or by their words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from systems.data import Query, Rows
from systems.encoders import by_encoder, read_tokens, read_word_vectors
from systems.errors import SystemsError
from tests.systems.small import collection
from tests.systems.test_commands import SMALL, command, files, videos_in

__all__ = ["files"]  # a fixture

QUERIES = [Query("7", "A man walks."), Query("9", "He sings.")]


def vectors(tokens: int, width: int = 3) -> Rows:
    return np.arange(tokens * width, dtype=np.float32).reshape(tokens, width)


def test_hdf5_has_vectors_by_the_queries_ids(tmp_path: Path) -> None:
    """As query_bert.h5 of TVR."""
    with h5py.File(tmp_path / "query_bert.h5", "w") as file:
        file["9"], file["7"] = vectors(4), vectors(2) + 1
    found = read_tokens(tmp_path / "query_bert.h5", QUERIES)
    assert [query.id for query in found] == ["7", "9"]
    assert [np.asarray(query.tokens).tolist() for query in found] == [(vectors(2) + 1).tolist(), vectors(4).tolist()]


def test_a_folder_has_a_file_for_each_query(tmp_path: Path) -> None:
    """As clip_text of QVHighlights, where the states of the tokens stand beside that of the whole query."""
    for query, tokens in (("7", 2), ("9", 4)):
        whole = np.zeros(3, np.float32)
        np.savez(tmp_path / f"qid{query}.npz", last_hidden_state=vectors(tokens), pooler_output=whole)
    found = read_tokens(tmp_path, QUERIES)
    assert [np.asarray(query.tokens).tolist() for query in found] == [vectors(2).tolist(), vectors(4).tolist()]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({}, r"1 of 2 queries have no features: '9'; expected one array for each of them \(it holds 1: '7'\)$"),
        ({"9": vectors(2, 4)}, r"query '9': 4 features a token; expected 3$"),
        (
            {"9": vectors(2)[0]},
            r"query '9': an array of float32 with shape \(3,\); expected floats of shape \(tokens, d",
        ),
        (
            {"9": vectors(2) * np.nan},
            r"query '9': token 0 holds a value that is not a number; expected finite numbers$",
        ),
    ],
    ids=["missing", "width", "one vector", "not a number"],
)
def test_vectors_that_do_not_fit_are_named(other: dict[str, Rows], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "queries.npz", **({"7": vectors(2)} | other))  # type: ignore[arg-type]
    with pytest.raises(SystemsError, match=rf"^queries\.npz: {message}"):
        read_tokens(tmp_path / "queries.npz", QUERIES)


GLOVE = "the 0 0\nman 1 2\nwalks 3.5 -4e-1\n. 0 0\nman 9 9\n"


@pytest.mark.parametrize("first", ["", "5 2\n"], ids=["GloVe", "fastText"])
def test_words_have_the_vectors_of_a_text_file(first: str, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text(first + GLOVE)
    found = by_encoder(str(tmp_path / "vectors.txt"))(["A man walks.", "Nobody sings"])
    assert [each.tolist() for each in found] == [[[1, 2], [3.5, pytest.approx(-0.4)]], [[0, 0]]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"has none of 1 words, such as 'man'$"),
        ("dog 1 2\n", r"has none of 1 words, such as 'man'$"),
        ("the 1 2\nman 1\n", r"line 2: expected a word with 2 numbers, of 1e\+09 at most$"),
        ("the 1 2\nman 1 nan\n", r"line 2: expected a word with 2 numbers"),
        ("the 1 2\nman 1 two\n", r"line 2: expected a word with 2 numbers"),
        ("the 1 2\nman 1 1e30\n", r"line 2: expected a word with 2 numbers"),
        ("the end\nman 1 2\n", r"line 1: expected a word with 1 numbers"),
        ("5 999999\nman 1 2\n", r"line 1: vectors of 999,999 numbers; expected 1 to 32,768$"),
        ("the\nman 1 2\n", r"line 1: expected a word with its numbers"),
    ],
)
def test_a_line_that_is_no_vector_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text(text)
    with pytest.raises(SystemsError, match=rf"^glove\.txt: {message}"):
        read_word_vectors(tmp_path / "glove.txt", {"man"})


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "glove.txt")
    with pytest.raises(SystemsError, match=r"^glove\.txt: is no regular file; expected a text file of word vectors$"):
        by_encoder(str(tmp_path / "glove.txt"))(["man"])


@pytest.mark.parametrize("source", ["by id", "by word"])
def test_a_system_reads_the_vectors_of_a_file(source: str, files: Path, tmp_path: Path) -> None:
    random, examples = np.random.default_rng(1), collection().training.examples
    if source == "by id":
        rows = {each.query.id: random.normal(size=(3, 5)).astype(np.float32) for each in examples}
        np.savez(tmp_path / "queries.npz", **rows)  # type: ignore[arg-type]
        by: list[str | Path] = ["--query-features", tmp_path / "queries.npz"]
    else:
        words = sorted({word for each in examples for word in each.query.text.split()})
        lines = [f"{word} {' '.join(map(str, random.normal(size=5)))}" for word in words]
        (tmp_path / "glove.txt").write_text("\n".join(lines))
        by = ["--encoder", tmp_path / "glove.txt"]
    options = [word for option in [*SMALL, "longest=6"] for word in ("--option", option)]
    known: list[str | Path] = ["--annotations", files / "moments.jsonl", "--validation", files / "moments.jsonl"]
    done = command("train", tmp_path / "mcn", "--system", "mcn", *videos_in(files), *known, *options, *by)
    assert done.code == 0, done.err
    assert command("index", tmp_path / "mcn", *videos_in(files)).code == 0
    search: list[str | Path] = ["--queries", files / "moments.jsonl", "--out", tmp_path / "run.json"]
    assert command("search", tmp_path / "mcn", *search, *by).code == 0
    without = command("search", tmp_path / "mcn", *search)
    assert (without.code, "token vectors: none; expected (tokens, 5)" in without.err) == (2, True)
    stored = json.loads((tmp_path / "mcn" / "features.json").read_text())
    assert stored.keys() == {"train", "index"}
    assert (stored["train"][0]["file"], len(stored["train"][0]["sha256"])) == ("clips.npz", 64)
