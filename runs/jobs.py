"""The modules that register jobs, upkeep or listeners of this app; `jobs.apps` imports them when Django starts."""

from runs import receiving, rejudging, scoring
from runs.board import held_back
from runs.estimates import endpoint, predictors, watches, worth
from runs.pools import comparing, enlarging
from runs.reliability import inquiries
from runs.systems import orders, training
