from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports"

    def ready(self) -> None:
        from reports import digest, summaries  # noqa: F401 - register the kinds of job, and upkeep
