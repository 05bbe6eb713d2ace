"""What the systems raise for bad input; commands, jobs and pages turn it into their own errors."""

import errno

# What the system says where nothing can be written.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


class SystemsError(ValueError):
    """Bad input, or a file that cannot be stored or read: what was wrong, where, and what would be right."""


class Unavailable(SystemsError):
    """Something is missing for the moment, such as room on a disk. The input is not to blame."""


class BadOption(SystemsError):
    """An option has a wrong value."""

    def __init__(self, name: str, found: str, right: str) -> None:
        self.name, self.found, self.right = name, found, right
        super().__init__(f"{name}: {found}; expected {right}")
