"""The tables and figures of a campaign: their numbers, their words, their drawing."""
