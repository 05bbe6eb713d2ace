from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"

    def ready(self) -> None:
        from runs import (
            jobs,  # noqa: F401 - registers the kinds of job
            receiving,  # noqa: F401 - registers upkeep
            scoring,  # noqa: F401 - registers what follows a release
        )
        from runs.systems import jobs as jobs_of_systems  # noqa: F401 - registers the kinds of job, and upkeep
