"""The invitations of a campaign as its lead sees them, with what became of their mails."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from campaigns.accounts.mails import mail_invitation
from campaigns.models import Campaign, Invitation
from jobs.models import Job

SHOWN = 300


@dataclass(frozen=True)
class InvitationRow:
    invitation: Invitation
    is_open: bool
    job: Job | None  # that sends it

    @property
    def failed(self) -> str:
        """Why the mail was not sent, if its job has given up or waits to try again."""
        return self.job.error if self.job else ""


def invitation_rows(campaign: Campaign) -> list[InvitationRow]:
    """Return the open invitations, and of those that were sent by mail also the used ones, the newest first."""
    listed = Q(used__isnull=True) | ~Q(address="")
    found = list(
        campaign.invitations.filter(listed, withdrawn__isnull=True)
        .select_related("by__user", "used_by")
        .order_by("-pk")[:SHOWN]
    )
    open_ones = set(campaign.invitations.open().values_list("pk", flat=True))
    mailed = [each for each in found if each.address]
    jobs = {job.row: job for job in mail_invitation.jobs(mailed)}
    rows = [InvitationRow(each, each.pk in open_ones, jobs.get(each.pk)) for each in found]
    return [row for row in rows if row.is_open or row.invitation.used]
