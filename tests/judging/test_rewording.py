"""Rewording as a job and as a command; captions change only while no candidates are ranked by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from base.errors import BadValue, WrongState
from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from judging.models import Candidate, Query
from judging.pool.ranking import rank_candidates
from judging.pool.rewording import By, accept_caption, ask_for_rewording
from retrieval.models import CastName, Rewording, Substitution
from retrieval.rewriting import substituting
from retrieval.rewriting.checks import Substituter
from retrieval.rewriting.substituting import propose
from tests import chat_endpoint as stub
from tests.chat_endpoint import KEY, ChatEndpoint
from tests.terminal import printed, refused

pytestmark = pytest.mark.django_db
TEXTS = ["Olga opens the door.", "Karel lifts a box.", "She looks at Zora."]
LONG_AGO = "2020-01-01T00:00Z"
CAST = "name,phrase\nOlga,woman\nKarel,man\n"


@pytest.fixture
def films(db: None) -> Corpus:
    corpus = Corpus.objects.create(name="named", format="tvr")
    video = Video.objects.create(corpus=corpus, name="v", duration=100)
    for number, text in enumerate(TEXTS):
        Moment.objects.create(video=video, start=number, end=number + 1, description=text, caption=text)
    return corpus


@pytest.fixture
def cast(tmp_path: Path) -> Path:
    (file := tmp_path / "cast.csv").write_text(CAST)
    return file


@pytest.fixture
def endpoint(settings: object) -> Iterator[ChatEndpoint]:
    def reword(text: str) -> str:
        return text.replace("Olga", "A woman").replace("Karel", "A man").replace("Zora", "a girl")

    with stub.chat_endpoint(reword) as made:
        settings.CHAT_URL, settings.CHAT_MODEL, settings.CHAT_KEY = made.address, "model-1", KEY  # type: ignore[attr-defined]
        settings.CHAT_INPUT_PRICE, settings.CHAT_OUTPUT_PRICE = 2.0, 8.0  # type: ignore[attr-defined]
        yield made


@pytest.fixture
def waiting(films: Corpus, cast: Path) -> Rewording:
    """A description that waits for a lead."""
    printed("reword", "named", "--cast", cast)
    return Rewording.objects.queued().get()


def captions() -> list[str]:
    moments = Moment.objects.filter(video__corpus__name="named").order_by("start")
    return list(moments.values_list("caption", flat=True))


def test_a_corpus_is_reworded_by_a_cast_list(films: Corpus, cast: Path) -> None:
    output = printed("reword", "named", "--cast", cast)
    assert "named: 3 distinct descriptions; 2 are captions now, 1 wait for a lead" in output
    assert captions() == ["A woman opens the door.", "A man lifts a box.", "She looks at Zora."]
    assert printed("reword", "named") == output  # the list is stored, and nothing is left to do


@pytest.mark.both_databases
def test_a_draft_is_written_completed_and_used(films: Corpus, tmp_path: Path) -> None:
    file = tmp_path / "draft.csv"
    output = printed("draft_cast", "named", "--out", file)
    assert "named: 3 names, 3 of them to be confirmed" in output
    assert "no confirmed names" in refused("reword", "named")
    output = printed("reword", "named", "--cast", file, "--confirm")
    assert "3 drafted names confirmed" in output
    assert "3 are captions now, 0 wait" in output
    assert captions()[2] == "She looks at a woman."  # a guess, by the pronoun


@pytest.mark.both_databases
def test_a_corpus_is_reworded_by_the_endpoint(films: Corpus, endpoint: ChatEndpoint) -> None:
    estimated = printed("reword", "named", "--estimate")
    assert "3 descriptions to reword in about 1 requests" in estimated
    assert not endpoint.bodies
    output = printed("reword", "named", "--chat")
    assert "3 descriptions to reword" in output
    assert "1 requests, 0 of them again; 100 tokens sent and 20 got, cost 0.0004" in output
    assert endpoint.keys == [f"Bearer {KEY}"]
    assert KEY not in output
    assert "0 descriptions to reword in about 0 requests" in printed("reword", "named", "--estimate")


def test_the_work_can_be_left_to_a_worker(films: Corpus, cast: Path) -> None:
    assert "a worker does the rest" in printed("reword", "named", "--cast", cast, "--later")
    assert captions() == TEXTS
    work_off(StringIO())
    assert captions()[0] == "A woman opens the door."


def test_bad_orders_are_refused(films: Corpus, tmp_path: Path, settings: object) -> None:
    assert refused("reword", "plays") == "corpus plays: not found; expected one of: named"
    assert refused("draft_cast", "plays") == "corpus plays: not found; expected one of: named"
    assert "cannot be written" in refused("draft_cast", "named", "--out", tmp_path / "no" / "where.csv")
    assert "cannot be read" in refused("reword", "named", "--cast", tmp_path / "no.csv")
    assert "CHAT_URL and CHAT_MODEL: not set" in refused("reword", "named", "--chat")
    settings.NAMES_MODEL = str(tmp_path)  # type: ignore[attr-defined]
    (tmp_path / "cast.csv").write_text(CAST)
    assert "NAMES_MODEL" in refused("reword", "named", "--cast", tmp_path / "cast.csv")
    assert captions() == TEXTS


def test_an_endpoint_that_is_away_is_waited_for(
    films: Corpus, endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.rewriting.by_chat.FIRST_WAIT", 0.0)
    endpoint.faults = [stub.status(503)] * 6
    assert "status 503" in refused("reword", "named", "--chat")
    job = Job.objects.get(kind="reword-descriptions")
    assert job.is_delayed
    Job.objects.update(due=LONG_AGO)
    work_off(StringIO())
    job.refresh_from_db()
    assert job.state == Job.State.DONE
    assert Substitution.objects.get().requests == 7
    assert Rewording.objects.settled().count() == 3


def test_the_endpoint_is_asked_in_parts_and_after_a_crash_for_nothing_twice(
    films: Corpus, endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(substituting, "OF_A_PART", 1)
    proposed: list[str] = []

    def noted(order: Substitution, substituter: Substituter, rows: list[Rewording], *rest: Any) -> None:
        proposed.append(rows[0].before)
        if len(proposed) == 2:
            raise SystemExit
        propose(order, substituter, rows, *rest)

    monkeypatch.setattr(substituting, "propose", noted)
    ask_for_rewording(films, By.CHAT)
    with pytest.raises(SystemExit):
        work_off(StringIO())
    assert len(endpoint.bodies) == 1
    Job.objects.update(lease=LONG_AGO)
    assert work_off(StringIO()) == []
    assert len(endpoint.bodies) == len({str(body) for body in endpoint.bodies}) == 3
    assert captions() == ["A woman opens the door.", "A man lifts a box.", "She looks at a girl."]
    order = Substitution.objects.get()
    assert (order.requests, order.input_tokens, order.descriptions) == (3, 300, 3)


def test_a_wrong_key_is_told_and_mended(films: Corpus, endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substituting, "OF_A_PART", 1)
    endpoint.faults = [stub.status(401)]
    assert "status 401" in refused("reword", "named", "--chat")
    assert len(endpoint.bodies) == 1
    printed("reword", "named", "--chat")
    assert Substitution.objects.count() == 1  # the same one went on
    assert Rewording.objects.settled().count() == 3


def ranked(corpus: Corpus) -> Campaign:
    campaign = Campaign.objects.create(name="c", corpus=corpus)
    query = Query.objects.create(campaign=campaign, query_id="1", text="q")
    moment = Moment.objects.filter(video__corpus=corpus).earliest("pk")
    Candidate.objects.create(query=query, moment=moment, rank=1, similarity=0.5)
    return campaign


def test_captions_by_which_candidates_are_ranked_do_not_change(waiting: Rewording, outsider: User, cast: Path) -> None:
    ranked(waiting.corpus)
    with pytest.raises(WrongState, match="campaign c are ranked by the captions of corpus named"):
        accept_caption(waiting, outsider, "She looks at a girl.")
    assert "are ranked by the captions" in refused("reword", "named")
    assert captions()[2] == TEXTS[2]


def test_a_substitution_stops_if_candidates_came_first(films: Corpus, cast: Path) -> None:
    printed("reword", "named", "--cast", cast, "--later")
    ranked(films)
    work_off(StringIO())
    assert "are ranked by the captions" in Job.objects.get(kind="reword-descriptions").error
    assert captions() == TEXTS


@pytest.mark.both_databases
def test_captions_do_not_change_while_candidates_are_being_ranked(waiting: Rewording, outsider: User) -> None:
    rank_candidates.ask(Campaign.objects.create(name="c", corpus=waiting.corpus))
    with pytest.raises(WrongState, match="campaign c"):
        accept_caption(waiting, outsider, "She looks at a girl.")
    with pytest.raises(WrongState, match="campaign c"):
        ask_for_rewording(waiting.corpus, By.CAST)


def test_ranking_waits_for_the_rewording(films: Corpus, cast: Path) -> None:
    printed("reword", "named", "--cast", cast, "--later")
    campaign = Campaign.objects.create(name="c", corpus=films)
    Query.objects.create(campaign=campaign, query_id="1", text="A man lifts a box.")
    ranking = rank_candidates.ask(campaign)
    Job.objects.filter(pk=ranking.pk).update(due=LONG_AGO)  # so that it comes first
    work_off(StringIO())
    ranking.refresh_from_db()
    assert "is being reworded" in ranking.error
    Job.objects.filter(pk=ranking.pk).update(due=LONG_AGO)
    work_off(StringIO())
    best = Candidate.objects.get(rank=1)
    assert best.moment.description == "Karel lifts a box."
    assert best.similarity == pytest.approx(1.0)


@pytest.mark.both_databases
def test_one_substitution_at_a_time(films: Corpus, cast: Path, endpoint: ChatEndpoint) -> None:
    printed("reword", "named", "--cast", cast, "--later")
    assert "is being reworded" in refused("reword", "named", "--chat")
    printed("reword", "named", "--later")
    assert Substitution.objects.count() == 1


def test_a_lead_accepts_a_caption(waiting: Rewording, leo: Membership) -> None:
    assert accept_caption(waiting, leo.user, "  She looks\nat a girl. ")
    waiting.refresh_from_db()
    assert (waiting.after, waiting.state, waiting.by) == ("She looks at a girl.", "accepted", leo.user)
    assert waiting.at is not None
    assert waiting.replaced == [["Zora", "a girl"]]
    assert captions()[2] == "She looks at a girl."


def test_accepting_twice(waiting: Rewording, leo: Membership, member: Callable[..., Membership]) -> None:
    accept_caption(waiting, leo.user, "She looks at a girl.")
    assert not accept_caption(waiting, member("lea", "lead").user, "She looks at a girl.")
    with pytest.raises(WrongState, match="does not wait any more"):
        accept_caption(waiting, leo.user, "She looks at a woman.")
    waiting.refresh_from_db()
    assert (waiting.after, waiting.by) == ("She looks at a girl.", leo.user)


@pytest.mark.parametrize("text", ["", " \n ", "a\0b", "é" * 1251])
def test_what_is_no_caption(waiting: Rewording, leo: Membership, text: str) -> None:
    with pytest.raises(BadValue, match="caption: "):
        accept_caption(waiting, leo.user, text)


def test_what_a_lead_accepted_is_never_made_again(waiting: Rewording, leo: Membership, endpoint: ChatEndpoint) -> None:
    accept_caption(waiting, leo.user, "She looks at a girl.")
    CastName.objects.create(corpus=waiting.corpus, name="Zora", phrase="witch", confirmed=True)
    printed("reword", "named", "--again")
    printed("reword", "named", "--chat", "--again")
    assert captions()[2] == "She looks at a girl."
