"""What a substitution by the chat endpoint will cost, roughly: known before it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import F

from corpus.models import Corpus, Moment
from retrieval.rewriting.by_chat import ChatSubstituter, messages
from retrieval.rewriting.endpoint import tokens
from retrieval.rewriting.models import Rewording

FRAME = '{"number": 10, "caption": ""}, '  # what surrounds each caption in an answer


@dataclass(frozen=True)
class Estimate:
    """How many descriptions are to be reworded, in how many requests, and what they cost at the settings' prices."""

    descriptions: int
    requests: int
    input_tokens: int
    output_tokens: int

    @property
    def cost(self) -> float:
        sent: float = self.input_tokens * settings.CHAT_INPUT_PRICE
        got: float = self.output_tokens * settings.CHAT_OUTPUT_PRICE
        return (sent + got) / 1e6


def estimate(corpus: Corpus, again: bool = False) -> Estimate:
    """Return what rewording by the chat endpoint will cost if every first answer passes the checks."""
    moments = Moment.objects.filter(video__corpus=corpus)
    texts = set(moments.filter(caption=F("description")).values_list("description", flat=True))
    rows = Rewording.objects.filter(corpus=corpus)
    done = rows.filter(state=Rewording.State.ACCEPTED) if again else rows.settled()
    texts |= set(rows.values_list("before", flat=True))
    texts -= set(done.values_list("before", flat=True))
    count, size = len(texts), ChatSubstituter.at_a_time
    requests = -(-count // size)
    frame = sum(tokens(message["content"]) for message in messages([]))
    said = sum(map(tokens, texts))
    sent = requests * frame + said + count * tokens(FRAME)
    answered = said + count * tokens(FRAME)
    return Estimate(count, requests, sent, answered)
