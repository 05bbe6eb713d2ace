"""The kind of job that counts a campaign's numbers."""

from typing import Any

from campaigns.models import Campaign
from jobs.registry import Report, kind
from reports.summaries import COUNT, keep


@kind(COUNT)
def count_agreement(arguments: dict[str, Any], report: Report) -> None:
    keep(Campaign.objects.get(pk=arguments["campaign"]))
