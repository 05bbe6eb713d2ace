"""`make bench`: measure every figure that Reeljudge promises, side by side in one run."""

import importlib
import os
import platform
import sys
import time

from benchmarks.measuring import Skipped

MODULES = [
    "ranking",
    "streaming",
    "parts",
    "training_sets",
    "searching",
    "approximate",
    "clips",
    "features",
    "encoding",
    "simcse",
    "cutting",
    "judging",
    "label_studio",
    "growth",
    "paced",
    "desk",
    "importing",
    "corpora",
    "workplace",
    "first_clip",
    "runs",
    "metrics_kernel",
    "metrics_reading",
    "metrics_plain",
    "metrics_stability",
    "annotators",
    "estimates",
    "ladder",
]


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    cores = os.cpu_count()
    print(f"Python {platform.python_version()}, {platform.machine()}, {cores} cores, {time.strftime('%Y-%m-%d')}")
    for name in sys.argv[1:] or MODULES:
        print(f"\n{name}")
        try:
            for line in importlib.import_module(f"benchmarks.{name}").figures():
                print(f"  {line}", flush=True)
        except Skipped as reason:
            print(f"  {reason}")


if __name__ == "__main__":
    main()
