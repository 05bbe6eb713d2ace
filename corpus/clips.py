"""Clips of moments: which there are, and making those that wait."""

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
    """A clip for each moment, by the moment's key; made, and left waiting or missing, where new.

    Parameters
    ----------
    moments : with their videos
    padding : seconds shown before and after each moment, as far as the video has them
    sound : whether the clips are heard
    """
    moments = list(moments)
    shown = {moment.pk: (moment.video_id, *widened(moment, padding)) for moment in moments}
    Clip.objects.bulk_create(
        [
            Clip(
                video=moment.video,
                start=shown[moment.pk][1],
                end=shown[moment.pk][2],
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
    return {moment: clips[stretch] for moment, stretch in shown.items()}


def widened(moment: Moment, padding: float) -> Stretch:
    """The moment's stretch with the padding, inside the video."""
    if not padding:
        return moment.start, moment.end
    return max(0.0, moment.start - padding), max(moment.end, min(moment.video.duration, moment.end + padding))


def cutter() -> Cutter:
    """What cuts clips, within the limits of the settings."""
    return Cutter(seconds=settings.CUTTING_SECONDS, memory=settings.CUTTING_MEMORY)


def make(clip: Clip, cutter: Cutter, sign: Callable[[], None] = lambda: None) -> None:
    """Cut a clip out of its video if it still waits. A fault is kept on the clip: it never stops the others.

    `sign` is called every few seconds while the clip is cut.
    """
    clip.refresh_from_db(fields=["state", "error"])  # another batch may have had it cut meanwhile
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
