"""The functions that run the kinds of job. Each app registers its own when Django starts."""

from collections.abc import Callable
from typing import Any, Protocol


class Report(Protocol):
    """The function by which a running job reports its progress, which also renews its lease."""

    def __call__(self, done: int, total: int, message: str = "") -> None: ...


Work = Callable[[dict[str, Any], Report], None]
KINDS: dict[str, Work] = {}


def kind(name: str) -> Callable[[Work], Work]:
    """Register the decorated function as the one that runs jobs of this kind. It must be idempotent."""

    def register(work: Work) -> Work:
        KINDS[name] = work
        return work

    return register
