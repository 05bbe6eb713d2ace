"""The models of campaigns: their settings, members, guidelines, invitations and messages."""

from campaigns.models.cache_entry import CacheEntry
from campaigns.models.campaign import Campaign, PastRate
from campaigns.models.event import Event
from campaigns.models.guideline import Guideline
from campaigns.models.invitation import Invitation
from campaigns.models.membership import Membership
from campaigns.models.message import Message

__all__ = [
    "CacheEntry",
    "Campaign",
    "Event",
    "Guideline",
    "Invitation",
    "Membership",
    "Message",
    "PastRate",
]
