"""Features of videos: read from files that others made, or computed from the films."""
