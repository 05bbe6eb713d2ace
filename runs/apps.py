from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"

    def ready(self) -> None:
        # These register kinds of job, upkeep, and what follows a release.
        from runs import receiving, resampling, scoring  # noqa: F401
        from runs.believe import inquiries  # noqa: F401
        from runs.pools import comparing, opening, proposing  # noqa: F401
        from runs.systems import searches, training  # noqa: F401
