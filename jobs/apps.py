from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class JobsConfig(AppConfig):
    """Imports the module `jobs` of each app, which names the modules that register jobs, upkeep and listeners."""

    name = "jobs"

    def ready(self) -> None:
        autodiscover_modules("jobs")
