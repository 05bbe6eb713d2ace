"""What templates know about how people can sign in here (a context processor)."""

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest


def ways_in(request: HttpRequest) -> dict[str, object]:
    """Return the name of single sign-on, or an empty text if there is none, and whether this site sends mails.

    Whether nobody has an account yet is asked only by the page that says so.
    """
    return {
        "sso": settings.OIDC_ISSUER and settings.OIDC_NAME,
        "mails": settings.MAILS,
        "nobody_yet": lambda: not User.objects.exists(),
    }
