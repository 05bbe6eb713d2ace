"""Pages of a campaign, rendered for one of its members, and the forms about it whose checks hold for the API, too."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from campaigns.models import Membership

LONGEST_GUIDELINE = 50_000  # characters


def campaign_page(
    request: HttpRequest, member: Membership, template: str, /, status: int = 200, **context: object
) -> HttpResponse:
    """Render a page for a member; its template finds `member` and `campaign` beside what it is given."""
    known = {"member": member, "campaign": member.campaign}
    return render(request, template, known | context, status=status)


def while_working(fragment: HttpResponse, is_working: bool) -> HttpResponse:
    """Return a fragment that the page asks for again; once the work has ended, the whole page is loaded again."""
    if not is_working:
        fragment["HX-Refresh"] = "true"
    return fragment


class Lines(forms.CharField):
    """A text with lines as they are stored: browsers send CR LF."""

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value)).replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        return f"{text}\n" if text.strip() else ""


class GuidelineForm(forms.Form):
    text = Lines(
        max_length=LONGEST_GUIDELINE,
        strip=False,
        label="Guideline",
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "true"}),
        error_messages={"required": "The guideline is empty. Write something."},
    )
    started_from = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)
