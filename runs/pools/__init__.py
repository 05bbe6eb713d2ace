"""Enlarging the pool: judging what runs found and nobody has judged, and what that changes about the scores."""
