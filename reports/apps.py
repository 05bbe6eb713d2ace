from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports"

    def ready(self) -> None:
        from reports import summaries  # noqa: F401 - registers the kinds of job
