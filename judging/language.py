"""The language of a page: the one that was chosen, or else the browser's. The lead's pages are in English so far."""

from __future__ import annotations

from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.urls import reverse
from django.utils import translation


class LanguageMiddleware(LocaleMiddleware):
    """Django's, except that everything below the campaigns (pages, exports, releases) is in English for everybody."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        request.is_english_only = request.path.startswith(reverse("campaigns"))  # type: ignore[attr-defined]
        if request.is_english_only:  # type: ignore[attr-defined]
            translation.activate("en")
            request.LANGUAGE_CODE = "en"
