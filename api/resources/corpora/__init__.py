"""Corpora: their size and moments, and the rewording of their descriptions."""
