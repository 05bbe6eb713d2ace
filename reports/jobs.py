"""The modules that register jobs, upkeep or listeners of this app; `jobs.apps` imports them when Django starts."""

from reports import campaign_summaries, digest
