"""The forms of a campaign that both pages and the API use: the guideline, and invitations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from allauth.account.models import EmailAddress
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from base.forms import Text
from base.text import abbreviated, storable
from campaigns.invitations import LIFETIMES, LINKS, MAIL, MOST, MOST_HOURS, USUAL_LIFETIME, Person, people_in
from campaigns.models import Campaign, Membership
from campaigns.models.invitation import LONGEST_NAME, MOST_PLACES
from campaigns.models.membership import LONGEST_GROUP

LONGEST_GUIDELINE = 50_000  # characters
WAYS = {MAIL: "A mail to each", LINKS: "Links that you hand out"}
ROLES = [str(role) for role in Membership.Role.values]


class LinesField(Text):
    """Lines as they are stored, each with its end."""

    def to_python(self, value: Any) -> str:
        text = super().to_python(value).replace("\r", "\n").strip("\n")
        return f"{text}\n" if text.strip() else ""


class GuidelineForm(forms.Form):
    text = LinesField(
        max_length=LONGEST_GUIDELINE,
        strip=False,
        label="Guideline",
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "true"}),
        error_messages={"required": "The guideline is empty. Write something."},
    )
    started_from = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)


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
        return [
            replace(person, group=person.group or data["group"], role=person.role or data["role"])
            for person in named.values()
        ]

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
        return {member.email: member.user.get_username() for member in members.select_related("user")}

    def _invited(self) -> set[str]:
        """Return the identities of the people with an open invitation."""
        named = self.campaign.invitations.open().exclude(seed="")
        return {Person(each.name, each.address).identity() for each in named}


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
