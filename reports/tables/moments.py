"""The moments of a corpus as a page lists them: video by video, in the order of their times, or by a search."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import QueryDict

from base.request_fields import KEY, whole
from corpus.models import Corpus, Moment

ON_A_PAGE = 50
LONGEST_SEARCH = 200  # characters


@dataclass(frozen=True)
class MomentsPage:
    """Some moments, the key after which the next page begins if there is one, and what was asked for."""

    moments: list[Moment]
    after: int | None
    words: str
    video: str
    is_first: bool


def moments_page(corpus: Corpus, params: QueryDict) -> MomentsPage:
    """Return the moments that an address asks for: `find` in descriptions, `video` by name, and `after` a moment.

    Raise BadValue if the address names no moment to go on after.
    """
    words = " ".join(params.get("find", "").replace("\0", "").split())[:LONGEST_SEARCH]
    video = params.get("video", "").replace("\0", "")
    rows = moments_found(corpus, words, video)
    following = params.get("after", "")
    last = whole("after", following, "the key of a moment", KEY) if following else None
    if last:
        rows = _after(rows, Moment.objects.filter(video__corpus=corpus, pk=last).first())
    found = list(rows.order_by("video_id", "start", "pk")[: ON_A_PAGE + 1])
    more = len(found) > ON_A_PAGE
    page = found[:ON_A_PAGE]
    return MomentsPage(page, page[-1].pk if more else None, words, video, is_first=not last)


def moments_found(corpus: Corpus, words: str = "", video: str = "") -> QuerySet[Moment]:
    """Return the moments of a corpus whose descriptions have all these words, of the video with that name if any."""
    rows = Moment.objects.filter(video__corpus=corpus).select_related("video")
    for word in words.split():
        rows = rows.filter(description__icontains=word)
    return rows.filter(video__name=video) if video else rows


def _after(rows: QuerySet[Moment], last: Moment | None) -> QuerySet[Moment]:
    if last is None:
        return rows.none()
    later = Q(start__gt=last.start) | Q(start=last.start, pk__gt=last.pk)
    return rows.filter(video_id__gte=last.video_id).filter(Q(video_id__gt=last.video_id) | later)
