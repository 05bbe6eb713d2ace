"""Drafts of campaigns, step by step, as their pages have them."""
