"""Making the rows of clips for moments, and cutting the clips that wait."""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from django.conf import settings
from django.core.files import File

from corpus.cutter import Cutter
from corpus.errors import CorpusError
from corpus.models import Clip, Moment

Stretch = tuple[float, float]  # start and end, in seconds


def clips_of(moments: Iterable[Moment], padding: float = 0, sound: bool = False) -> dict[int, Clip]:
    """Return a clip for each moment, by the moment's key. A new clip waits for its job, or is missing.

    Parameters
    ----------
    moments
        Moments, with their videos.
    padding
        Seconds before and after each moment that the clip shows too, as far as the video has them.
    sound
        Whether the clips have sound.
    """
    moments = list(moments)
    stretches = {moment.pk: (moment.video_id, *widened(moment, padding)) for moment in moments}
    Clip.objects.bulk_create(
        [
            Clip(
                video=moment.video,
                start=stretches[moment.pk][1],
                end=stretches[moment.pk][2],
                sound=sound,
                state=Clip.State.WAITING if moment.video.media else Clip.State.MISSING,
            )
            for moment in moments
        ],
        ignore_conflicts=True,
        batch_size=500,
    )
    videos = {moment.video_id for moment in moments}
    rows = Clip.objects.filter(video__in=videos, sound=sound).select_related("video__corpus")
    clips = {(clip.video_id, clip.start, clip.end): clip for clip in rows}
    return {moment: clips[stretch] for moment, stretch in stretches.items()}


def widened(moment: Moment, padding: float) -> Stretch:
    """Return the start and the end of the moment with the padding, within the video."""
    if not padding:
        return moment.start, moment.end
    return max(0.0, moment.start - padding), max(moment.end, min(moment.video.duration, moment.end + padding))


def cutter() -> Cutter:
    """Return a cutter with the limits of the settings."""
    return Cutter(seconds=settings.CUTTING_SECONDS, memory=settings.CUTTING_MEMORY)


def make(clip: Clip, cutter: Cutter, sign: Callable[[], None] = lambda: None) -> None:
    """Cut a clip if it still waits. An error is stored with the clip, so that it does not stop other clips.

    `sign` is called every few seconds while the clip is cut.
    """
    clip.refresh_from_db(fields=["state", "error"])  # another job may have cut it meanwhile
    if clip.state != Clip.State.WAITING:
        return
    try:
        _cut_and_store(clip, cutter, sign)
        clip.state, clip.error = Clip.State.READY, ""
    except CorpusError as fault:
        clip.state, clip.error = Clip.State.FAILED, str(fault)
    clip.save()


def _cut_and_store(clip: Clip, cutter: Cutter, sign: Callable[[], None]) -> None:
    source = clip.video.media_path
    corpus = clip.video.corpus
    if source is None or not source.exists():
        raise CorpusError(f"{clip.video.name}: its media are gone from {corpus.media_folder}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "clip.mp4"
        cutter.cut(source, clip.start, clip.end, file, corpus.frame_rate, clip.sound, sign)
        with file.open("rb") as content:
            clip.file.save(f"clips/{clip.token}.mp4", File(content), save=False)
