from django.apps import AppConfig


class LeadConfig(AppConfig):
    name = "lead"

    def ready(self) -> None:
        from lead.making import building  # noqa: F401 - registers kinds of job, and upkeep
