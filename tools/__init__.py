"""Programs for maintainers; they are not in the wheel."""
