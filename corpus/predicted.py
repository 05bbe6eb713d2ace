"""Moments that runs predicted: they have no description, and take no part in anything but judging."""

from __future__ import annotations

from collections.abc import Sequence

from corpus.models import Corpus, Moment, Video
from metrics.formats.moment_ids import moment_id

Span = tuple[str, float, float]  # video, start and end in seconds
DIGITS = 3  # of seconds, as in the ids of moments


def moments_at(corpus: Corpus, spans: Sequence[Span]) -> list[Moment]:
    """Return the moment at each span: that of the corpus with the same id if there is one, else a predicted one.

    Times are rounded to milliseconds, and an end behind the video's end becomes that end.

    Raises
    ------
    Video.DoesNotExist
        If the corpus has no such video.
    """
    videos = {video.name: video for video in Video.objects.filter(corpus=corpus, name__in={s[0] for s in spans})}
    known: dict[str, Moment] = {}
    listed = Moment.everything.filter(video__in=[each.pk for each in videos.values()]).select_related("video")
    for moment in listed.order_by("predicted", "pk"):
        known.setdefault(str(moment), moment)
    found = []
    for name, start, end in spans:
        if name not in videos:
            raise Video.DoesNotExist(f"{corpus}: no video {name}")
        video, start = videos[name], round(start, DIGITS)
        end = min(round(end, DIGITS), video.duration)
        key = moment_id(name, start, end)
        if key not in known:
            known[key] = Moment.everything.create(
                video=video, start=start, end=end, description="", caption="", predicted=True
            )
        found.append(known[key])
    return found
