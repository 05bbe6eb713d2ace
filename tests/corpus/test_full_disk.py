"""A full disk postpones cutting and freezing, leaves no half-written file, and is over when there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from campaigns.models import Membership
from corpus.models import Clip
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch
from judging.pool.clips import retry_clips
from releases.freezing import freeze
from tests.numbered import draw_film

pytestmark = pytest.mark.django_db


@pytest.fixture
def small_disk(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """A file system of 4 KiB for the clips, which takes no whole one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root can make a small disk")
    settings.MEDIA_ROOT = folder
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def enlarge(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)


@pytest.fixture
def preparing(batch: Batch, tmp_path: Path) -> Batch:
    """A batch of one clip to cut, which is longer than 4 KiB."""
    draw_film(tmp_path / "film.mp4", 100, (640, 480))
    candidate = batch.candidates.order_by("rank")[0]
    batch.candidates.exclude(pk=candidate.pk).delete()
    video = candidate.moment.video
    video.corpus.media_folder, video.media = str(tmp_path), "film.mp4"
    video.corpus.save()
    video.save()
    Batch.objects.update(state=Batch.State.PREPARING)
    batch.refresh_from_db()
    retry_clips([batch])
    return batch


def files_below(folder: Path) -> list[str]:
    return [name for _, _, names in os.walk(folder) for name in names]


def check_postponed_until_there_is_room(batch: Batch, disk: Path, temporary: Path) -> None:
    for attempt in range(1, 5):
        assert len(work_off(StringIO())) == 1
        job = Job.objects.get()
        assert (job.state, job.attempts, job.waits) == (Job.State.WAITING, 0, attempt)
        assert "No space left on device" in job.error
        assert files_below(disk) == []
        assert files_below(temporary) == []
        Job.objects.update(due=Now())
    clip = Clip.objects.get(candidates__batch=batch)
    assert (clip.state, clip.error) == (Clip.State.WAITING, "")
    enlarge(disk)
    assert work_off(StringIO()) == []
    batch.refresh_from_db()
    clip.refresh_from_db()
    assert (batch.state, clip.state, clip.size) == (
        Batch.State.OPEN,
        Clip.State.READY,
        Path(clip.file.path).stat().st_size,
    )


def test_a_full_disk_of_clips(small_disk: Path, preparing: Batch, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    check_postponed_until_there_is_room(preparing, small_disk, tmp_path / "temporary")


def test_a_full_disk_of_temporary_files(
    small_disk: Path, preparing: Batch, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    check_postponed_until_there_is_room(preparing, small_disk, small_disk)


def test_a_full_disk_of_releases(small_disk: Path, settled: Batch, leo: Membership) -> None:
    release = freeze(settled.query.campaign, leo, "CC0-1.0", with_unfinished=True)
    assert len(work_off(StringIO())) == 1
    assert "No space left on device" in Job.objects.get().error
    assert files_below(small_disk) == []
    enlarge(small_disk)
    Job.objects.update(due=Now())
    assert work_off(StringIO()) == []
    release.refresh_from_db()
    assert release.size == Path(release.file.path).stat().st_size
