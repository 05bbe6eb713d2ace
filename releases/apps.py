from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "releases"

    def ready(self) -> None:
        from releases import jobs  # noqa: F401 - registers the kinds of job
