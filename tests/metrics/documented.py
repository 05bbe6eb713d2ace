"""The examples of docs/measures.md, and the files that they name."""

import json
import re
from pathlib import Path

from tests.metrics.shared import ROOT, write

TEXT = (ROOT / "docs" / "measures.md").read_text()
PRINTED = "{nDCG_IoU(iou=0.5)@20: 1.0, AxIoU@5: 0.8}"  # by the first line of the example in Python


def python_example() -> str:
    """The example in Python, as it stands for somebody who has installed the library."""
    block = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert block
    return block[1]


def shell_examples() -> list[str]:
    """The lines of the example for a shell; each begins with `reeljudge`."""
    lines = [line for line in re.findall(r"^reeljudge .*$", TEXT, re.MULTILINE) if line]
    assert len(lines) >= 6
    return lines


def write_files(folder: Path) -> None:
    """Small files under the names that the examples use."""
    pairs = [
        {"query_id": q, "query": "", "video_name": v, "timestamp": [0, 10 * n], "relevance": n}
        for q in range(8)
        for n, v in enumerate("abc", 1)
    ]
    write(folder / "qrels.jsonl", "\n".join(map(json.dumps, pairs)))
    pool = [{"query_id": q, "candidates": [f"{v}@0-{n}0000" for n, v in enumerate("abc", 1)]} for q in range(8)]
    write(folder / "pool.jsonl", "\n".join(map(json.dumps, pool)))
    for shift, name in enumerate(("run", "a", "b", "c")):
        found = {
            str(q): [
                {"video_name": v, "timestamp": [q % 3, 10 * n - shift * (q + n) % 5], "model_scores": 9 - n}
                for n, v in enumerate("cab" if (q + shift) % 3 else "bca", 1)
            ]
            for q in range(8)
        }
        write(folder / f"{name}.json", found)
    ratings = [f"{pair},{worker},{(pair + worker) % 5}" for pair in range(40) for worker in (1, 2)]
    write(folder / "raw_annotation.csv", "pair_id,worker,relevance\n" + "\n".join(ratings))
