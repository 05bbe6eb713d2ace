"""Measures for video moment retrieval: scores of runs against graded relevance judgements, and what surrounds them.

Installed, the package is called `reeljudge`; in a checkout, `metrics`. It needs NumPy and SciPy, and nothing else.
Each name of `__init__.pyi` is imported when it is first used, so that `import reeljudge` costs nothing.

    from reeljudge import calc_aggregate
    calc_aggregate(["nDCG_IoU(iou=0.5)@20"], "qrels.jsonl", "run.json")
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_MODULE_OF = {
    name.name: f".{node.module}" for node in _STUB.body if isinstance(node, ast.ImportFrom) for name in node.names
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
