"""The kind of job that computes a campaign's summaries."""

from typing import Any

from campaigns.models import Campaign
from jobs.registry import Report, kind
from reports.summaries import COUNT, store_summaries


@kind(COUNT)
def count_agreement(arguments: dict[str, Any], report: Report) -> None:
    store_summaries(Campaign.objects.get(pk=arguments["campaign"]))
