"""What is asked of measures, runs and ratings: comparison, agreement, stability, noise, axioms."""
