"""The kinds of job that belong to leads' pages: checking the draft of a campaign, and making the campaign."""

from typing import Any

from base.errors import ReeljudgeError
from campaigns.models import Draft
from corpus.errors import CorpusError
from jobs.errors import JobError
from jobs.registry import Report, kind
from lead.making import building

CHECK, MAKE = "check a draft", "make a campaign"


@kind(CHECK)
def check_draft(arguments: dict[str, Any], report: Report) -> None:
    _carry_out(building.check, arguments, report)


@kind(MAKE)
def make_campaign(arguments: dict[str, Any], report: Report) -> None:
    _carry_out(building.make, arguments, report)


def _carry_out(work: building.Work, arguments: dict[str, Any], report: Report) -> None:
    draft = Draft.objects.filter(pk=arguments["draft"]).first()
    if draft is None:
        return  # It was removed.
    try:
        work(draft, report)
    except (CorpusError, ReeljudgeError) as fault:
        raise JobError(str(fault)) from fault
