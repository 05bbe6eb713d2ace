"""The settings OIDC_…: one provider of OpenID Connect at which people may sign in."""

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured


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
