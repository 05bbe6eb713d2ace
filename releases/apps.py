from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "releases"

    def ready(self) -> None:
        # These register kinds of job.
        from releases import freezing, verifying  # noqa: F401
        from releases.training import sets  # noqa: F401
