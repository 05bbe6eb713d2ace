"""What templates know about how people can sign in here (a context processor)."""

from django.conf import settings
from django.http import HttpRequest


def ways_in(request: HttpRequest) -> dict[str, object]:
    """Return the name of single sign-on, or an empty text if there is none, and whether this site sends mails."""
    return {"sso": settings.OIDC_ISSUER and settings.OIDC_NAME, "mails": settings.MAILS}
