"""The audit of media finds lost, truncated, changed and orphaned files, and lost ones are cut again by a command."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from corpus import media_audit
from corpus.media_audit import Fault, audit_media
from corpus.models import Clip
from jobs.running import work_off
from judging.models import Batch
from judging.summaries import summarize
from tests.numbered import draw_film
from tests.terminal import printed

pytestmark = pytest.mark.django_db


@pytest.fixture
def cut(batch: Batch, tmp_path: Path) -> list[Clip]:
    return cut_five(batch, tmp_path)


def cut_five(batch: Batch, folder: Path) -> list[Clip]:
    """The five clips of a batch, cut."""
    draw_film(folder / "film.mp4", 450, (32, 32))
    batch.candidates.filter(rank__gt=5).delete()
    summarize([batch.query_id])
    video = batch.candidates.order_by("rank")[0].moment.video
    video.corpus.media_folder, video.media = str(folder), "film.mp4"
    video.corpus.save()
    video.save()
    assert printed("retry_clips") == "5 clips of 1 batches are asked for again\n"
    assert work_off(StringIO()) == []
    return list(Clip.objects.filter(state=Clip.State.READY).order_by("pk"))


def replace(clip: Clip, content: bytes) -> None:
    name = clip.file.name or ""
    default_storage.delete(name)
    assert default_storage.save(name, ContentFile(content)) == name


def content_of(clip: Clip) -> bytes:
    with default_storage.open(clip.file.name or "") as file:
        return bytes(file.read())


def harm(cut: list[Clip]) -> dict[str, set[str]]:
    """Do to files what may happen to them; returns which have which fault."""
    lost, short, changed, *_ = cut
    default_storage.delete(lost.file.name or "")
    replace(short, content_of(short)[:-7])
    replace(changed, bytes(reversed(content_of(changed))))
    orphans = ["clips/nobodys.mp4", f"clips/.{cut[4].token}.x1.part"]
    for name in orphans:
        default_storage.save(name, ContentFile(b"0123"))
    return {
        Fault.LOST: {lost.file.name or ""},
        Fault.TRUNCATED: {short.file.name or ""},
        Fault.CHANGED: {changed.file.name or ""},
        Fault.ORPHANED: set(orphans),
    }


def found(*, checksums: bool = False) -> dict[str, set[str]]:
    faults: dict[str, set[str]] = {}
    for finding in audit_media(checksums=checksums):
        faults.setdefault(finding.fault, set()).add(finding.file)
    return faults


def check_audit(cut: list[Clip]) -> None:
    """What holds of a folder, and of a store."""
    assert len(cut) == 5
    assert found(checksums=True) == {}
    faults = harm(cut)
    assert found(checksums=True) == faults
    assert found() == {fault: files for fault, files in faults.items() if fault != Fault.CHANGED}
    assert [finding.fault for finding in audit_media("films", checksums=True)].count(Fault.ORPHANED) == 0
    assert list(audit_media("plays")) == []
    lines = printed("retry_clips", "films", "--lost", "--checksums").splitlines()
    assert lines == ["3 clips are lost or damaged", "3 clips of 1 batches are asked for again"]
    assert work_off(StringIO()) == []
    assert found(checksums=True) == {Fault.ORPHANED: faults[Fault.ORPHANED]}
    assert printed("retry_clips", "--lost").startswith("0 clips are lost or damaged\n0 clips")


def test_of_a_folder_everything_is_found_and_cut_again(cut: list[Clip], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media_audit, "FILES_AT_A_TIME", 3)
    check_audit(cut)


@pytest.mark.parametrize("harmful", [False, True])
def test_the_command_tells_what_is_wrong(cut: list[Clip], harmful: bool) -> None:
    def audited() -> tuple[int, str]:
        out = StringIO()
        try:
            call_command("audit", "--media", stdout=out)
        except CommandError as fault:
            return fault.returncode, out.getvalue()
        return 0, out.getvalue()

    if not harmful:
        default_storage.save("clips/nobodys.mp4", ContentFile(b"0123"))
        code, output = audited()
        assert code == 0
        assert "  ok     The file of each clip is there, and whole\n" in output
        assert "  note   1 files belong to no clip, and can be deleted\n           clips/nobodys" in output
        return
    harm(cut)
    code, output = audited()
    assert code == 1
    assert "  BROKEN The file of each clip is there, and whole\n" in output
    assert f"{cut[0].file.name}: lost\n" in output
    assert f"{cut[1].file.name}: truncated, {(cut[1].size or 0) - 7:,} of {cut[1].size:,} bytes\n" in output


def test_a_clip_that_is_stored_at_this_moment_is_no_orphan(cut: list[Clip]) -> None:
    Clip.objects.filter(pk=cut[0].pk).update(state=Clip.State.WAITING, file="")
    assert found() == {}


def test_a_clip_that_is_cut_during_the_audit_is_not_lost(cut: list[Clip], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file comes after the list of files was read."""
    name, content = cut[0].file.name or "", content_of(cut[0])
    default_storage.delete(name)
    look: Callable[..., Any] = media_audit._look_at

    def look_late(*arguments: Any, **options: Any) -> Any:
        yield from look(*arguments, **options)
        default_storage.save(name, ContentFile(content))

    monkeypatch.setattr(media_audit, "_look_at", look_late)
    assert found() == {}
