from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "api"

    def ready(self) -> None:
        from api import repeating  # noqa: F401 - registers upkeep
        from api.webhooks import announcing  # noqa: F401 - registers the kind of job, and who listens
