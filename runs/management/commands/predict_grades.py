"""manage.py predict_grades: add a predictor to a campaign from a file, or ask the chat endpoint; or write one out."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, written
from base.errors import ReeljudgeError
from campaigns.models import Campaign, Membership
from campaigns.uploads import append
from jobs.models import Job
from jobs.running import work_off_one
from metrics.formats.predicted import predicted_csv
from runs.estimates.endpoint import estimate
from runs.estimates.predictors import FRAMES, add_predictor, announce, begin
from runs.models import Predictor

AT_ONCE = 1 << 20  # bytes


class Command(ReeljudgeCommand):
    help = "Add predicted grades of a campaign's candidates, which are never grades. A stopped command goes on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("name", help="of the predictor")
        parser.add_argument("--by", help="the lead who adds it")
        parser.add_argument("--model", default="", help="what predicted the grades of the file")
        parser.add_argument("--frames", type=int, default=FRAMES, help=f"pictures of each clip ({FRAMES})")
        parser.add_argument("--later", action="store_true", help="leave the work to a worker")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--file", type=Path, help="a CSV or JSON lines with query, video, start, end and grade")
        what.add_argument("--chat", action="store_true", help="ask the chat endpoint of the settings")
        what.add_argument("--estimate", action="store_true", help="print what the endpoint will cost for the rest")
        what.add_argument("--out", type=Path, help="write the predicted grades that are stored to this file")

    def handle(self, **options: Any) -> None:
        campaign = Campaign.objects.named(options["campaign"])
        predictor = campaign.predictors.filter(name=options["name"]).first()
        if options["out"]:
            return self._write(_known(predictor, options["name"]), options["out"])
        if options["estimate"]:
            return self._estimate(_known(predictor, options["name"]))
        source = Predictor.Source.CHAT if options["chat"] else Predictor.Source.FILE
        about = {each: options[each] for each in ("model", "frames")}
        predictor = predictor or add_predictor(_lead(campaign, options["by"]), options["name"], source, **about)
        if options["file"]:
            _send(predictor, options["file"])
        else:
            self._estimate(predictor)
        return self._work(predictor, begin(predictor), options["later"])

    def _write(self, predictor: Predictor, file: Path) -> None:
        with written("--out", file), file.open("w", encoding="utf-8") as out:
            out.writelines(predicted_csv(predictor.rows()))
        self.stdout.write(f"{file}: the grades that {predictor} predicts")

    def _estimate(self, predictor: Predictor) -> None:
        found = estimate(predictor)
        self.stdout.write(
            f"{predictor}: {found.candidates:,} candidates to ask for; about {found.input_tokens:,} tokens to send and "
            f"{found.output_tokens:,} to get, cost {found.cost:.4f}"
        )

    def _work(self, predictor: Predictor, job: Job, later: bool) -> None:
        if later:
            return self.stdout.write(f"{job}: a worker does the rest (the command worker)")
        work_off_one(job, self.stdout)  # type: ignore[arg-type]
        for row in (job, predictor):
            row.refresh_from_db()
        if job.state != Job.State.DONE:
            raise ReeljudgeError(f"{job}: {job.error or 'a worker is at it'}")
        if predictor.fault:
            raise ReeljudgeError(f"--file: {predictor.fault}; nothing was stored")
        rows = list(predictor.predicted.all())
        grades, faults = sum(len(row.grades) for row in rows), sum(len(row.faults) for row in rows)
        return self.stdout.write(
            f"{predictor}: {grades:,} predicted grades, {faults:,} candidates without; cost {predictor.cost:.4f}"
        )


def _known(predictor: Predictor | None, name: str) -> Predictor:
    if predictor is None:
        raise ReeljudgeError(f"{name}: the campaign has no predictor of this name")
    return predictor


def _lead(campaign: Campaign, name: str | None) -> Membership:
    leads = campaign.memberships.filter(role=Membership.Role.LEAD).select_related("user", "campaign")
    if found := leads.filter(user__username=name or "").first():
        return found
    known = ", ".join(lead.user.get_username() for lead in leads[:20])
    raise ReeljudgeError(f"--by {name or 'nobody'}: expected a lead of {campaign}: {known}")


def _send(predictor: Predictor, path: Path) -> None:
    """Send the file as a browser does, so that the same limits hold."""
    try:
        size = path.stat().st_size
        file = announce(predictor, path.name, size)
        with path.open("rb") as content:
            content.seek(file.received)
            while piece := content.read(AT_ONCE):
                file = append(file, file.received, piece)
    except OSError as fault:
        raise ReeljudgeError(f"--file {path}: cannot be read ({fault.strerror})") from fault
