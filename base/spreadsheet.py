"""Keeping spreadsheet programs from running the cells of a CSV file as formulas."""

FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
)  # a cell that begins with one of these is taken for a formula


def harmless(cell: object) -> object:
    """Return the cell, with an apostrophe before a text that looks like a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
