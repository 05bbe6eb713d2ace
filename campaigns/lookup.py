"""Looking up the campaign or the person that a command names."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from campaigns.models import Campaign


def campaign_named(name: str) -> Campaign:
    """Return the campaign, or end the command with exit code 2 and a list of all campaigns."""
    campaign = Campaign.objects.filter(name=name).first()
    if campaign is None:
        names = ", ".join(Campaign.objects.values_list("name", flat=True)) or "none yet"
        raise CommandError(f"campaign {name}: not found; expected one of: {names}", returncode=2)
    return campaign


def user_named(name: str) -> User:
    """Return the person of that name, or end the command with exit code 2."""
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(
            f"user {name}: nobody has this name; expected the one to sign in with", returncode=2
        )
    return user
