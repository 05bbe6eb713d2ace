"""Runs: sending one, its scores and why it has them, the leaderboard, and whether the measures can be believed."""
