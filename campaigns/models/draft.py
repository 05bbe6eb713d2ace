"""Files that arrive in pieces. The first migrations name `token` by this path; drafts are in `drafts/models.py`."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from django.db import models
from django.db.models.functions import Now


def token() -> str:
    """Return a name for a folder or a file that nobody can guess."""
    return secrets.token_hex(16)


class ArrivingFile(models.Model):
    """A file that is uploaded in pieces. Its name is only shown; the file on the disk is named by the token."""

    name = models.CharField(max_length=255, help_text="as the browser calls the file; never a path")
    token = models.CharField(max_length=32, unique=True, default=token)
    size = models.BigIntegerField(help_text="bytes of the whole file")
    received = models.BigIntegerField(default=0, help_text="bytes that are on the disk")
    touched = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> Path:
        """Where the file is, on every machine that has `UPLOAD_ROOT`."""
        raise NotImplementedError

    @classmethod
    def unfinished(cls) -> models.QuerySet[Any, Any]:
        """Return the files that are not used yet, each with the key of its `person`, for whom it takes room."""
        raise NotImplementedError

    @property
    def is_whole(self) -> bool:
        return self.received == self.size

    @property
    def percent(self) -> int:
        return 100 * self.received // self.size if self.size else 100
