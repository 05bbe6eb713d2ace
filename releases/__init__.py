"""Releases and exports: a campaign's qrels and judgements as files that others can check, compare and cite."""
