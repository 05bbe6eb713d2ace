from importlib import import_module

from django.apps import AppConfig
from django.conf import settings

# The modules that register something when Django starts: kinds of job, upkeep, what `serve` says and checks, who
# listens to what happens in a campaign, and what the audit checks.
REGISTERING = (
    *("corpus.counting", "corpus.features"),
    *("campaigns.uploads", "campaigns.webhooks"),
    *("campaigns.accounts.adapter", "campaigns.accounts.invitations", "campaigns.accounts.mails"),
    *("retrieval.rewriting.cast_file", "retrieval.rewriting.counting", "retrieval.rewriting.substituting"),
    *("retrieval.search.searching", "retrieval.simcse.making"),
    *("judging.drafts.builder", "judging.pool.clips", "judging.pool.ranking", "judging.pool.rewording"),
    *("judging.review.actions", "judging.review.reopening"),
    *("reports.digest", "reports.summaries"),
    *("releases.archive", "releases.freezing", "releases.training"),
    *("runs.receiving", "runs.scoring", "runs.pools.comparing", "runs.pools.enlarging", "runs.reliability.inquiries"),
    *("runs.estimates.endpoint", "runs.estimates.predictors", "runs.estimates.watches", "runs.estimates.worth"),
    *("runs.board.held_back", "runs.rejudging", "runs.systems.orders", "runs.systems.training"),
    "config.operations.schema",
)


class OperationsConfig(AppConfig):
    """The commands of those who run an installation, and what all apps register."""

    name = "config.operations"

    def ready(self) -> None:
        from campaigns.accounts import security_log
        from systems.neural.device import choose

        for module in REGISTERING:
            import_module(module)
        security_log.listen()
        choose(settings.DEVICE)
