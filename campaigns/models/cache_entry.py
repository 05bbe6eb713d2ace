"""The table of Django's cache in the database, which all machines share: failed attempts to sign in, used codes."""

from django.db import models


class CacheEntry(models.Model):
    """A row of the cache. The cache (`campaigns/accounts/json_cache.py`) reads and writes it."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "shared_cache"

    def __str__(self) -> str:
        return self.cache_key
