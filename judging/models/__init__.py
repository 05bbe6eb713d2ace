"""What people said about moments: campaigns, queries and their candidates, batches, judgements and reviews."""

from judging.models.assignment import Assignment
from judging.models.campaign import Campaign, Membership
from judging.models.judgement import Flag, Judgement, Revision
from judging.models.pool import Batch, Candidate, Query
from judging.models.review import Review

__all__ = [
    "Assignment",
    "Batch",
    "Campaign",
    "Candidate",
    "Flag",
    "Judgement",
    "Membership",
    "Query",
    "Review",
    "Revision",
]
