"""Write the vectors of the demo's captions and queries."""

from __future__ import annotations

import numpy as np

from demo.management.commands.demo import VECTORS
from retrieval.encoders import fingerprint
from retrieval.models import Vector
from systems.encoders import BUNDLED


def write_vectors() -> None:
    """Write the vectors that a database has which holds the demo and nothing else."""
    rows = list(Vector.objects.filter(model=fingerprint(BUNDLED)).order_by("hash").values_list("hash", "values"))
    values = np.stack([np.frombuffer(each, "<f4") for _, each in rows])
    np.savez_compressed(VECTORS, hashes=np.array([hash for hash, _ in rows]), values=values.astype("<f2"))
