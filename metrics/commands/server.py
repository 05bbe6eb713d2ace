"""``submit``, ``scores``, ``leaderboard``, ``download``: runs and files of a Reeljudge on a server."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..formats import RUN_FORMATS, TASKS
from ..formats.errors import MeasureError
from . import inputs, tables

if TYPE_CHECKING:
    from .. import Client

ABOUT = {
    "system": "whose run it is",
    "group": "the same for runs of a system that differ by their seed",
    "description": "in your words",
    "paper": "its address",
    "code": "its address",
}
CHOICES = {
    "convention": "whose way of computing (default: paper)",
    "sort": "a measure, or run",
    "split": "only queries of this split",
    "length": "only short, middle or long queries",
    "relevant": "only queries with few, some or many relevant moments",
}
WIDTHS = ("value", "low", "high", "spread")


def add(commands: Any) -> None:
    add_submit(_command(commands, "submit", "send a run to a server, and wait for its scores", submit))
    add_scores(_command(commands, "scores", "the scores of a run on a server", scores))
    add_leaderboard(_command(commands, "leaderboard", "the runs of a campaign on a server", leaderboard))
    add_download(_command(commands, "download", "a file of a campaign on a server", download))


def _command(commands: Any, name: str, what: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=what)
    parser.add_argument("campaign", help="its name")
    parser.add_argument("--address", help="of the server (default: what REELJUDGE_ADDRESS holds)")
    parser.add_argument("--token", help="default, and better: what REELJUDGE_TOKEN holds")
    parser.set_defaults(run=run)
    return parser


def add_submit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", metavar="RUN", help="the run, plain or packed by gzip")
    parser.add_argument("--name", help="no other run has it (default: the file's name)")
    for name, what in ABOUT.items():
        parser.add_argument(f"--{name}", help=what)
    parser.add_argument("--visibility", choices=("private", "shared", "public"), help="default: shared")
    parser.add_argument("--format-run", choices=RUN_FORMATS, help="default: told from the file")
    parser.add_argument("--task", choices=TASKS, help="which list of a TVRetrieval submission")
    parser.add_argument("--videos", metavar="FILE", help="video index, for runs that name videos by number")
    parser.add_argument("--convention", default="paper", help="of the table (default: paper)")
    inputs.add_format(parser)


def add_scores(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", metavar="RUN", type=inputs.whole(1), help="the run's number")
    parser.add_argument("--release", type=inputs.whole(1), help="default: the newest")
    parser.add_argument("--convention", default="paper", help="of the table (default: paper)")
    inputs.add_format(parser)


def add_leaderboard(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--measures", nargs="+", default=[], metavar="MEASURE", help="the columns")
    parser.add_argument("--release", type=inputs.whole(1), help="default: the newest")
    parser.add_argument("--baseline", type=inputs.whole(1), metavar="RUN", help="the number of a run")
    parser.add_argument("--seeds", action="store_true", help="the runs of one system as one row")
    for name, what in CHOICES.items():
        parser.add_argument(f"--{name}", help=what)
    inputs.add_format(parser)


def add_download(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--export", metavar="NAME", help="a file of the present state, such as qrels.jsonl")
    what.add_argument("--release", type=inputs.whole(1), metavar="VERSION", help="the zip of a release")
    what.add_argument("--run", dest="number", type=inputs.whole(1), metavar="NUMBER", help="a run as it was sent")
    parser.add_argument("--out", metavar="FILE", help="default: a name that says what it is")


def client_of(args: argparse.Namespace) -> "Client":
    from .. import Client

    return Client(args.address, args.token)


def submit(args: argparse.Namespace) -> None:
    from .. import RunRefused

    about = {name: getattr(args, name) for name in (*ABOUT, "visibility", "task")} | {"format": args.format_run}
    with client_of(args) as client:
        try:
            stored = client.submit(args.campaign, args.run_file, name=args.name, videos=args.videos, **about)
        except RunRefused as refusal:
            print("\n".join(refusal.messages), file=sys.stderr)
            raise
        print_scores(args, stored, client.scores(args.campaign, stored["number"]))


def scores(args: argparse.Namespace) -> None:
    with client_of(args) as client:
        found = client.scores(args.campaign, args.number, args.release)
        print_scores(args, client.run(args.campaign, args.number), found)


def print_scores(args: argparse.Namespace, run: dict[str, Any], found: dict[str, Any]) -> None:
    """The scores of all conventions as JSON or CSV, or those of one as a table."""
    from ..client.requests import one_line

    if args.format == "json":
        tables.print_json({"run": run["number"], "name": run["name"], **found})
        return
    if args.format == "csv":
        rows = [{"run": run["number"], "release": found["release"], **score} for score in found["scores"]]
        tables.print_csv(["run", "release", "convention", "measure", *WIDTHS], rows)
        return
    where = "no release yet" if found["release"] is None else f"release {found['release']}"
    print(f"run {run['number']}, {one_line(run['name'])}: {where}, convention {args.convention}")
    rows = [
        {name: value for name, value in score.items() if name != "convention"}
        for score in found["scores"]
        if score["convention"] == args.convention
    ]
    if rows:
        tables.print_aligned(tables.plain(rows))
    elif found["release"] is not None:
        raise MeasureError(_why_nothing(args.convention, found))


def _why_nothing(convention: str, found: dict[str, Any]) -> str:
    known = ", ".join(dict.fromkeys(score["convention"] for score in found["scores"])) or "none"
    why = found["refusals"].get(convention, "it is not known there")
    return f"--convention {convention}: {why}; there are scores of {known}"


def leaderboard(args: argparse.Namespace) -> None:
    from ..client.requests import one_line

    choices = {name: getattr(args, name) for name in (*CHOICES, "release", "baseline")}
    with client_of(args) as client:
        found = client.leaderboard(args.campaign, args.measures, seeds=args.seeds, **choices)
    if args.format == "json":
        tables.print_json(found)
        return
    if args.format == "csv":
        rows = [
            {"run": one_line(row["name"]), "system": one_line(row["system"]), "measure": measure, **numbers}
            for row in found["rows"]
            for measure, numbers in row["scores"].items()
        ]
        tables.print_csv(["run", "system", "measure", *WIDTHS, "deviation", "difference", "p"], rows)
        return
    about = f"release {found['release']}, convention {found['convention']}, {found['queries']} queries"
    print(f"{found['campaign']}, {about}")
    rows = [
        {"run": one_line(row["name"])}
        | {measure: numbers.get("value") for measure, numbers in row["scores"].items()}
        | row["judged"]
        for row in found["rows"]
    ]
    print("\n".join(tables.aligned(tables.plain(rows))) if rows else "no runs")


def download(args: argparse.Namespace) -> None:
    with client_of(args) as client:
        if args.export:
            to = args.out or f"{args.campaign}-{Path(args.export).name}"
            client.download_export(args.campaign, args.export, to)
        elif args.release:
            to = args.out or f"{args.campaign}-v{args.release}.zip"
            client.download_release(args.campaign, args.release, to)
        else:
            run = client.run(args.campaign, args.number)
            to = args.out or f"{args.campaign}-run{args.number}-{Path(run['filename']).name}"
            client.download_run(args.campaign, args.number, to)
    print(to)
