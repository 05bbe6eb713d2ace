"""Statistics of a whole campaign, computed from arrays that are read in one pass."""
