"""Reeljudge as an app: what a browser needs to install it, and the page that it shows where there is no network."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

ICONS = {"192": "any", "512": "any", "maskable-512": "maskable"}
GROUND = "#fbfaf8"  # of static/base.css
# Of the page without a network.
FILES = ("base.css", "fonts/reeljudge-sans.woff2", "annotate/ahead.js", "annotate/offline.js")


@login_not_required
@require_safe
def manifest(request: HttpRequest, language: str) -> HttpResponse:
    """What browsers show of the app before and after it is installed."""
    with _spoken(language):
        data = {
            "name": gettext("Reeljudge: grade clips"),
            "short_name": "Reeljudge",
            "lang": language,
            "id": reverse("work"),
            "start_url": reverse("work"),
            "scope": "/",  # signing in is inside, too
            "display": "standalone",
            "background_color": GROUND,
            "theme_color": GROUND,
            "icons": [_icon(name, purpose) for name, purpose in ICONS.items()],
        }
    return JsonResponse(data, content_type="application/manifest+json; charset=utf-8")


def _icon(name: str, purpose: str) -> dict[str, str]:
    size = name.rpartition("-")[2]
    address = static(f"icons/{name}.png")
    return {"src": address, "sizes": f"{size}x{size}", "type": "image/png", "purpose": purpose}


@login_not_required
@require_safe
def offline(request: HttpRequest, language: str) -> HttpResponse:
    """The page that a browser keeps and shows without a network. It is the same for everybody."""
    with _spoken(language):
        return HttpResponse(render_to_string("annotate/offline.html"))


def _spoken(language: str) -> translation.override:
    if language not in dict(settings.LANGUAGES):
        raise Http404
    return translation.override(language)


@login_not_required
@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """The script that shows that page. With another version of the pages or another language it is another script."""
    context = {"language": translation.get_language(), "files": FILES}
    return render(request, "annotate/service-worker.js", context, content_type="text/javascript; charset=utf-8")
