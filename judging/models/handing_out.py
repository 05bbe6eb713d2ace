"""Handing out work: whose assignments are live, and what an annotator gets next."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext

from judging import checks
from judging.errors import WrongState
from judging.models.membership import Membership
from judging.models.pool import Batch
from judging.models.sitting import Sitting
from judging.transactions import all_or_nothing, locked

if TYPE_CHECKING:
    from judging.models.assignment import Assignment


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def live(self) -> AssignmentQuerySet:
        return self.filter(state=self.model.State.LIVE)

    def submitted(self) -> AssignmentQuerySet:
        return self.filter(state=self.model.State.SUBMITTED)

    def holding(self) -> AssignmentQuerySet:
        """Those that take up a place of their batch."""
        return self.filter(state__in=[self.model.State.LIVE, self.model.State.SUBMITTED])

    def expired(self) -> AssignmentQuerySet:
        return self.live().filter(lease__lte=Now())

    @all_or_nothing
    def claim(self, annotator: Membership) -> Assignment | None:
        """The batch in the annotator's hands, or a free one put there; None when there is nothing to judge."""
        # One claim at a time for each person: two tabs get the same batch.
        annotator = locked(Membership.objects.filter(pk=annotator.pk)).select_related("campaign").get()
        if not annotator.may_judge:
            raise WrongState(gettext("Your membership of this campaign is not that of an active annotator."))
        if mine := locked(self.live().filter(annotator=annotator)).first():
            return mine.renew()
        self._lapse_expired(annotator)
        if annotator.sits_exam:
            return Sitting.objects.hand_out(annotator)
        if check := checks.due(annotator):
            return check.lend_to(annotator)
        batch = self._free_batch(annotator)
        return batch.hand_to(annotator) if batch else None

    def _free_batch(self, annotator: Membership) -> Batch | None:
        free = Batch.objects.claimable_by(annotator)
        # Rows that others are claiming are skipped, so that nobody waits; if that leaves nothing, wait for one.
        while batch := locked(free, skip_locked=True).first() or locked(free).first():
            # A lock waits for the batch's row only: its query may have been withdrawn meanwhile.
            if free.filter(pk=batch.pk).exists():
                return batch
        return None

    def _lapse_expired(self, annotator: Membership) -> None:
        for assignment in self.expired().filter(annotator__campaign=annotator.campaign_id):
            assignment.lapse()

    def lease_out(self, batch: Batch, annotator: Membership, round: int, slot: int | None) -> Assignment:
        """The annotator's assignment to that place: a new one, or the one that had lapsed, with a new fence."""
        place = {"round": round, "slot": slot, "lease": lease_end(), "state": self.model.State.LIVE}
        place |= {"guideline": annotator.campaign.guideline.version, "submitted": None}
        # In another round the places are other candidates: an open page of the old round must not write into them.
        another = self.filter(batch=batch, annotator=annotator).exclude(round=round)
        another.update(token=secrets.token_urlsafe())
        self.update_or_create(
            batch=batch,
            annotator=annotator,
            defaults=place | {"fence": F("fence") + 1},
            create_defaults=place,
        )
        return self.get(batch=batch, annotator=annotator)


def lease_end() -> models.expressions.CombinedExpression:
    return Now() + timedelta(seconds=settings.ASSIGNMENT_LEASE)
