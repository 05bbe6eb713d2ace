"""The address of this site."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest


def site_address(request: HttpRequest) -> str:
    """Return the address of this site, to which links lead that others get: without a slash at its end.

    It is the setting SITE_URL. Without that it is the host of the request, which is one of ALLOWED_HOSTS. Its port is
    what the browser sent, so it is left out unless this server listens there or CSRF_TRUSTED_ORIGINS names it.
    """
    if settings.SITE_URL:
        return str(settings.SITE_URL)
    own = f"{request.scheme}://{request.get_host()}"
    port = urlsplit(own).port
    listens = not settings.TRUSTED_PROXIES and str(port) == request.get_port()
    return own if port is None or listens or own in settings.CSRF_TRUSTED_ORIGINS else own.rpartition(":")[0]
