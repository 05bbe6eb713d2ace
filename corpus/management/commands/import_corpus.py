"""manage.py import_corpus: import the videos and moments of corpus files."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand
from corpus.errors import BadLines, CorpusError
from corpus.films import MediaFolder, media_at
from corpus.importers.formats import FORMATS
from corpus.importers.lengths import misfits
from corpus.importers.load import Report, Source, load, preview
from corpus.importers.rows import FIELDS
from corpus.reading import durations_in


class Command(ReeljudgeCommand):
    refusals = (CorpusError,)
    help = "Import a corpus, all or nothing. Importing the same files again adds nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the name of the corpus in this installation")
        parser.add_argument("file", type=Path, nargs="+", help="one file, or several of one format")
        parser.add_argument("--format", required=True, choices=sorted(FORMATS))
        parser.add_argument(
            "--type", default="", help="only descriptions of this type (TVR: v, t, vt or all; default: v)"
        )
        parser.add_argument(
            "--durations", type=Path, help="JSON from video to seconds, or a CSV with the columns video and duration"
        )
        parser.add_argument(
            "--columns",
            nargs="+",
            default=[],
            metavar="FIELD=COLUMN",
            help=f"the columns of a CSV (or keys of a JSONL) that hold the fields {', '.join(FIELDS)}",
        )
        parser.add_argument(
            "--media", help="a folder of video files or of folders of frames; or s3://BUCKET/PREFIX with video files"
        )
        parser.add_argument("--fps", type=float, help="frames a second, in folders of frames")
        parser.add_argument(
            "--check-films", action="store_true", help="with --media, open every film and tell which do not fit"
        )
        parser.add_argument(
            "--leave-out-unusable",
            action="store_true",
            help="leave out moments that cannot be used and count them by reason; cut off those that end too late",
        )
        parser.add_argument("--dry-run", action="store_true", help="check and compare, and store nothing")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="put changed descriptions in the place of stored ones that nothing refers to",
        )

    def handle(self, **options: Any) -> None:
        began = time.monotonic()
        source = _source(options)
        report = self._report(options["name"], source, options)
        self.stdout.write(_summary(options, report, time.monotonic() - began))
        if options["check_films"] and source.media:
            found = list(misfits(report.lengths, source.media))
            self.stdout.write(f"  films that do not fit: {len(found):,} of {len(report.lengths):,}")
            for each in found[: BadLines.MOST_PROBLEMS]:
                self.stdout.write(f"    {each}")

    def _report(self, name: str, source: Source, options: dict[str, Any]) -> Report:
        if not options["dry_run"]:
            return load(name, source, replacing=options["replace"])
        report = preview(source, name)
        if not report.is_fine:
            raise BadLines(source.files, report.problems, report.wrong, report.hints)
        return report


def _source(options: dict[str, Any]) -> Source:
    first, *further = options["file"]
    return Source(
        file=first,
        format=options["format"],
        kind=options["type"],
        durations=durations_in(options["durations"]) if options["durations"] else None,
        media=_media(options["media"], options["fps"]),
        columns=_columns(options["columns"]),
        further=tuple(further),
        leaves_out_unusable=options["leave_out_unusable"],
    )


def _media(folder: str | None, fps: float | None) -> MediaFolder | None:
    if fps is not None and not 0 < fps <= 1000:
        raise CorpusError(f"--fps {fps:g}: expected frames a second, more than 0 and at most 1000")
    return media_at(folder, fps) if folder else None


def _columns(pairs: list[str]) -> dict[str, str]:
    columns = {}
    for pair in pairs:
        field, equals, column = pair.partition("=")
        if not (field and equals and column):
            raise CorpusError(f"--columns {pair}: expected FIELD=COLUMN, such as video=movie")
        columns[field.strip()] = column.strip()
    return columns


def _summary(options: dict[str, Any], report: Report, took: float) -> str:
    lines = [
        f"{options['name']}: {report.rows:,} moments in {report.videos:,} videos read in {took:.1f} s",
        f"  new: {report.new:,}, changed: {report.changed:,}, unchanged: {report.unchanged:,}, "
        f"gone: {report.gone:,}, twice in the file: {report.repeated:,}",
    ]
    if report.clipped:
        lines.append(f"  cut off at the video's end: {report.clipped:,}")
    lines += [f"  left out, because {reason}: {number:,}" for reason, number in sorted(report.left_out.items())]
    if options["dry_run"]:
        return "\n".join([*lines, "  nothing was stored, because this was a dry run"])
    lines.insert(1, f"  added: {report.moments_added:,} moments, {report.videos_added:,} videos")
    if report.changed:
        lines.append(_line_of_changes(report, options["replace"]))
    if report.gone:
        lines.append("  gone moments stay stored")
    return "\n".join([*lines, f"  videos with media: {report.with_media:,}"])


def _line_of_changes(report: Report, replacing: bool) -> str:
    if not replacing:
        return "  changed descriptions stand beside the stored ones; --replace puts them in their place"
    stay = report.changed - report.replaced
    line = f"  changed moments that were replaced: {report.replaced:,}"
    return f"{line}; that stay, because something refers to them: {stay:,}" if stay else line
