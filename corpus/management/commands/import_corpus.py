"""manage.py import_corpus: import the videos and moments of a corpus file."""

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from corpus.errors import CorpusError
from corpus.importers import FORMATS
from corpus.importers.load import Report, Source, load
from corpus.importers.rows import seconds
from corpus.media import MediaFolder


class Command(BaseCommand):
    help = "Import a corpus, all or nothing. Importing the same file again adds nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the name of the corpus in this installation")
        parser.add_argument("file", type=Path)
        parser.add_argument("--format", required=True, choices=sorted(FORMATS))
        parser.add_argument("--type", default="", help="only descriptions of this type (TVR: v, t or vt)")
        parser.add_argument(
            "--durations", type=Path, help='JSON {"video": [seconds, index]}, also below a level of splits'
        )
        parser.add_argument("--media", type=Path, help="a folder of video files, or of folders of frames")
        parser.add_argument("--fps", type=float, help="frames a second, in folders of frames")

    def handle(self, **options: Any) -> None:
        began = time.monotonic()
        try:
            source = Source(
                file=options["file"],
                format=options["format"],
                kind=options["type"],
                durations=_durations(options["durations"]) if options["durations"] else None,
                media=_media(options["media"], options["fps"]),
            )
            report = load(options["name"], source)
        except CorpusError as fault:
            raise CommandError(str(fault), returncode=2) from fault
        self.stdout.write(_summary(options["name"], report, time.monotonic() - began))


def _media(folder: Path | None, fps: float | None) -> MediaFolder | None:
    if fps is not None and not 0 < fps <= 1000:
        raise CorpusError(f"--fps {fps:g}: expected frames a second, more than 0 and at most 1000")
    return MediaFolder(folder, fps) if folder else None


def _durations(file: Path) -> dict[str, float]:
    try:
        content = json.loads(file.read_bytes())
    except OSError as fault:
        raise CorpusError(f"--durations {file}: cannot be read ({fault.strerror})") from fault
    except (ValueError, RecursionError) as fault:
        raise CorpusError(f"--durations {file}: not JSON ({fault})") from fault
    if not isinstance(content, dict):
        raise CorpusError(f"--durations {file}: a JSON {type(content).__name__}; expected an object by video")
    levels = content.values() if all(isinstance(value, dict) for value in content.values()) else [content]
    durations = {}
    for level in levels:
        for video, value in level.items():
            try:
                durations[video] = seconds(value[0] if isinstance(value, list) and value else value, video)
            except CorpusError as fault:
                raise CorpusError(f"--durations {file}: {fault}") from fault
    return durations


def _summary(name: str, report: Report, took: float) -> str:
    lines = [
        f"{name}: {report.rows:,} moments in {report.videos:,} videos read in {took:.1f} s",
        f"  added: {report.moments_added:,} moments, {report.videos_added:,} videos; "
        f"stored before, or twice in the file: {report.rows - report.moments_added:,} moments",
        f"  cut off at the video's end: {report.clipped:,}",
        f"  videos with media: {report.with_media:,}",
    ]
    return "\n".join(lines)
