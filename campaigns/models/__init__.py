"""The models of campaigns: their settings, members, guidelines, invitations, messages, drafts, tokens and webhooks."""

from campaigns.models.cache_entry import CacheEntry
from campaigns.models.campaign import Campaign, PastRate
from campaigns.models.draft import Draft, Upload
from campaigns.models.event import Event
from campaigns.models.first_link import FirstLink
from campaigns.models.guideline import Guideline
from campaigns.models.invitation import Invitation
from campaigns.models.membership import Membership
from campaigns.models.message import Message
from campaigns.models.token import Token
from campaigns.models.webhook import Delivery, Webhook

__all__ = [
    "CacheEntry",
    "Campaign",
    "Delivery",
    "Draft",
    "Event",
    "FirstLink",
    "Guideline",
    "Invitation",
    "Membership",
    "Message",
    "PastRate",
    "Token",
    "Upload",
    "Webhook",
]
