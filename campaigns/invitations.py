"""Inviting many people at once: the form that names them, one a line, and the links to hand out."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields, replace
from datetime import timedelta
from typing import Any, NamedTuple

from allauth.account.models import EmailAddress
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from base.errors import Gone, WrongState
from base.sites import site_address
from base.text import abbreviated, harmless, storable
from base.transactions import all_or_nothing
from campaigns.accounts import mails
from campaigns.models import Campaign, Invitation, Membership
from campaigns.models.invitation import MOST_PLACES
from campaigns.models.membership import LONGEST_GROUP

MOST_HOURS = 720  # for which an invitation is open
MOST = 300  # people at a time
LONGEST_NAME = 150
LIFETIMES = {1: "1 hour", 24: "1 day", 72: "3 days", 168: "7 days", 336: "14 days", 720: "30 days"}
USUAL_LIFETIME = 168  # hours
MAIL, LINKS = "mail", "links"
WAYS = {MAIL: "A mail to each", LINKS: "Links that you hand out"}
ROLES = [str(role) for role in Membership.Role.values]


@dataclass(frozen=True)
class Person:
    """Whom a line names. What it leaves out is empty, or comes from the form."""

    name: str = ""
    address: str = ""
    group: str = ""
    role: str = ""

    def identity(self) -> str:
        """What tells the person from others of the list."""
        return self.address or self.name.lower()


class NamedLink(NamedTuple):
    """An invitation and its link, which is empty if it was made under another SECRET_KEY."""

    invitation: Invitation
    link: str


COLUMNS = [each.name for each in fields(Person)]


def role_field() -> forms.ChoiceField:
    return forms.ChoiceField(choices=Membership.Role.choices, label="As", initial=Membership.Role.ANNOTATOR)


def group_field() -> forms.CharField:
    return forms.CharField(max_length=LONGEST_GROUP, required=False, label="Group, if any")


class InvitationsForm(forms.Form):
    """Names people, who get a mail or whose links the lead hands out."""

    people = forms.CharField(
        max_length=50_000,
        required=False,
        strip=False,
        label="One person a line: a name, a mail address, a group and a role, with commas between them",
        help_text="Leave out what you do not need. A first line that names the columns may put them in another order.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocapitalize": "none"}),
    )
    way = forms.ChoiceField(choices=list(WAYS.items()), label="They get")
    role = role_field()
    group = group_field()
    hours = forms.TypedChoiceField(
        coerce=int, choices=list(LIFETIMES.items()), label="Open for", initial=USUAL_LIFETIME
    )
    language = forms.ChoiceField(choices=settings.LANGUAGES, label="Language of the mail", required=False)

    def __init__(self, campaign: Campaign, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.campaign = campaign
        self.initial.setdefault("way", MAIL if settings.MAILS else LINKS)

    def clean_language(self) -> str:
        return self.cleaned_data["language"] or settings.LANGUAGE_CODE

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                data["people"] = self._people(data)
            except ValidationError as faults:
                self.add_error("people", faults)
        return data

    def _people(self, data: dict[str, Any]) -> list[Person]:
        named, faults = people_in(data["people"].removeprefix("\ufeff"))
        if not named and not faults:
            raise ValidationError("Nobody is named. Write one person in each line.")
        if len(named) > MOST:
            raise ValidationError(f"{len(named)} people; expected 1 to {MOST}")
        if faults := [*faults, *self._faults(named, by_mail=data["way"] == MAIL)]:
            raise ValidationError(faults)
        usual = {"group": data["group"], "role": data["role"]}
        return [_with_defaults(each, **usual) for each in named.values()]

    def _faults(self, named: dict[int, Person], by_mail: bool) -> Iterator[str]:
        """What is wrong, line by line."""
        known, waiting = self._members(named), self._invited()
        first: dict[str, int] = {}
        for number, person in named.items():
            where = f"Line {number}: {abbreviated(person.address or person.name)}"
            if (by_mail or person.address) and not _is_address(person.address):
                yield f"{where}; expected a mail address, as in Ada Lovelace, ada@example.org"
            elif len(person.name) > LONGEST_NAME or not storable(person.name):
                yield f"{where}; expected a name of at most {LONGEST_NAME} characters"
            elif len(person.group) > LONGEST_GROUP or not storable(person.group):
                yield f"{where}; expected a group of at most {LONGEST_GROUP} characters"
            elif person.role and person.role not in ROLES:
                yield f"{where} is to be {abbreviated(person.role)}; expected one of {', '.join(ROLES)}"
            elif first.setdefault(person.identity(), number) != number:
                yield f"{where} is in line {first[person.identity()]} already"
            elif person.address in known:
                yield f"{where} is {known[person.address]}, a member already"
            elif person.identity() in waiting:
                yield f"{where} has an open invitation; withdraw it first, or send it again"

    def _members(self, named: dict[int, Person]) -> dict[str, str]:
        """Return the members among the people, by address."""
        addresses = {person.address for person in named.values()}
        members = EmailAddress.objects.filter(email__in=addresses, verified=True).filter(
            user__memberships__campaign=self.campaign
        )
        return {each.email: each.user.get_username() for each in members.select_related("user")}

    def _invited(self) -> set[str]:
        """Return the identities of the people with an open invitation."""
        named = self.campaign.invitations.open().exclude(seed="")
        return {Person(each.name, each.address).identity() for each in named}


def people_in(text: str) -> tuple[dict[int, Person], list[str]]:
    """Return the person of each line of a text by the line's number, and the lines that cannot be read.

    The first line may name the columns. Without that, they are name, address, group and role; the address may also
    stand first, and be left out.

    >>> people_in("Ada Lovelace, Ada@example.org")[0]
    {1: Person(name='Ada Lovelace', address='ada@example.org', group='', role='')}
    """
    lines = [(number, _cells(line)) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    titles = [cell.lower() for cell in lines[0][1]] if lines else []
    if titles and set(titles) <= {*COLUMNS} and len(set(titles)) == len(titles):
        lines.pop(0)
    else:
        titles = []
    found, faults = dict[int, Person](), list[str]()
    for number, cells in lines:
        columns = titles or _usual_columns(cells)
        if len(cells) > len(columns):
            faults.append(f"Line {number}: {len(cells)} columns; expected {', '.join(columns)}")
            continue
        person = Person(**dict(zip(columns, cells, strict=False)))
        found[number] = replace(person, address=person.address.lower(), role=person.role.lower())
    return found, faults


def written(person: Person) -> str:
    """Return the line that names the person, with all columns.

    >>> people_in(written(Person("Lovelace, Ada", "", "east")))[0]
    {1: Person(name='Lovelace, Ada', address='', group='east', role='')}
    """
    return ",".join('"' + " ".join(cell.replace('"', "'").split()) + '"' for cell in astuple(person))


def _with_defaults(person: Person, group: str, role: str) -> Person:
    return replace(person, group=person.group or group, role=person.role or role)


def _cells(line: str) -> list[str]:
    """Return the cells of a line, which a tab, a semicolon or a comma divides."""
    mark = next((mark for mark in "\t;" if mark in line), ",")
    return [" ".join(cell.split()) for cell in next(csv.reader([line], delimiter=mark, skipinitialspace=True))]


def _usual_columns(cells: list[str]) -> list[str]:
    """Return the columns of a line: those of a table, unless the address stands first or is left out."""
    if "@" in cells[0]:
        return ["address", "name", "group", "role"]
    is_table = len(cells) in (1, len(COLUMNS)) or not cells[1] or "@" in cells[1]
    return COLUMNS if is_table else ["name", "group", "role"]


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 254 and storable(text)


class LinkForm(forms.Form):
    """One link, for whoever has it: one person who joins at once, or several who ask to join."""

    role = role_field()
    people = forms.IntegerField(min_value=1, max_value=MOST_PLACES, required=False, label="People at most", initial=1)
    group = group_field()
    hours = forms.IntegerField(
        min_value=1,
        max_value=MOST_HOURS,
        label="Open for",
        initial=USUAL_LIFETIME,
        widget=forms.Select(choices=list(LIFETIMES.items())),
    )

    def clean_people(self) -> int:
        return self.cleaned_data["people"] or 1


@all_or_nothing
def invite_all(request: HttpRequest, lead: Membership, form: InvitationsForm) -> list[Invitation]:
    """Make an invitation for each person of a valid form, and ask for the mails, if they get any."""
    data = form.cleaned_data
    by_mail = data["way"] == MAIL
    if by_mail:
        must_send_mails()
    how: dict[str, Any] = {"language": data["language"] if by_mail else "", "by_hand": not by_mail}
    lifetime, made = timedelta(hours=data["hours"]), []
    for person in data["people"]:
        about = {"name": person.name, "address": person.address, "group": person.group}
        made.append(lead.campaign.invite_person(person.role, lead, lifetime, **about, **how))
        if by_mail:
            mails.ask_for(mails.mail_invitation, made[-1], request, data["language"])
    return made


def make_link(request: HttpRequest, lead: Membership, data: dict[str, Any]) -> NamedLink:
    """Make a link for one person or for several, as a valid form says. It cannot be shown again."""
    lifetime, people = timedelta(hours=data["hours"]), data.get("people", 1)
    made, secret = lead.campaign.invite(
        data["role"], lead, lifetime, places=people if people > 1 else None, group=data.get("group", "")
    )
    return NamedLink(made, site_address(request) + reverse("invitation", args=[secret]))


def named_links(campaign: Campaign, request: HttpRequest) -> list[NamedLink]:
    """Return the links that leads hand out and that nobody has used yet, by name."""
    invitations = campaign.invitations.to_hand_out().order_by("name", "address", "pk")
    return [NamedLink(each, link_of(each, request)) for each in invitations]


def link_of(invitation: Invitation, request: HttpRequest) -> str:
    try:
        return site_address(request) + reverse("invitation", args=[invitation.secret()])
    except Gone:
        return ""


def write_links(out: Any, links: list[NamedLink]) -> None:
    """Write a line for each link, as CSV for a spreadsheet or for mails that the lead sends."""
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*COLUMNS, "link", "until"])
    for each, link in links:
        until = timezone.localtime(each.expires).isoformat(" ", "minutes")
        writer.writerow(map(harmless, (each.name, each.address, each.group, each.role, link, until)))


def must_send_mails() -> None:
    """Raise WrongState if the settings name no mail server."""
    if not settings.MAILS:
        raise WrongState("This site sends no mails: whoever runs it has to set EMAIL_URL. Hand out links instead.")
