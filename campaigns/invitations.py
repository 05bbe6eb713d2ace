"""Invitations by mail: the form that names many people, one a line, and all or none of them invited."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from allauth.account.models import EmailAddress
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest

from base.errors import WrongState
from base.text import abbreviated, storable
from base.transactions import all_or_nothing
from campaigns.accounts import mails
from campaigns.models import Campaign, Membership

MOST_HOURS = 720  # for which an invitation is open
MOST = 300  # people at a time
LONGEST_NAME = 150
LIFETIMES = {1: "1 hour", 24: "1 day", 72: "3 days", 168: "7 days", 336: "14 days", 720: "30 days"}
USUAL_LIFETIME = 168  # hours


class Invited(NamedTuple):
    address: str
    name: str


class InvitationsForm(forms.Form):
    people = forms.CharField(
        max_length=50_000,
        strip=False,
        label="One person a line: a mail address, and a name after a comma if you like",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocapitalize": "none"}),
        error_messages={"required": "Nobody is named. Write a mail address in each line."},
    )
    role = forms.ChoiceField(choices=Membership.Role.choices, label="As", initial=Membership.Role.ANNOTATOR)
    hours = forms.TypedChoiceField(
        coerce=int, choices=list(LIFETIMES.items()), label="Open for", initial=USUAL_LIFETIME
    )
    language = forms.ChoiceField(choices=settings.LANGUAGES, label="Language of the mail")

    def __init__(self, campaign: Campaign, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.campaign = campaign

    def clean_people(self) -> list[Invited]:
        lines = enumerate(self.cleaned_data["people"].splitlines(), 1)
        named = {number: _person(line) for number, line in lines if line.strip()}
        if not 1 <= len(named) <= MOST:
            raise ValidationError(f"{len(named)} people; expected 1 to {MOST}")
        if faults := list(self._faults(named)):
            raise ValidationError(faults)
        return list(named.values())

    def _faults(self, named: dict[int, Invited]) -> Iterator[str]:
        """What is wrong, line by line."""
        addresses = {person.address for person in named.values()}
        members = EmailAddress.objects.filter(email__in=addresses, verified=True).filter(
            user__memberships__campaign=self.campaign
        )
        known = dict(members.values_list("email", "user__username"))
        waiting = set(self.campaign.invitations.open().filter(address__in=addresses).values_list("address", flat=True))
        first: dict[str, int] = {}
        for number, person in named.items():
            where = f"Line {number}: {abbreviated(person.address)}"
            if not _is_address(person.address):
                yield f"{where}; expected a mail address, as in ada@example.org, Ada Lovelace"
            elif len(person.name) > LONGEST_NAME or not storable(person.name):
                yield f"{where}; expected a name of at most {LONGEST_NAME} characters"
            elif first.setdefault(person.address, number) != number:
                yield f"{where} is in line {first[person.address]} already"
            elif person.address in known:
                yield f"{where} is {known[person.address]}, a member already"
            elif person.address in waiting:
                yield f"{where} has an open invitation; withdraw it first, or send it again"


def _person(line: str) -> Invited:
    address, _, name = line.replace(";", ",").replace("\t", ",").partition(",")
    return Invited(address.strip().lower(), " ".join(name.split()))


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 254 and storable(text)


@all_or_nothing
def invite_all(request: HttpRequest, lead: Membership, form: InvitationsForm) -> int:
    """Make an invitation for each person of a valid form, and ask for the mails. Return how many they are."""
    data = form.cleaned_data
    lifetime, language = timedelta(hours=data["hours"]), data["language"]
    for address, name in data["people"]:
        invitation = lead.campaign.invite_by_mail(
            data["role"], lead, lifetime, address=address, name=name, language=language
        )
        mails.ask_for(mails.mail_invitation, invitation, request, language)
    return len(data["people"])


def must_send_mails() -> None:
    """Raise WrongState if the settings name no mail server."""
    if not settings.MAILS:
        raise WrongState("This site sends no mails: whoever runs it has to set EMAIL_URL. Make links instead.")
