"""File formats of the field: qrels, runs, ratings and moment ids are read and written here, and nowhere else."""
