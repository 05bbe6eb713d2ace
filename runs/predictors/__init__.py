"""Predictors: what predicts the grades of a campaign's candidates. What is predicted is never a grade."""
