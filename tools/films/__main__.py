"""python -m tools.films FOLDER: write the films, tables and worked examples of the demo."""

import sys
from pathlib import Path

from .files import write_demo

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write_demo(Path(sys.argv[1]))
