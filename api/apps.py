from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "api"

    def ready(self) -> None:
        from api import (
            jobs,  # noqa: F401 - registers the kind of job
            repeating,  # noqa: F401 - registers upkeep
        )
