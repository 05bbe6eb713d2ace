"""Numbers of a whole campaign: read in one pass, kept in one row a kind, and shown however large it is."""
