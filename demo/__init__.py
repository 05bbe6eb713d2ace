"""The demo: films drawn by our own code, with captions, queries and the true grades."""
