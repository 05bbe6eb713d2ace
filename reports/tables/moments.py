"""The list of a corpus's moments: video by video in the order of their times, unless a heading sorts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import F, QuerySet

from base.listing import Column, Listing
from corpus.models import Corpus, Moment

LONGEST_SEARCH, LONGEST_VIDEO = 200, 300  # characters
LONGEST = 86_400  # seconds


class MomentFilters(forms.Form):
    """The filters of the list of moments."""

    q = forms.CharField(
        required=False, max_length=LONGEST_SEARCH, label="Words", help_text="words of the description, in any order"
    )
    video = forms.CharField(required=False, max_length=LONGEST_VIDEO, label="Video", help_text="a video’s name")
    seconds_from = forms.FloatField(required=False, min_value=0, max_value=LONGEST, label="Seconds from")
    seconds_to = forms.FloatField(required=False, min_value=0, max_value=LONGEST, label="Seconds to")
    film = forms.BooleanField(required=False, label="With a film")


def _with_words(rows: QuerySet[Moment], words: str) -> QuerySet[Moment]:
    for word in words.split():
        rows = rows.filter(description__icontains=word)
    return rows


MOMENTS = Listing(
    "moments",
    (
        Column("id", "Id", str, is_usual=False),
        Column("video", "Video", lambda moment: moment.video.name),
        Column("start", "From", lambda moment: moment.start, by="start", is_number=True, places=2),
        Column("end", "To", lambda moment: moment.end, by="end", is_number=True, places=2),
        Column("seconds", "Seconds", lambda moment: round(moment.length, 3), by="seconds", is_number=True),
        Column("description", "Description", lambda moment: moment.description, by="description"),
        Column("caption", "Caption", lambda moment: moment.caption, is_usual=False),
    ),
    MomentFilters,
    {
        "q": _with_words,
        "video": lambda rows, video: rows.filter(video__name=video),
        "seconds_from": lambda rows, seconds: rows.filter(seconds__gte=seconds),
        "seconds_to": lambda rows, seconds: rows.filter(seconds__lte=seconds),
        "film": lambda rows, _: rows.exclude(video__media=""),
    },
    usual="video_id start pk",
)


def moments_of(corpus: Corpus) -> QuerySet[Any]:
    """Return the moments of a corpus, each with its video and its length in seconds."""
    own = Moment.objects.filter(video__corpus=corpus).select_related("video__corpus")
    found: QuerySet[Any] = own.annotate(seconds=F("end") - F("start"))
    return found
