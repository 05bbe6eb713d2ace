"""Run a notebook without Jupyter: `python -m tests.metrics.notebooks FILE` stores what its cells show in it.

The module needs Python's own library alone, so that a test can run it where nothing but the wheel is installed.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def outputs_of(file: Path) -> list[list[dict[str, Any]]]:
    """What each cell of code shows: what it prints, and the value of its last expression. A line of pip is not run."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    known: dict[str, Any] = {}
    sources = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return [[] if source.startswith("%pip ") else _outputs(source, known) for source in sources]


def _outputs(source: str, known: dict[str, Any]) -> list[dict[str, Any]]:
    tree, value, out = ast.parse(source), None, io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, "cell", "exec"), known)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), known)
    outputs: list[dict[str, Any]] = []
    if printed := out.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"data": data, "metadata": {}, "output_type": "execute_result"})
    return outputs


def stored_in(file: Path) -> list[list[dict[str, Any]]]:
    """What the notebook has stored of each cell of code, without the cells' numbers."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return [
        [{name: value for name, value in output.items() if name != "execution_count"} for output in cell["outputs"]]
        for cell in cells
        if cell["cell_type"] == "code"
    ]


def store(file: Path) -> None:
    notebook = json.loads(file.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(code, outputs_of(file), strict=True), 1):
        cell["execution_count"] = number
        cell["outputs"] = [
            output | ({"execution_count": number} if output["output_type"] == "execute_result" else {})
            for output in outputs
        ]
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "--check" in sys.argv:
        path = Path(sys.argv[1])
        for outputs, stored in zip(outputs_of(path), stored_in(path), strict=True):
            assert outputs == stored, f"outputs: {outputs}\nstored: {stored}"
    else:
        import metrics

        sys.modules["reeljudge"] = metrics  # its name where it is installed
        store(Path(sys.argv[1]))
