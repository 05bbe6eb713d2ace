"""Who may see how an installation is: machines at addresses that the settings name, or with the settings' token."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from base.middleware import is_within, networks


def is_watcher(request: HttpRequest) -> bool:
    return _has_token(request) or _has_address(request)


def _has_token(request: HttpRequest) -> bool:
    wanted = settings.MONITORING_TOKEN
    return bool(wanted) and constant_time_compare(request.headers.get("authorization", ""), f"Bearer {wanted}")


def _has_address(request: HttpRequest) -> bool:
    # Behind a proxy that the settings do not name, everybody has the proxy's address.
    if "x-forwarded-for" in request.headers and not settings.TRUSTED_PROXIES:
        return False
    return is_within(request.META.get("REMOTE_ADDR", ""), networks(settings.MONITORING_ADDRESSES))
