"""Which captions may become queries."""

from __future__ import annotations

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from corpus.models import Corpus, Moment
from retrieval.rewriting.models import Rewording


def may_become_queries(corpus: Corpus) -> QuerySet[Moment]:
    """Return the moments whose captions may become queries.

    In a corpus that nobody has ever begun to reword, these are all moments. In any other they are those whose
    caption passed the checks or was accepted by a lead, and those to which the corpus itself gave a caption.
    """
    moments = Moment.objects.filter(video__corpus=corpus)
    rewordings = Rewording.objects.filter(corpus=corpus)
    if not rewordings.exists():
        return moments
    own = rewordings.filter(before=OuterRef("description"))
    is_given = ~Q(caption=F("description")) & ~Exists(own)
    return moments.filter(Exists(own.settled().filter(after=OuterRef("caption"))) | is_given)
