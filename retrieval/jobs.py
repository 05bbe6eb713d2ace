"""The modules that register jobs, upkeep or listeners of this app; `jobs.apps` imports them when Django starts."""

from retrieval import captions
from retrieval.rewriting import cast_file, counting, substituting
from retrieval.search import index, searching
from retrieval.simcse import making
