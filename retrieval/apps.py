from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"

    def ready(self) -> None:
        from retrieval import jobs  # noqa: F401 - registers the kinds of job
        from retrieval.search import jobs as searching  # noqa: F401
