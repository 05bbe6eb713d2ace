from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "campaigns"

    def ready(self) -> None:
        from campaigns.accounts import (
            mails,  # noqa: F401 - registers the kind of job
            security_log,
            sessions,  # noqa: F401 - registers upkeep
        )

        security_log.listen()
