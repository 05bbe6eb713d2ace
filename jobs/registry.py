"""Which function runs which kind of job. Apps register theirs when Django is ready."""

from collections.abc import Callable
from typing import Any, Protocol


class Report(Protocol):
    """How a running job tells how far it is, and keeps its lease."""

    def __call__(self, done: int, total: int, message: str = "") -> None: ...


Work = Callable[[dict[str, Any], Report], None]
KINDS: dict[str, Work] = {}


def kind(name: str) -> Callable[[Work], Work]:
    """Register the decorated function as the work of jobs of kind `name`. It must be idempotent."""

    def register(work: Work) -> Work:
        KINDS[name] = work
        return work

    return register
