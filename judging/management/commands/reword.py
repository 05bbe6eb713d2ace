"""manage.py reword: turn the descriptions of a corpus into captions without names."""

import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from corpus.models import Corpus
from jobs.models import Job
from jobs.running import Progress, run, worker_name
from judging.pool.rewording import By, ask_for_rewording
from retrieval.models import CastName, Rewording, Substitution
from retrieval.rewriting.cast_file import read_cast, store_cast
from retrieval.rewriting.counting import estimate

SECONDS_BETWEEN_LOOKS = 1


class Command(ReeljudgeCommand):
    help = "Reword the descriptions of a corpus by a cast list or by a chat endpoint. A stopped command goes on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("corpus")
        parser.add_argument("--cast", type=Path, help="a cast list, CSV or JSON, which is stored first")
        parser.add_argument("--chat", action="store_true", help="ask the chat endpoint of the settings")
        parser.add_argument("--confirm", action="store_true", help="say that every name of the draft is right as it is")
        parser.add_argument("--again", action="store_true", help="make verified captions again")
        parser.add_argument("--estimate", action="store_true", help="print what the endpoint will cost, and end")
        parser.add_argument("--later", action="store_true", help="leave the work to a worker")

    def handle(self, **options: Any) -> None:
        corpus = Corpus.objects.named(options["corpus"])
        if options["estimate"]:
            return self._estimate(corpus, options["again"])
        if options["cast"]:
            store_cast(corpus, read_cast(options["cast"]))
        if options["confirm"]:
            drafted = CastName.objects.filter(corpus=corpus, confirmed=False).exclude(phrase="", stays=False)
            self.stdout.write(f"{corpus}: {drafted.update(confirmed=True):,} drafted names confirmed")
        if options["chat"]:
            self._estimate(corpus, options["again"])
        job = ask_for_rewording(corpus, By.CHAT if options["chat"] else By.CAST, again=options["again"])
        if options["later"]:
            return self.stdout.write(f"{job}: {job.state}; a worker does the rest (the command worker)")
        self._work(job)
        return self._tell(corpus)

    def _estimate(self, corpus: Corpus, again: bool) -> None:
        found = estimate(corpus, again)
        self.stdout.write(
            f"{corpus}: {found.descriptions:,} descriptions to reword in about {found.requests:,} requests; about "
            f"{found.input_tokens:,} tokens to send and {found.output_tokens:,} to get, cost {found.cost:.4f}"
        )

    def _work(self, job: Job) -> None:
        """Do the job here, or follow it if a worker was faster."""
        show = Progress(sys.stdout)
        while True:
            if mine := Job.objects.take(worker_name(), pk=job.pk):
                run(mine, show)
            job.refresh_from_db()
            if job.state == Job.State.DONE:
                return
            if job.has_failed or job.is_delayed:
                raise ReeljudgeError(f"{job}: {job.error}")
            show(job)
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def _tell(self, corpus: Corpus) -> None:
        rows = Rewording.objects.filter(corpus=corpus)
        order = Substitution.objects.filter(corpus=corpus).latest("pk")
        summary = f"{corpus}: {rows.count():,} distinct descriptions; {rows.settled().count():,} are captions now, "
        summary += f"{rows.queued().count():,} wait for a lead"
        if order.by == By.CHAT:
            summary += f"\n  {order.requests:,} requests, {order.retries:,} of them again; {order.input_tokens:,} "
            summary += f"tokens sent and {order.output_tokens:,} got, cost {order.cost:.4f}"
        self.stdout.write(summary)
