"""Mails with a link: an invitation, a new password, an address to confirm, new work. A job sends each, not a request.

A job's row says whom the mail is for, and never the link: the job makes it when it sends the mail, so that no table
holds a secret that opens something.
"""

from __future__ import annotations

import smtplib

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.db.models import Model
from django.db.models.functions import Now
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from base.sites import site_address
from campaigns.models import Invitation, Membership
from jobs.errors import JobError
from jobs.queue import Lane
from jobs.registry import SELF, Kind, Report, kind


def ask_for(mail: Kind[...], row: Model, request: HttpRequest, language: str = "") -> None:
    """Have a mail sent in that language; by default, in the one of who asks."""
    mail.ask(row, site=site_address(request), language=language or translation.get_language())


@kind(
    "mail-invitation",
    "Send an invitation",
    lane=Lane.QUICK,
    of=Invitation,
    owner="campaign",
    subject="{0.address}",
    page=("annotators", "campaign.name"),
    for_leads=True,
)
def mail_invitation(invitation: Invitation, report: Report, site: str, language: str) -> None:
    """Send the invitation, unless it has ended meanwhile."""
    if Invitation.objects.mailed().filter(pk=invitation.pk).exists():
        with translation.override(language):
            send(invitation.address, *_invitation(invitation, site))
        Invitation.objects.filter(pk=invitation.pk).update(sent=Now())


@kind("mail-new-password", "Send the link for a new password", lane=Lane.QUICK, of=User, person=SELF)
def mail_new_password(user: User, report: Report, site: str, language: str) -> None:
    address = EmailAddress.objects.get_verified(user) if user.is_active else None
    if address:
        with translation.override(language):
            send(address.email, *_new_password(user, site))


@kind(
    "mail-confirmation",
    "Send the link that confirms an address",
    lane=Lane.QUICK,
    of=EmailAddress,
    person="user",
    subject="{0.user}",
)
def mail_confirmation(address: EmailAddress, report: Report, site: str, language: str) -> None:
    if not address.verified:
        with translation.override(language):
            send(address.email, *_confirmation(address, site))


def send(to: str, subject: str, text: str) -> None:
    """Send one mail. If it is sent twice, both hold links that work."""
    if not settings.MAILS:
        raise JobError("there is no mail server: set EMAIL_URL, then send it again")
    try:
        EmailMessage(subject, text, to=[to]).send()
    except smtplib.SMTPRecipientsRefused as refusal:
        raise JobError(f"{to}: {_answer(refusal)}; expected an address that takes mail") from refusal


def _answer(refusal: smtplib.SMTPRecipientsRefused) -> str:
    [(status, words), *_] = refusal.recipients.values()
    return f"the mail server refuses it ({status} {words.decode(errors='replace')})"


def _invitation(invitation: Invitation, site: str) -> tuple[str, str]:
    params = {
        "name": invitation.name or invitation.address,
        "campaign": invitation.campaign,
        "role": Membership.Role(invitation.role).label.lower(),
        "link": site + reverse("invitation", args=[invitation.secret()]),
        "until": date_format(localtime(invitation.expires), "DATETIME_FORMAT"),
    }
    text = _(
        "Hello %(name)s,\n\nyou are invited to join %(campaign)s as %(role)s. This link lets you make an account, or "
        "sign in with one that you have:\n\n%(link)s\n\nIt works once, until %(until)s. It is for you alone: whoever "
        "opens it first can use it.\n"
    )
    subject = _("Invitation to %(campaign)s") % {"campaign": " ".join(str(invitation.campaign).split())}
    return subject, text % params


def _new_password(user: User, site: str) -> tuple[str, str]:
    text = _(
        "Hello %(name)s,\n\nsomebody, probably you, asked for a new password. This link lets you choose one:\n\n"
        "%(link)s\n\nIt works once, within an hour. If it was not you, do nothing: your password stays as it is.\n"
    )
    return _("A new password"), text % {"name": user.get_username(), "link": reset_link(user, site)}


def reset_link(user: User, site: str) -> str:
    """Return the link by which the person chooses a new password. It ends once it is used, or after an hour."""
    key = default_token_generator.make_token(user)
    return site + reverse("account_reset_password_from_key", args=[user_pk_to_url_str(user), key])


def _confirmation(address: EmailAddress, site: str) -> tuple[str, str]:
    link = site + reverse("account_confirm_email", args=[EmailConfirmationHMAC(address).key])
    text = _(
        "Hello %(name)s,\n\nopen this link to confirm that this is your e-mail address:\n\n%(link)s\n\nIf you did not "
        "ask for this, do nothing.\n"
    )
    params = {"name": address.user.get_username(), "link": link}
    return _("Confirm your e-mail address"), text % params


def address_of(user: User) -> str:
    """Return the address to which mails for the person go, or an empty text if there is none, or no mail server."""
    address = EmailAddress.objects.get_verified(user) if settings.MAILS and user.is_active else None
    return address.email if address else ""


def new_work(annotator: Membership, site: str) -> tuple[str, str]:
    """Return subject and text of the mail that there is work. It does not say of what kind."""
    text = _(
        "Hello %(name)s,\n\nthere is work for you at %(campaign)s:\n\n%(link)s\n\nYou asked to be told once. Nothing "
        "more comes, unless you ask for it again on that page.\n"
    )
    params = {"name": annotator.user.get_username(), "campaign": annotator.campaign, "link": site + reverse("work")}
    return _("There is work for you"), text % params
