"""Scores from part of the judgements: estimates, watched differences, plans, and what predicts grades."""
