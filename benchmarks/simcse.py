"""`train_simcse` twice with one seed, on captions of ActivityNet: the weights must be the same, to the last bit."""

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import SHARED, need
from benchmarks.ranking import activitynet
from retrieval.encoders import weights_hash
from retrieval.simcse.training import Recipe, load_base, train
from systems.encoders import BUNDLED

CAPTIONS, SEEDS = 320, (1, 1, 2)


def figures() -> Iterator[str]:
    need(SHARED.is_dir())
    captions = random.Random(1).sample(sorted({caption for *_, caption in activitynet()}), CAPTIONS)
    found = []
    for seed in SEEDS:
        began = time.perf_counter()
        found.append(_trained(captions, Recipe(seed=seed)))
        yield f"seed {seed}: {CAPTIONS} captions, {time.perf_counter() - began:.0f} s, weights {found[-1][:16]}"
    first, again, other = found
    yield f"one seed, the same weights: {'yes' if first == again else 'NO'}"
    yield f"another seed, other weights: {'yes' if first != other else 'NO'}"


def _trained(captions: list[str], recipe: Recipe) -> str:
    """Return the SHA-256 of the weights that a training stores."""
    with tempfile.TemporaryDirectory() as folder:
        model = load_base(BUNDLED)
        train(model, captions, recipe, Path(folder) / "work")
        model.save_pretrained(str(Path(folder) / "model"), create_model_card=False)
        return weights_hash(str(Path(folder) / "model"))
