from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "campaigns"

    def ready(self) -> None:
        from campaigns import uploads  # noqa: F401 - registers upkeep
        from campaigns.accounts import (
            first,  # noqa: F401 - registers what `serve` says
            mails,  # noqa: F401 - registers the kind of job
            security_log,
            sessions,  # noqa: F401 - registers upkeep
        )
        from campaigns.webhooks import deliveries  # noqa: F401 - registers the kind of job, upkeep, and who listens

        security_log.listen()
