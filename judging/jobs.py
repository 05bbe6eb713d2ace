"""The modules that register jobs, upkeep or listeners of this app; `jobs.apps` imports them when Django starts."""

from judging.pool import clips, opening, ranking, rewording
from judging.review import actions, reviewing
from judging.work import claiming
