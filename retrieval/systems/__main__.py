"""`python -m retrieval.systems`: train, index and search systems on files, without Django or a database."""

import sys

from retrieval.systems.commands import main

sys.exit(main())
