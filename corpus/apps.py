from django.apps import AppConfig


class CorpusConfig(AppConfig):
    name = "corpus"

    def ready(self) -> None:
        from corpus import counting, features  # noqa: F401 - these register kinds of job
