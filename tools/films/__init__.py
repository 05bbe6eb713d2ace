"""Draws the films of the demo, and writes their descriptions, queries and true grades: `demo/files`."""
