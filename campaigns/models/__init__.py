"""The models of campaigns: settings, members, guidelines, invitations, messages, webhooks, log."""

from campaigns.models.cache import CacheEntry as CacheEntry
from campaigns.models.cache import spend as spend
from campaigns.models.campaign import Campaign as Campaign
from campaigns.models.campaign import Guideline as Guideline
from campaigns.models.campaign import PastRate as PastRate
from campaigns.models.invitation import Applicant as Applicant
from campaigns.models.invitation import Invitation as Invitation
from campaigns.models.log import LogEntry as LogEntry
from campaigns.models.log import log as log
from campaigns.models.membership import Event as Event
from campaigns.models.membership import Membership as Membership
from campaigns.models.membership import Message as Message
from campaigns.models.webhook import Delivery as Delivery
from campaigns.models.webhook import Webhook as Webhook
