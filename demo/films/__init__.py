"""The demo's corpus: short films drawn by our own code, with descriptions, queries and the true grades."""
