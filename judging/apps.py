from django.apps import AppConfig


class JudgingConfig(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from judging import jobs  # noqa: F401 - registers the kinds of job
        from judging.drafts import jobs as jobs_of_drafts  # noqa: F401 - registers the kinds of job
