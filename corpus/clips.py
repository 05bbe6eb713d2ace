"""Making the rows of clips for moments, and cutting the clips that wait."""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage

from corpus.cutter import Cutter
from corpus.errors import CorpusError
from corpus.models import Clip, Moment
from corpus.stored_files import store

OUTCOME = ["state", "error", "file"]  # fields of a clip
Stretch = tuple[float, float]  # start and end, in seconds


def clips_of(
    moments: Iterable[Moment], audience: str, padding: float = 0, sound: bool = False
) -> dict[int, Clip]:
    """Return a clip for each moment, by the moment's key. A new clip waits for its job, or is missing.

    Parameters
    ----------
    moments
        Moments, with their videos.
    audience
        Whom the clips are for. Two audiences never share a clip, so that nobody can tell that two addresses or files
        show the same.
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
                audience=audience,
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
    rows = Clip.objects.filter(video__in=videos, audience=audience, sound=sound)
    rows = rows.select_related("video__corpus")
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

    `sign` is called every few seconds while the clip is cut. Another process may have cut the clip meanwhile: a clip
    that is ready stays as it is.
    """
    clip.refresh_from_db(fields=OUTCOME)
    if clip.state != Clip.State.WAITING:
        return
    try:
        _note_stored(clip, _cut_and_store(clip, cutter, sign))
    except CorpusError as fault:
        waiting = Clip.objects.filter(pk=clip.pk, state=Clip.State.WAITING)
        waiting.update(state=Clip.State.FAILED, error=str(fault))
    clip.refresh_from_db(fields=OUTCOME)


def _note_stored(clip: Clip, file: str) -> None:
    """Note that the clip is ready in this file, or remove the file if the clip is ready in another one."""
    row = Clip.objects.filter(pk=clip.pk)
    if row.exclude(state=Clip.State.READY).update(state=Clip.State.READY, error="", file=file):
        return
    if row.exclude(file=file).exists():
        default_storage.delete(file)


def _cut_and_store(clip: Clip, cutter: Cutter, sign: Callable[[], None]) -> str:
    """Return the name of the stored file."""
    source = clip.video.media_path
    corpus = clip.video.corpus
    if source is None or not source.exists():
        raise CorpusError(f"{clip.video.name}: its media are gone from {corpus.media_folder}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "clip.mp4"
        cutter.cut(source, clip.start, clip.end, file, corpus.frame_rate, clip.sound, sign)
        with file.open("rb") as content:
            return store(f"clips/{clip.token}.mp4", File(content))
