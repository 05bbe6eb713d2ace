"""Words of the templates."""

from django import template

register = template.Library()
