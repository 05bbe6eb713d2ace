"""Finding what a command names, with help where it is not there."""

from django.core.management.base import CommandError

from campaigns.models import Campaign


def campaign_named(name: str) -> Campaign:
    campaign = Campaign.objects.filter(name=name).first()
    if campaign is None:
        there = ", ".join(Campaign.objects.values_list("name", flat=True)) or "none yet"
        raise CommandError(f"campaign {name}: not there; campaigns: {there}", returncode=2)
    return campaign
