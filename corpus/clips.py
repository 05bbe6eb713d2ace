"""Clips of moments: which there are, and making those that wait."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from django.core.files import File

from corpus.cutting import cut
from corpus.errors import CorpusError
from corpus.models import Clip, Moment

Stretch = tuple[int, float, float]


def clips_of(moments: Iterable[Moment]) -> dict[Stretch, Clip]:
    """A clip for each moment, by (video's key, start, end); made, and left waiting or missing, where new."""
    moments = list(moments)
    Clip.objects.bulk_create(
        [
            Clip(
                video=moment.video,
                start=moment.start,
                end=moment.end,
                state=Clip.State.WAITING if moment.video.media else Clip.State.MISSING,
            )
            for moment in moments
        ],
        ignore_conflicts=True,
        batch_size=500,
    )
    wanted = {stretch(moment) for moment in moments}
    videos = {moment.video_id for moment in moments}
    clips = Clip.objects.filter(video__in=videos).select_related("video__corpus")
    return {stretch(clip): clip for clip in clips if stretch(clip) in wanted}


def stretch(what: Moment | Clip) -> Stretch:
    return what.video_id, what.start, what.end


def make(clip: Clip) -> None:
    """Cut a waiting clip out of its video. A fault is kept on the clip: it never stops the others."""
    if clip.state != Clip.State.WAITING:
        return
    source = clip.video.media_path
    try:
        if source is None or not source.exists():
            raise CorpusError(f"{clip.video.name}: its media are gone from {clip.video.corpus.media_folder}")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "clip.mp4"
            cut(source, clip.start, clip.end, file, clip.video.corpus.frame_rate)
            with file.open("rb") as content:
                clip.file.save(f"clips/{clip.token}.mp4", File(content), save=False)
        clip.state, clip.error = Clip.State.READY, ""
    except CorpusError as fault:
        clip.state, clip.error = Clip.State.FAILED, str(fault)
    clip.save()
