"""Looking up the campaign that a command names."""

from django.core.management.base import CommandError

from campaigns.models import Campaign


def campaign_named(name: str) -> Campaign:
    """Return the campaign, or end the command with exit code 2 and a list of all campaigns."""
    campaign = Campaign.objects.filter(name=name).first()
    if campaign is None:
        names = ", ".join(Campaign.objects.values_list("name", flat=True)) or "none yet"
        raise CommandError(f"campaign {name}: not found; expected one of: {names}", returncode=2)
    return campaign
