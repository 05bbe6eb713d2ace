"""The demo's corpus: short films drawn by our own code, with captions, queries and the true grades."""
