"""manage.py train_system: train a system for a campaign, and submit what it finds as a run."""

from argparse import ArgumentParser
from dataclasses import fields
from typing import Any

from base.commands import ReeljudgeCommand, user_named
from base.errors import BadValue, ReeljudgeError
from campaigns.models import Campaign, Membership
from corpus.errors import CorpusError
from corpus.features import DESCRIPTOR
from jobs.models import Job
from jobs.running import work_off_one
from runs.systems.models import TrainedSystem
from runs.systems.orders import ENCODER, LEARNED, Wanted, ask_again, ask_to_train
from runs.systems.training import train_system
from systems.errors import SystemsError
from systems.features.reader import CLIPS_MEANING, FIT_MEANING, FITS, STRICT, UNIT_MEANING
from systems.interface import SYSTEMS

ORDERED = ("system", "features", "clip_seconds", "fit", "unit_rows", "depth")  # of what is wanted, that rows keep


class Command(ReeljudgeCommand):
    refusals = (CorpusError, SystemsError)
    help = "Ask for a system to be trained for a campaign, and its run submitted; a worker does it, or --now does."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("system", choices=SYSTEMS)
        parser.add_argument("--by", required=True, help="the lead or researcher whose run it becomes")
        parser.add_argument("--name", help="of the run; by default that of the system")
        parser.add_argument(
            "--features",
            default=DESCRIPTOR,
            help=f"a set of features of the corpus ({DESCRIPTOR}: its films’ own), or some of files with +; behind one "
            f"may stand @ with {CLIPS_MEANING}",
        )
        parser.add_argument("--fit", choices=FITS, default=STRICT, help=FIT_MEANING)
        parser.add_argument("--unit", action="store_true", help=UNIT_MEANING)
        parser.add_argument("--clip-seconds", type=float, default=Wanted.clip_seconds, help="length of a clip (1)")
        parser.add_argument(
            "--top", type=int, default=Wanted.depth, metavar="N", help="moments of each training query (20)"
        )
        parser.add_argument("--seeds", nargs="+", type=int, default=[1], help="one run is made with each (1)")
        parser.add_argument(
            "--set", nargs="+", default=[], metavar="OPTION=VALUE", help="options that are not the defaults"
        )
        parser.add_argument(
            "--word-vectors",
            choices=[LEARNED, ENCODER],
            default=LEARNED,
            help="learned with the system (the default), or those of the tokens by the campaign's encoder",
        )
        parser.add_argument("--now", action="store_true", help="train in this terminal, without a worker")

    def handle(self, **options: Any) -> None:
        rows = _rows(_member(options["campaign"], options["by"]), _wanted(options))
        for row in rows:
            job = train_system.jobs(row).get()
            if not options["now"]:
                self.stdout.write(f"system {row.number} ({row}): {job.state}; a worker does the rest")
            elif work_off_one(job):
                self._tell(row, job)
            else:
                self.stdout.write(f"system {row.number} ({row}): a worker has it already")

    def _tell(self, row: TrainedSystem, job: Job) -> None:
        job.refresh_from_db()
        if job.state != Job.State.DONE:
            raise ReeljudgeError(f"system {row.number} ({row}): {job.error or job.state}")
        row.refresh_from_db()
        if row.notice:
            self.stdout.write(row.notice)
        self.stdout.write(f"system {row.number} ({row}): its run is submitted; workers check and score it")


def _rows(member: Membership, wanted: Wanted) -> list[TrainedSystem]:
    """Return new systems, or those of the same name that were broken off, which go on."""
    names = [wanted.named(seed) for seed in wanted.seeds]
    there = list(member.campaign.systems.filter(name__in=names, by=member, submission=None, run=None))
    if len(there) < len(names):
        return ask_to_train(member, wanted)
    ordered = [(*(getattr(row, name) for name in ORDERED), row.encoder, row.options) for row in there]
    kept = (*(getattr(wanted, name) for name in ORDERED), wanted.encoder(member.campaign))
    same = [(*kept, wanted.stored_options(seed)) for seed in wanted.seeds]
    if sorted(map(repr, ordered)) != sorted(map(repr, same)):
        raise BadValue("--name", repr(wanted.name), "another name: systems of this one were begun with other options")
    for row in there:
        ask_again(row)
    return there


def _member(campaign: str, by: str) -> Membership:
    found, user = Campaign.objects.named(campaign), user_named(by)
    members = found.memberships.filter(user=user, role__in=Membership.SEES_ALL, state=Membership.State.ACTIVE)
    member = members.select_related("campaign__corpus").first()
    if member is None:
        raise ReeljudgeError(f"--by {by}: expected a lead or a researcher of campaign {campaign}")
    return member


def _wanted(options: dict[str, Any]) -> Wanted:
    return Wanted(
        system=options["system"],
        name=options["name"] or options["system"],
        features=options["features"],
        clip_seconds=options["clip_seconds"],
        fit=options["fit"],
        unit_rows=options["unit"],
        depth=options["top"],
        word_vectors=options["word_vectors"],
        seeds=options["seeds"],
        options=dict(_option(options["system"], each) for each in options["set"]),
    )


def _option(system: str, text: str) -> tuple[str, Any]:
    """Read `name=value` as a value of the option's type; what is no such value is refused later, by name."""
    name, equals, value = text.partition("=")
    if not equals:
        raise BadValue("--set", repr(text), "OPTION=VALUE, such as iterations=500")
    types: dict[str, Any] = {field.name: type(field.default) for field in fields(SYSTEMS[system].options)}
    kind = types.get(name, str)
    if kind is bool:
        return name, {"true": True, "false": False}.get(value.lower(), value)
    try:
        return name, kind(value)
    except ValueError:
        return name, value
