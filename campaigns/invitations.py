"""Inviting many people at once: reading their names, one a line, and the links to hand out."""

from __future__ import annotations

import csv
from dataclasses import astuple, dataclass, fields, replace
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from base.errors import Gone, WrongState
from base.text import harmless
from base.transactions import all_or_nothing
from campaigns import mails
from campaigns.models import Campaign, Invitation, Membership

MOST = 300  # people at a time
# Hours for which an invitation is open.
LIFETIMES = {1: "1 hour", 24: "1 day", 72: "3 days", 168: "7 days", 336: "14 days", 720: "30 days"}
MOST_HOURS, USUAL_LIFETIME = max(LIFETIMES), 168
MAIL, LINKS = "mail", "links"


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


COLUMNS = [field.name for field in fields(Person)]


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


@all_or_nothing
def invite_all(
    lead: Membership, people: list[Person], way: str, hours: int, language: str, site: str
) -> list[Invitation]:
    """Make an invitation for each person, and ask for the mails, if they get any, with links to this site's address."""
    by_mail = way == MAIL
    if by_mail:
        must_send_mails()
    how: dict[str, Any] = {"language": language if by_mail else "", "by_hand": not by_mail}
    made = []
    for person in people:
        about = how | {"name": person.name, "address": person.address, "group": person.group}
        made.append(lead.campaign.invite_person(person.role, lead, timedelta(hours=hours), **about))
        if by_mail:
            mails.mail_invitation.ask(made[-1], site=site, language=language)
    return made


def make_link(lead: Membership, site: str, role: str, hours: int, people: int = 1, group: str = "") -> NamedLink:
    """Make a link for one person or for several, at the address of this site. It cannot be shown again."""
    places = people if people > 1 else None
    made, secret = lead.campaign.invite(role, lead, timedelta(hours=hours), places=places, group=group)
    return NamedLink(made, site + reverse("invitation", args=[secret]))


def named_links(campaign: Campaign, site: str) -> list[NamedLink]:
    """Return the links that leads hand out and that nobody has used yet, by name."""
    invitations = campaign.invitations.to_hand_out().order_by("name", "address", "pk")
    return [NamedLink(invitation, link_of(invitation, site)) for invitation in invitations]


def link_of(invitation: Invitation, site: str) -> str:
    try:
        return site + reverse("invitation", args=[invitation.secret()])
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
