from django.apps import AppConfig
from django.conf import settings


class OperationsConfig(AppConfig):
    """The commands of those who run an installation."""

    name = "config.operations"

    def ready(self) -> None:
        from accounts import security_log
        from systems.neural.device import choose

        security_log.listen()
        choose(settings.DEVICE)
