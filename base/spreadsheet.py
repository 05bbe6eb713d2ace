"""What a spreadsheet makes of the cells of a CSV file."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what it takes for the beginning of a formula


def harmless(cell: object) -> object:
    """A text that no spreadsheet runs as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
