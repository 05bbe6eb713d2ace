"""What a browser calls itself, in words that a person knows."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

register = template.Library()
# The first that occurs counts: most browsers also name those that they descend from.
BROWSERS = {
    "Edg": "Edge",
    "OPR": "Opera",
    "Firefox": "Firefox",
    "FxiOS": "Firefox",
    "Chrom": "Chrome",
    "Safari": "Safari",
}
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "Linux": "Linux",
}


@register.filter
def device(user_agent: str) -> str:
    """Return the browser and the system that a header `User-Agent` names."""
    browser = next((name for sign, name in BROWSERS.items() if sign in user_agent), _("another browser"))
    system = next((name for sign, name in SYSTEMS.items() if sign in user_agent), "")
    return f"{browser}, {system}" if system else browser
