"""The models of campaigns: their settings, members, guidelines, invitations, messages, drafts, tokens and webhooks."""

from campaigns.models.accounts import FirstLink, Token
from campaigns.models.cache import CacheEntry
from campaigns.models.campaign import Campaign, Guideline, PastRate
from campaigns.models.draft import Draft, Upload
from campaigns.models.invitation import Invitation
from campaigns.models.membership import Event, Membership, Message
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
