"""The settings of what stands elsewhere: MEDIA_STORE, where clips are stored, and OIDC_…, where people sign in."""

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


def providers(name: str, issuer: str, client_id: str, secret: str) -> dict[str, Any]:
    """Return allauth's setting of providers: the one of that issuer, or none."""
    if not issuer:
        return {"openid_connect": {"APPS": []}}
    if urlsplit(issuer).scheme not in ("http", "https") or not client_id or not secret:
        raise ImproperlyConfigured(
            f"OIDC_ISSUER: {issuer!r}; expected https://… together with OIDC_CLIENT_ID and OIDC_CLIENT_SECRET"
        )
    app = {"provider_id": "sso", "name": name, "client_id": client_id, "secret": secret}
    app_settings = {"server_url": issuer, "oauth_pkce_enabled": True}
    return {"openid_connect": {"APPS": [app | {"settings": app_settings}]}}


def origins(issuer: str) -> list[str]:
    """Return the provider's origin, to which the form of signing in may lead, for the content security policy."""
    address = urlsplit(issuer)
    return [f"{address.scheme}://{address.netloc}"] if issuer else []
