"""The modules that register jobs, upkeep or listeners of this app; `jobs.apps` imports them when Django starts."""

from campaigns import uploads, webhooks
from campaigns.accounts import adapter, mails
