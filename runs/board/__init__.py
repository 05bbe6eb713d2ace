"""The leaderboard: the runs of a campaign in one table, as a page and as files."""
