"""The demo's trained systems: jobs behind the running demo train them on its captions, and submit their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from campaigns.models import Membership
from corpus.features import DESCRIPTOR
from runs.systems.orders import Wanted, ask_to_train
from runs.systems.training import train_system

CLIP_SECONDS = 1.0  # the films' moments are of 2 to 11 seconds
DEPTH = 5  # moments of each training query; with more, the few that a film shows become many that only sound alike
ALIKE = {"shortest": 2, "longest": 8, "nms": 0.3}  # the moments of a film do not overlap
MINUTES = 5


@dataclass(frozen=True)
class Trained:
    """A system of the demo, and the seconds until the next training is due.

    They are about as long as one of this system takes, so that what a visitor asks for waits for one at most.
    """

    seconds: int
    options: dict[str, Any]
    seeds: Sequence[int] = (1, 2, 3)


NETWORK: dict[str, Any] = {"batch_size": 32, "learning_rate": 0.002}
NETWORK |= {"hidden": 128, "words": 64, "language": 64, "embedding": 64}
PLACE: dict[str, Any] = {"iterations": 300, "decay_every": 200, "validate_every": 100}
STEPS: dict[str, Any] = {"iterations": 500, "decay_every": 350, "validate_every": 250}
RANKING = STEPS | {"loss": "triplet", "intra": 1, "inter": 1}  # the loss and the negatives of MCN's authors
CONTRAST = STEPS | {"intra": 3, "inter": 3}  # the moments of a film are harder to tell apart than the few films
LONGER = {"iterations": 750, "decay_every": 525}
SHORTER = {"iterations": 250, "decay_every": 175, "validate_every": 125}  # because there are two networks
STREAMS: dict[str, Any] = {"iterations": 220, "batch_size": 32, "learning_rate": 0.002, "validate_every": 110}
STREAMS |= {"warmup": 25, "patience": 0, "hidden": 64, "words": 64, "heads": 2, "span": 0.1}
CONQUER = {"first_iterations": 200, "iterations": 200, "batch_size": 16, "validate_every": 100, "others": 2}
CONQUER |= {"inner": 64, "filters": 64, "clusters": 8}
SYSTEMS = {  # from what sees nothing to what sees most, then those that there is time for once
    "chance": Trained(3, {}),
    "prior": Trained(3, {"bins": 20}),
    "tef_only": Trained(6, NETWORK | PLACE),
    "mcn": Trained(8, NETWORK | RANKING),
    "stal_clips": Trained(16, NETWORK | CONTRAST),
    "stal": Trained(27, NETWORK | CONTRAST | LONGER),
    "two_stage": Trained(18, NETWORK | CONTRAST | SHORTER, seeds=[1]),
    "xml": Trained(14, STREAMS, seeds=[1]),
    "reloclnet": Trained(13, STREAMS, seeds=[1]),
    "conquer": Trained(36, STREAMS | CONQUER | {"optimiser": "adam"}, seeds=[1]),
}


@transaction.atomic
def ask_for_systems(researcher: Membership) -> None:
    """Ask for the jobs that train the systems, unless they were asked for. They are done while the demo runs."""
    if researcher.campaign.systems.exists():
        return
    wait = 0
    for name, system in SYSTEMS.items():
        wanted = Wanted(name, name, DESCRIPTOR, CLIP_SECONDS, DEPTH, system.seeds, ALIKE | system.options)
        for row in ask_to_train(researcher, wanted):
            due = Now() + timedelta(seconds=wait)
            train_system.jobs(row).update(due=due)
            wait += system.seconds
