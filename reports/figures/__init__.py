"""The tables and figures of a campaign: their numbers, their captions, and how they are drawn."""
