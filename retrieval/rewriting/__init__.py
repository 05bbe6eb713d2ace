"""Rewording: descriptions with names become captions with common nouns (TVR-Ranking, section 3.1 and appendix A)."""
