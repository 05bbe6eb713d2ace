"""``python -m metrics``: score, compare and convert runs from the command line."""

import sys

from .commands.main import main

sys.exit(main())
