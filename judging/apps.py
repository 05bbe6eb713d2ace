from django.apps import AppConfig


class JudgingConfig(AppConfig):
    name = "judging"

    def ready(self) -> None:
        # These register kinds of job.
        from judging.drafts import builder  # noqa: F401
        from judging.pool import clips, ranking, rewording  # noqa: F401
        from judging.review import reopening  # noqa: F401
