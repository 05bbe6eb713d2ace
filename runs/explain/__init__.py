"""Why a run has its score: query by query, alone or beside another run."""
