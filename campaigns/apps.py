from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "campaigns"

    def ready(self) -> None:
        from campaigns import (
            uploads,  # noqa: F401 - registers upkeep
            webhooks,  # noqa: F401 - registers the kind of job, upkeep, and who listens
        )
        from campaigns.accounts import (
            adapter,  # noqa: F401 - registers upkeep
            invitations,  # noqa: F401 - registers what `serve` says
            mails,  # noqa: F401 - registers the kind of job
            security_log,
        )

        security_log.listen()
