"""The setting MEDIA_STORE: where clips are stored."""

from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ImproperlyConfigured


def storage(store: str, endpoint: str) -> dict[str, Any]:
    """Return Django's storage for clips: the folder MEDIA_ROOT, or an S3-compatible store."""
    if not store:
        return {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    from botocore.config import Config

    address = _parts(store)
    options = {
        "bucket_name": address.netloc,
        "location": address.path.strip("/"),
        "endpoint_url": endpoint or None,
        "client_config": Config(**client(endpoint)),
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def client(endpoint: str) -> dict[str, Any]:
    """Return how requests to the store are made, as the arguments of botocore's Config."""
    return {
        "signature_version": "s3v4",
        "s3": {"addressing_style": "path" if endpoint else "auto"},
        # Together shorter than a job's lease, so that a store that does not answer leads to an error that says so.
        "connect_timeout": 5,
        "read_timeout": 20,
        "retries": {"max_attempts": 2},
        # Stores other than Amazon's do not support the newer checksums.
        "request_checksum_calculation": "when_required",
        "response_checksum_validation": "when_required",
    }


def _parts(store: str) -> SplitResult:
    address = urlsplit(store)
    if address.scheme != "s3" or not address.netloc:
        raise ImproperlyConfigured(f"MEDIA_STORE: {store!r}; expected s3://bucket or s3://bucket/prefix")
    return address
