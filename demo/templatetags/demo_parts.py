"""Parts of pages that only the demo shows: its roles on the page of signing in, and the step of its tour."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.translation import gettext as _

from demo.apps import ANNOTATORS, LEAD, PASSWORD, RESEARCHER
from demo.tour import STEP, is_here, steps_for

register = template.Library()


@register.inclusion_tag("demo/_roles.html", takes_context=True)
def demo_roles(context: dict[str, Any]) -> dict[str, Any]:
    names = (_("Annotator"), _("Second annotator"), _("Lead"), _("Researcher"))
    accounts = (*ANNOTATORS[:2], LEAD, RESEARCHER)
    roles = list(zip(accounts, names, strict=True)) if is_here() else []
    return {"roles": roles, "password": PASSWORD, "csrf_token": context.get("csrf_token")}


@register.inclusion_tag("demo/_tour.html", takes_context=True)
def tour(context: dict[str, Any]) -> dict[str, Any]:
    request = context.get("request")
    number = request.session.get(STEP) if request and request.user.is_authenticated else None
    steps = steps_for(request.user) if request and number else []
    if not number or number > len(steps):
        return {}
    return {"step": steps[number - 1], "number": number, "all": len(steps), "next": number + 1}
