"""Runs: what systems predicted, how it was scored, and how systems compare."""
