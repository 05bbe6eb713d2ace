"""The settings MEDIA_STORE and MEDIA_ADDRESSES: where clips are stored, and how browsers get them."""

from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ImproperlyConfigured

PROXY, ACCEL, PRESIGNED = "proxy", "accel", "presigned"


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


def addresses(kind: str, store: str, endpoint: str) -> str:
    """Return the kind of addresses, or raise ImproperlyConfigured if it does not fit the store."""
    fitting = [PROXY, PRESIGNED if store else ACCEL]
    if kind not in fitting:
        raise ImproperlyConfigured(
            f"MEDIA_ADDRESSES: {kind!r}; with MEDIA_STORE={store!r} expected {' or '.join(fitting)}"
        )
    if kind == PRESIGNED and not endpoint:
        raise ImproperlyConfigured("S3_ENDPOINT_URL: none; MEDIA_ADDRESSES=presigned needs it, also at Amazon's")
    return kind


def origins(kind: str, endpoint: str) -> list[str]:
    """Return the other origins from which browsers fetch clips, for the content security policy."""
    address = urlsplit(endpoint)
    return [f"{address.scheme}://{address.netloc}"] if kind == PRESIGNED else []


def _parts(store: str) -> SplitResult:
    address = urlsplit(store)
    if address.scheme != "s3" or not address.netloc:
        raise ImproperlyConfigured(f"MEDIA_STORE: {store!r}; expected s3://bucket or s3://bucket/prefix")
    return address
