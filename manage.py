#!/usr/bin/env python
"""Reeljudge's commands: `python manage.py help`, or `reeljudge-server help` where Reeljudge is installed."""

import os
import sys
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))  # where the apps are, also in a wheel
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:] == ["--version"]:
        from metrics import __version__

        print(f"Reeljudge {__version__}")
        return
    try:
        from django.conf import settings
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import OperationalError, ProgrammingError
    except ModuleNotFoundError as fault:
        print(f"{fault.name} is not installed: pip install 'reeljudge[server]'", file=sys.stderr)
        sys.exit(2)
    try:
        command = settings.COMMAND  # which reads all of them
    except (ImproperlyConfigured, ValueError) as fault:  # ValueError: Django's own, of TIME_ZONE
        print(f"A setting is wrong (docs/settings.md): {fault}", file=sys.stderr)
        sys.exit(2)
    try:
        try:
            execute_from_command_line(sys.argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # of `| head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (OperationalError, ProgrammingError) as fault:
        print(
            f"The database cannot do this: {str(fault).strip()}\n"
            f"If it is new, or the program is, run `{command} migrate` first.",
            file=sys.stderr,
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
