"""The demo's trained systems: jobs behind the running demo train them on its captions, and submit their runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from campaigns.models import Membership
from jobs.models import Job
from runs.models import TrainedSystem
from runs.systems.asking import TRAIN, Wanted, ask_to_train
from runs.systems.feature_sets import DESCRIPTOR

SEEDS = (1, 2, 3)
CLIP_SECONDS = 1.0  # the films' moments are of 2 to 11 seconds
DEPTH = 5  # moments of each training query; with more, the few that a film shows become many that only sound alike
ALIKE = {"shortest": 2, "longest": 8, "nms": 0.3}  # the moments of a film do not overlap
NETWORK: dict[str, Any] = {"iterations": 1000, "validate_every": 250, "batch_size": 32}
NETWORK |= {"learning_rate": 0.002, "decay_every": 700}  # the last steps are small: the weights settle
NETWORK |= {"hidden": 128, "words": 64, "language": 64, "embedding": 64}
NETWORK |= {"intra": 5, "inter": 5}  # the moments of a film are harder to tell apart than the few films
SYSTEMS: dict[str, dict[str, Any]] = {  # from what sees nothing to what sees most
    "chance": {},
    "prior": {"bins": 20},
    "mcn": NETWORK,
    "stal_clips": NETWORK,
    "stal": NETWORK,
}


MINUTES = 5
BETWEEN = 18  # seconds between two trainings are due, so that what a visitor asks for waits for one at most


@transaction.atomic
def ask_for_systems(researcher: Membership) -> None:
    """Ask for the jobs that train the systems, unless they were asked for. They are done while the demo runs."""
    if researcher.campaign.systems.exists():
        return
    made: list[TrainedSystem] = []
    for system, options in SYSTEMS.items():
        wanted = Wanted(system, system, DESCRIPTOR, CLIP_SECONDS, DEPTH, SEEDS, ALIKE | options)
        made += ask_to_train(researcher, wanted)
    for place, row in enumerate(made):
        due = Now() + timedelta(seconds=BETWEEN * place)
        Job.objects.filter(kind=TRAIN, key=row.job_key).update(due=due)
