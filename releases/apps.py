from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "releases"

    def ready(self) -> None:
        # These register kinds of job, and what the audit checks.
        from releases import freezing, training, verifying  # noqa: F401
