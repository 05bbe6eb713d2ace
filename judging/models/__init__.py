"""The models of judging: queries and their candidates, batches, assignments, judgements and reviews."""

from judging.models.assignment import Assignment
from judging.models.judgement import Flag, Judgement, Revision
from judging.models.pool import Batch, Candidate, Query
from judging.models.review import Adjudication, Example, Reopening, Review
from judging.models.sitting import Sitting
from judging.models.states import Kind

__all__ = [
    "Adjudication",
    "Assignment",
    "Batch",
    "Candidate",
    "Example",
    "Flag",
    "Judgement",
    "Kind",
    "Query",
    "Reopening",
    "Review",
    "Revision",
    "Sitting",
]
