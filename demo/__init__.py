"""The demo: films drawn by our own code, with descriptions, queries and the true grades."""
