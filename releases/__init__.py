"""Releases: a campaign frozen into one zip that others can check, compare and cite."""
