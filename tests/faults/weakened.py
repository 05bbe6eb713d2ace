"""The settings of a server that is weakened on purpose; WEAKENED names a class of `tests.faults.weaknesses`."""

import os

from tests.settings import *  # noqa: F403

MIDDLEWARE = [*MIDDLEWARE, f"tests.faults.weaknesses.{os.environ['WEAKENED']}"]  # noqa: F405
