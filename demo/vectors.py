"""The vectors of the demo's captions and queries, so that the demo can be ranked where no encoder is installed."""

from pathlib import Path

import numpy as np

from retrieval.encoders import fingerprint
from retrieval.models import Vector
from systems.encoders import BUNDLED

FILE = Path(__file__).parent / "films" / "vectors.npz"


def store() -> None:
    """Store the vectors as those of the bundled model, from which they differ by the rounding to 16 bits."""
    with np.load(FILE, allow_pickle=False) as file:
        hashes, values = file["hashes"], file["values"].astype("<f4")
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    model = fingerprint(BUNDLED)
    rows = [Vector(model=model, hash=str(hash), values=row.tobytes()) for hash, row in zip(hashes, values, strict=True)]
    Vector.objects.bulk_create(rows, ignore_conflicts=True)


def write(file: Path = FILE) -> None:
    """Write the vectors that a database has which holds the demo and nothing else."""
    rows = list(Vector.objects.filter(model=fingerprint(BUNDLED)).order_by("hash").values_list("hash", "values"))
    values = np.stack([np.frombuffer(each, "<f4") for _, each in rows])
    np.savez_compressed(file, hashes=np.array([hash for hash, _ in rows]), values=values.astype("<f2"))
