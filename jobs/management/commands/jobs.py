"""manage.py jobs: list jobs, have them tried again now, or end them."""

from argparse import ArgumentParser
from typing import Any

from django.db.models import QuerySet
from django.utils.timezone import localtime

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from base.text import printable
from jobs.models import Job
from jobs.registry import KINDS

MOST_LISTED = 100
HEAD = ("number", "state", "kind", "label", "subject", "progress", "")


class Command(ReeljudgeCommand):
    help = "List the jobs that are not done, or those that are asked for; with --retry or --end, do that to them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="numbers of jobs")
        parser.add_argument("--state", choices=Job.State.values)
        parser.add_argument("--kind", help="such as cut-clips")
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--retry", action="store_true", help="try failed and waiting jobs again now")
        act.add_argument("--end", action="store_true", help="end waiting and running jobs; they count as failed")

    def handle(self, **options: Any) -> None:
        jobs = self._asked_for(options["numbers"], options["state"], options["kind"])
        if not (options["retry"] or options["end"]):
            self._list(jobs)
        elif not (options["numbers"] or options["state"] or options["kind"]):
            raise ReeljudgeError("which jobs? Name them by number, --state or --kind")
        else:
            act = _retry if options["retry"] else _end
            for job in jobs.iterator(chunk_size=500):
                self.stdout.write(f"{job.pk} {printable(str(job))}: {act(job)}")

    def _asked_for(self, numbers: list[int], state: str | None, kind: str | None) -> QuerySet[Job]:
        known = {*KINDS, *Job.objects.values_list("kind", flat=True).distinct()}
        if kind and kind not in known:
            raise ReeljudgeError(f"--kind {kind!r}: expected {', '.join(sorted(known))}")
        chosen = {"kind": kind, "state": state, "pk__in": numbers}
        jobs = Job.objects.filter(**{name: value for name, value in chosen.items() if value}).order_by("pk")
        if numbers:
            there = Job.objects.filter(pk__in=numbers).values_list("pk", flat=True)
            if unknown := sorted(set(numbers) - set(there)):
                raise ReeljudgeError(f"there is no job {', '.join(map(str, unknown))}")
            return jobs
        jobs = jobs if kind else jobs.whole()
        return jobs if state else jobs.exclude(state=Job.State.DONE)

    def _list(self, jobs: QuerySet[Job]) -> None:
        """Print a line for each job, and its error below it."""
        listed = list(jobs[:MOST_LISTED])
        if not listed:
            self.stdout.write("no such jobs")
            return
        rows = [HEAD, *(_row(job) for job in listed)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row, error in zip(rows, ["", *(job.error for job in listed)], strict=True):
            self.stdout.write("  ".join(map(str.ljust, row, widths)).rstrip())
            if error:
                self.stdout.write(f"{'':{widths[0]}}  {printable(error)}")
        if more := jobs.count() - len(listed):
            self.stdout.write(f"… and {more:,} more; --state and --kind choose among them")


def _row(job: Job) -> tuple[str, ...]:
    texts = map(printable, (job.kind, job.label, job.subject or job.key))
    return (str(job.pk), job.state, *texts, f"{job.done}/{job.total}", _when(job))


def _when(job: Job) -> str:
    if job.is_running:
        return f"by {printable(job.worker)} since {localtime(job.started):%Y-%m-%d %H:%M:%S}"
    if job.is_delayed:
        return f"next attempt at {localtime(job.due):%Y-%m-%d %H:%M:%S}"
    return f"since {localtime(job.ended):%Y-%m-%d %H:%M:%S}" if job.ended and not job.is_unfinished else ""


def _retry(job: Job) -> str:
    if job.state == Job.State.RUNNING:
        return "it is running"
    job.try_again()
    return "asked for again"


def _end(job: Job) -> str:
    return "ended" if job.end() else f"it is {job.state} already"
