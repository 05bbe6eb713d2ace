"""The states, outcomes and kinds of the models of judging, above the models whose constraints name them."""

from django.db.models import IntegerChoices, TextChoices


class Kind(TextChoices):
    """What the candidates of a query are judged for. Annotators cannot tell the kinds apart."""

    POOL = "pool"  # for the qrels; no other kind reaches them
    EXAM = "exam"
    CHECK = "check"  # copies of pairs, for hidden places
    STUDY = "study"  # for the study of grade against similarity, further down the ranking


# Settled in rounds of two; any number of annotators take an exam.
CLAIMED = Kind.POOL, Kind.STUDY


class WithdrawnFor(TextChoices):
    """Why a query was withdrawn, as far as it matters to the sample of judged queries."""

    QUERY = "query", "what the query is"  # as if it had never been there
    JUDGED = "judged", "what judging it showed"  # so that what is left is no random sample


class Priority(IntegerChoices):
    """When annotators get the batches of a stratum."""

    FIRST = 1, "first"
    USUAL = 2, "as usual"
    LAST = 3, "last"


class CandidateOutcome(TextChoices):
    OPEN = "open"
    CONTESTED = "contested"
    SETTLED = "settled"
    DISCARDED = "discarded"
    FLAGGED = "flagged"  # an annotator could not judge it, and a lead has to decide
    ADJUDICATED = "adjudicated"  # the lead graded it, which is never a consensus
    REUSED = "reused"  # an earlier campaign reached a consensus on it, and nobody judges it in this one


WITH_CONSENSUS = (CandidateOutcome.SETTLED, CandidateOutcome.REUSED)
WITH_GRADE = (*WITH_CONSENSUS, CandidateOutcome.ADJUDICATED)
WITHOUT_CONSENSUS = (CandidateOutcome.DISCARDED, CandidateOutcome.FLAGGED)


class BatchState(TextChoices):
    PREPARING = "preparing"  # its clips are being cut
    OPEN = "open"
    SETTLED = "settled"  # every candidate has an outcome, and the lead's review is next
    REVIEWED = "reviewed"
    REPLACED = "replaced"  # all its candidates were reopened, and are in a later edition


class AssignmentState(TextChoices):
    LIVE = "live"
    SUBMITTED = "submitted"
    LAPSED = "lapsed"


class SittingResult(TextChoices):
    OPEN = "open"  # being judged, or submitted and not marked yet
    PASSED = "passed"
    RETURNED = "returned"  # some pairs are to be judged again in another round
    FAILED = "failed"  # no round is left
