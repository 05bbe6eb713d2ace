from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"

    def ready(self) -> None:
        # These register kinds of job, and upkeep.
        from retrieval.rewriting import cast_file, counting, substituting  # noqa: F401
        from retrieval.search import searching  # noqa: F401
        from retrieval.simcse import making  # noqa: F401
