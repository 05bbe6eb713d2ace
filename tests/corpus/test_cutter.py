"""What cuts clips is limited: a film that never ends, needs too much or breaks it does no harm to the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from base.confinement import ROOT
from corpus.clips import Cutter
from corpus.cutting import cut
from corpus.errors import CorpusError, FilmAway, Unavailable
from tests.numbered import draw_film, draw_frames, seen

MEMORY = 2048  # MiB, enough for every film here


@pytest.fixture
def film(tmp_path: Path) -> Path:
    return draw_film(tmp_path / "film.mp4", 20)


def endless(folder: Path) -> Path:
    """A film that is opened but never answers, as on a disk that hangs."""
    os.mkfifo(folder / "endless.mp4")
    return folder / "endless.mp4"


def numbers(clip: Path) -> list[int]:
    return [number for _, number in seen(clip)]


def test_one_process_cuts_many_clips(film: Path, tmp_path: Path) -> None:
    with Cutter(60, MEMORY) as cutter:
        cutter.cut(film, 0, 0.3, tmp_path / "a.mp4")
        first = cutter.process
        cutter.cut(film, 1.5, 9, tmp_path / "b.mp4")
        assert cutter.process is first is not None
    assert (numbers(tmp_path / "a.mp4"), numbers(tmp_path / "b.mp4")) == ([0, 1, 2], [15, 16, 17, 18, 19])
    assert first.returncode == -signal.SIGKILL


def test_a_film_that_never_answers_is_given_up_and_the_next_is_cut(film: Path, tmp_path: Path) -> None:
    with Cutter(2, MEMORY) as cutter:
        began = time.monotonic()
        with pytest.raises(CorpusError, match=r"^endless\.mp4: cutting took more than 2 seconds$"):
            cutter.cut(endless(tmp_path), 0, 1, tmp_path / "clip.mp4")
        assert time.monotonic() - began < 30
        cutter.seconds = 60
        cutter.cut(film, 0, 0.3, tmp_path / "clip.mp4")
    assert numbers(tmp_path / "clip.mp4") == [0, 1, 2]


def test_who_waits_is_called_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("base.confinement.SECONDS_BETWEEN_HEARTBEATS", 0.1)
    signs: list[float] = []
    with Cutter(1, MEMORY) as cutter, pytest.raises(CorpusError):
        cutter.cut(endless(tmp_path), 0, 1, tmp_path / "clip.mp4", sign=lambda: signs.append(0))
    assert len(signs) > 2


def test_a_film_that_needs_too_much_memory_is_told(film: Path, tmp_path: Path) -> None:
    large = draw_film(tmp_path / "large.mp4", 3, (4096, 4096))
    with Cutter(60, 200) as cutter, pytest.raises(CorpusError, match=r"^large\.mp4: "):
        cutter.cut(large, 0, 1, tmp_path / "clip.mp4")
    with Cutter(60, MEMORY) as cutter:
        cutter.cut(large, 0, 1, tmp_path / "clip.mp4")
    assert numbers(tmp_path / "clip.mp4") == [0, 1, 2]


def test_a_process_that_dies_is_told_and_replaced(film: Path, tmp_path: Path) -> None:
    with Cutter(60, MEMORY) as cutter:
        cutter.cut(film, 0, 0.3, tmp_path / "clip.mp4")
        assert cutter.process
        cutter.process.send_signal(signal.SIGSEGV)
        with pytest.raises(CorpusError, match=r"^film\.mp4: cutting was broken off \(SIGSEGV\)$"):
            cutter.cut(film, 0, 0.3, tmp_path / "clip.mp4")
        cutter.cut(film, 0.5, 0.7, tmp_path / "clip.mp4")
    assert numbers(tmp_path / "clip.mp4") == [5, 6]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_who_ends_the_process_from_outside_does_not_blame_the_film(
    film: Path, tmp_path: Path, how: signal.Signals
) -> None:
    """As systemd does with all processes of a service that is to stop."""
    with Cutter(60, MEMORY) as cutter:
        cutter.cut(film, 0, 0.3, tmp_path / "clip.mp4")
        assert cutter.process
        cutter.process.send_signal(how)
        with pytest.raises(Unavailable, match=rf"^film\.mp4: cutting was broken off \({how.name}\)$"):
            cutter.cut(film, 0, 0.3, tmp_path / "clip.mp4")


def test_a_film_that_went_away_meanwhile_is_told_as_such(film: Path, tmp_path: Path) -> None:
    film.unlink()
    with Cutter(60, MEMORY) as cutter, pytest.raises(FilmAway, match="No such file or directory"):
        cutter.cut(film, 0, 0.3, tmp_path / "clip.mp4")


def test_work_ends_by_itself_when_nobody_waits_for_it() -> None:
    program = "from base.confinement import limit_work; limit_work(0.1)\nwhile True: pass"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == -signal.SIGXCPU


def test_a_fault_of_the_film_is_told_as_without_limits(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_text("This is no film. " * 100)
    with Cutter(60, MEMORY) as cutter, pytest.raises(CorpusError, match=r"^film\.mp4: cannot be decoded"):
        cutter.cut(tmp_path / "film.mp4", 0, 1, tmp_path / "clip.mp4")


def test_frames_that_are_too_large_are_refused(tmp_path: Path) -> None:
    film = tmp_path / "film.mov"
    with av.open(str(film), "w") as huge:
        stream: Any = huge.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = 8200, 8200, "monob"
        frame = av.VideoFrame(8200, 8200, "monob")
        frame.pts, frame.time_base = 0, Fraction(1)
        huge.mux(stream.encode(frame))
        huge.mux(stream.encode(None))
    folder = draw_frames(tmp_path / "frames", 1, size=(8200, 8200))
    for source in (film, folder):
        with pytest.raises(CorpusError, match="8200x8200 is too large; at most 67,108,864 pixels can be cut"):
            cut(source, 0, 1, tmp_path / "clip.mp4", 1)


def test_what_cuts_knows_no_secrets(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    with Cutter(60, MEMORY) as cutter:
        cutter.cut(film, 0, 0.3, tmp_path / "clip.mp4")
        assert cutter.process
        environment = Path(f"/proc/{cutter.process.pid}/environ").read_text()
    assert "secret" not in environment


# What a process that has confined itself still can, asked of it one after the other.
ATTEMPTS = """
import os, socket, sys
from pathlib import Path
from base.confinement import confine
beside, secret, writable = map(Path, sys.argv[1:])
closed = confine([beside.parent, Path("corpus")], writable)
def attempt(what):
    try:
        what()
    except OSError as fault:
        return type(fault).__name__
    return "done"
network = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(*closed)
print(attempt(beside.read_bytes), attempt((writable / "new").touch), attempt(lambda: network.connect(("192.0.2.1", 9))))
print(attempt(secret.read_bytes), attempt(lambda: os.listdir("/etc")), attempt((beside.parent / "new").touch))
"""


@pytest.fixture
def closed(film: Path, tmp_path: Path) -> list[str]:
    """The lines that the attempts print: what the kernel can close, what is allowed, what is not."""
    (tmp_path / "elsewhere").mkdir()
    secret = tmp_path / "elsewhere" / "secret"
    secret.write_text("secret")
    (tmp_path / "films").mkdir()
    beside = film.rename(tmp_path / "films" / "film.mp4")
    (tmp_path / "made").mkdir()
    command = [sys.executable, "-c", ATTEMPTS, str(beside), str(secret), str(tmp_path / "made")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return str(done.stdout).splitlines()


def test_what_cuts_has_no_network(closed: list[str]) -> None:
    if "network" not in closed[0]:
        pytest.skip("the kernel lets nobody make a network namespace")
    assert closed[1] == "done done OSError"


def test_what_cuts_reads_and_writes_in_its_two_folders_only(closed: list[str]) -> None:
    if "files" not in closed[0]:
        pytest.skip("the kernel has no Landlock")
    assert closed[1].startswith("done done")
    assert closed[2] == "PermissionError PermissionError PermissionError"


def test_a_film_elsewhere_is_cut_by_another_process(film: Path, tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()
    other = draw_film(tmp_path / "films" / "other.mp4", 20)
    (tmp_path / "link.mp4").symlink_to(other)
    with Cutter(60, MEMORY) as cutter:
        cutter.cut(film, 0, 0.3, tmp_path / "clip.mp4")
        first = cutter.process
        cutter.cut(tmp_path / "link.mp4", 0.5, 0.7, tmp_path / "clip.mp4")
        assert cutter.process is not first
        cutter.cut(draw_frames(tmp_path / "films" / "frames", 4), 1, 3, tmp_path / "frames.mp4", 1)
    assert numbers(tmp_path / "clip.mp4") == [5, 6]
    assert numbers(tmp_path / "frames.mp4") == [1, 2]


def test_the_process_that_cuts_is_confined(film: Path, tmp_path: Path, closed: list[str]) -> None:
    if "network" not in closed[0]:
        pytest.skip("the kernel lets nobody make a network namespace")
    other = draw_film(tmp_path / "films" / "other.mp4", 20)
    with Cutter(60, MEMORY) as cutter:
        cutter.cut(other, 0, 0.3, tmp_path / "clip.mp4")
        assert cutter.process
        theirs, ours = (os.readlink(f"/proc/{pid}/ns/net") for pid in (cutter.process.pid, "self"))
        status = Path(f"/proc/{cutter.process.pid}/status").read_text()
    assert theirs != ours
    assert "NoNewPrivs:\t1" in status or "files" not in closed[0]
