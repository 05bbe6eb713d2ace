"""What the systems raise for bad input; commands, jobs and pages turn it into their own errors."""


class SystemsError(ValueError):
    """Bad input, or a file that cannot be stored or read: what was wrong, where, and what would be right."""


class BadOption(SystemsError):
    """An option has a wrong value."""

    def __init__(self, name: str, found: str, right: str) -> None:
        self.name, self.found, self.right = name, found, right
        super().__init__(f"{name}: {found}; expected {right}")
