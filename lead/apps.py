from django.apps import AppConfig


class LeadConfig(AppConfig):
    name = "lead"

    def ready(self) -> None:
        from lead import jobs  # noqa: F401 - registers the kinds of job
