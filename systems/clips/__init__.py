"""Two stages: an index of clips finds the clips near a query, and the moments around them are ranked (STAL, 3.1)."""
