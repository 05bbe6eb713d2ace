"""Differences of two runs: how many queries tell them apart, and whether they are decided while judging goes on."""
