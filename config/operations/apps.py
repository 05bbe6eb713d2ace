from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """The commands of those who run an installation."""

    name = "config.operations"

    def ready(self) -> None:
        from config.operations import schema  # noqa: F401 - registers what `serve` checks when it starts
