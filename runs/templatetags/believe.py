"""Words for the page that asks whether a measure can be believed."""

from django import template

from runs.believe.numbers import way

register = template.Library()
register.filter("way", way)
