from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"

    def ready(self) -> None:
        # These register kinds of job, upkeep, and what follows a release.
        from runs import receiving, scoring  # noqa: F401
        from runs.estimates import endpoint, predictors, watches, worth  # noqa: F401
        from runs.pools import comparing, enlarging  # noqa: F401
        from runs.reliability import inquiries  # noqa: F401
        from runs.systems import orders, training  # noqa: F401
