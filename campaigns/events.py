"""What happened in a campaign, told to whoever registered for it, in the transaction in which it happens.

Who tells knows nothing of who listens: apps above register a function when Django starts, as they do with jobs.
"""

from collections.abc import Callable
from typing import Any

from django.db.models import TextChoices


class Happened(TextChoices):
    BATCH_SETTLED = "batch.settled", "a batch is settled"
    QUERY_CLOSED = "query.closed", "a query is closed"
    RELEASE_FROZEN = "release.frozen", "a release is frozen"
    RUN_SCORED = "run.scored", "a run is scored"


About = dict[str, Any]
Listener = Callable[[int, Happened, About], None]
LISTENERS: list[Listener] = []


def listens(listener: Listener) -> Listener:
    """Register the decorated function. It gets the campaign's primary key, what happened, and to what."""
    LISTENERS.append(listener)
    return listener


def tell(campaign: int, what: Happened, **about: object) -> None:
    """Tell all who listen. Call this in the transaction that makes it true."""
    for listener in LISTENERS:
        listener(campaign, what, about)
