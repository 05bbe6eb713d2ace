"""A search among 100,000 captions, warm: the page as the lead gets it, and its parts. The vectors are random."""

import statistics
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from benchmarks.measuring import in_turn
from benchmarks.streaming import stored_corpus
from campaigns.models import Campaign, Membership
from corpus.models import Corpus
from retrieval.nearest import nearest
from retrieval.search.index import index_captions, opened
from retrieval.search.one_query import encode_here
from retrieval.search.searching import search

CAPTIONS, RUNS, NAME = 100_000, 60, "searching"


def figures() -> Iterator[str]:
    call_command("migrate", verbosity=0)
    corpus = stored_corpus(NAME, CAPTIONS)
    began = time.perf_counter()
    index_captions(corpus, lambda done, total, message="": None)
    yield f"index of {CAPTIONS:,} captions whose vectors are stored, written in {time.perf_counter() - began:.1f} s"
    rows, queries = (opened(corpus.indexes.get()), iter(f"somebody opens door number {n}" for n in range(10_000)))
    vector = encode_here("somebody opens a door")
    assert vector is not None
    of = f"{CAPTIONS:,} captions, {connection.vendor}"
    yield _told(f"a query encoded without torch, {of}", lambda: encode_here(next(queries)))
    yield _told(f"the nearest 40, {of}", lambda: nearest(vector[None], rows.vectors, 40))
    yield _told(f"a search, {of}", lambda: search(corpus, next(queries)))
    client, address = _lead(corpus), f"{reverse('queries', args=[NAME])}"

    def ask() -> None:
        answer = client.get(address, {"q": next(queries)})
        assert b"The nearest of" in answer.content, answer.status_code

    yield _told(f"the page of a search, {of} (promised: under 100 ms)", ask)


def _lead(corpus: Corpus) -> Client:
    """Return the browser of somebody who leads a campaign of the corpus."""
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.SECURE_SSL_REDIRECT = False
    campaign, made = Campaign.objects.get_or_create(name=NAME, defaults={"corpus": corpus})
    lead, _ = User.objects.get_or_create(username=f"lead-{NAME}")
    if made:
        campaign.add_member(lead, Membership.Role.LEAD)
    client = Client()
    client.force_login(lead)
    return client


def _told(what: str, work: Callable[[], object]) -> str:
    seconds = sorted(in_turn([lambda _: work()], range(RUNS + 5), warming=5)[0])
    return f"{what}: {statistics.median(seconds) * 1000:.1f} ms, p95 {seconds[int(0.95 * RUNS)] * 1000:.1f} ms"
