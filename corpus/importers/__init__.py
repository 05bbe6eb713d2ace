"""Importing corpora: rows of each format are read, checked, compared with what is stored, and stored."""
