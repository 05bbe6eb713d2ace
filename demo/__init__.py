"""The demo: drawn films (`files`, made by `tools/films`), their descriptions, queries and true grades."""
