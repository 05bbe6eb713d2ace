"""What people said about moments: campaigns, queries and their candidates, batches, judgements and reviews."""

from judging.models.assignment import Assignment
from judging.models.campaign import Campaign, PastRate
from judging.models.judgement import Flag, Judgement, Revision
from judging.models.membership import Membership
from judging.models.people import Event, Invitation, Message
from judging.models.pool import Batch, Candidate, Kind, Query
from judging.models.release import Release
from judging.models.review import Adjudication, Reopening, Review
from judging.models.sitting import Sitting
from judging.models.summary import Summary
from judging.models.teaching import Example, Guideline

__all__ = [
    "Adjudication",
    "Assignment",
    "Batch",
    "Campaign",
    "Candidate",
    "Event",
    "Example",
    "Flag",
    "Guideline",
    "Invitation",
    "Judgement",
    "Kind",
    "Membership",
    "Message",
    "PastRate",
    "Query",
    "Release",
    "Reopening",
    "Review",
    "Revision",
    "Sitting",
    "Summary",
]
