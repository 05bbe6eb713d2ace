"""A campaign's settings and how work is steered: the forms that check a change, what is fixed, and what follows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.formats import date_format

from base.forms import ranged_field
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, LogEntry, Membership, log
from campaigns.models.campaign import MOST_JUDGEMENTS
from campaigns.models.membership import LONGEST_GROUP
from judging.models import Assignment, Batch, Candidate
from judging.models.pool import QueryQuerySet
from judging.models.states import Priority
from judging.pool.clips import cut_clips_anew
from judging.pool.distractors import draw_distractors
from judging.pool.queries import draw_order, give_to_group, set_priority
from judging.quality.check_results import BATCHES, CAREFUL, catch_of
from judging.quality.examples import attach_clip

SECTIONS = {
    "The campaign": ("title",),
    "Clips": ("padding", "sound", "play_once", "watch_first"),
    "Batches and agreement": ("batch_size", "batches", "tolerance", "order_seed"),
    "When a query has had enough": ("second_from", "auto_second_from", "auto_close_below"),
    "Who may judge": ("exam", "exam_rounds", "may_return", "week_quota"),
    "Attention checks": ("hidden_places", "mixes_queries", "check_warn", "check_pause"),
    "Runs": ("runs_a_day", "held_back_runs", "public_board"),
    "Pay": ("hourly_rate", "currency", "all_days", "paid_plays", "paid_beyond", "paid_exam"),
}  # of the page of settings
SETTINGS = [name for names in SECTIONS.values() for name in names]
COLUMNS = set(SETTINGS) - {"all_days"}  # of the campaign
LIMITS = ("most_in_all", "most_a_day", "most_a_week")  # of an annotator
RANKED = "it is fixed, because the candidates are already ranked and in their batches"
BEGUN = "it is fixed since the first batch was claimed, so that all are judged alike"
FIXED_WHEN_RANKED = ("batch_size", "batches")
FIXED_WHEN_BEGUN = ("tolerance", "order_seed", "padding", "sound")
NOT_SAID = object()
FEWEST_NAMED = 0.001  # share; a simulation of a few thousand people says no more
ALL, OF_GROUP, NONE = "all", "group ", "-"  # as pages and the API name them
WHO_HELP = f"Worker numbers with commas between them, “{OF_GROUP}” and the name of a group, or “{ALL}”."
WORKERS = re.compile("[0-9]{1,9}(,[0-9]{1,9}){0,499}", re.ASCII)
SPLIT_HELP = f"Empty for all of them, “{NONE}” for queries without one."


@all_or_nothing
def set_up(
    lead: Membership,
    data: Mapping[str, Any],
    *,
    partial: bool = False,
    precondition: Callable[[Campaign], None] | None = None,
) -> SettingsForm:
    """Store the settings if they are valid. What is fixed stays, even if somebody claims a batch at the same moment.

    Parameters
    ----------
    partial
        Whether settings that `data` does not name stay as they are.
    precondition
        Is called with the locked campaign before anything changes, and may raise an error.
    """
    # Claims lock the claimant's membership: while all are held, nobody gets a batch.
    list(locked(Membership.objects.filter(campaign=lead.campaign)).order_by("pk"))
    campaign = locked(Campaign.objects.filter(pk=lead.campaign_id)).get()  # others change it too
    if precondition:
        precondition(campaign)
    before = values_of(campaign)
    data = before | dict(data) if partial else data
    rate, form = campaign.hourly_rate, SettingsForm(data, instance=campaign)
    if form.is_valid():
        form.save()
        for name in sorted(COLUMNS & set(form.changed_data)):
            log(lead, LogEntry.Kind.SETTINGS, label_of(name), before[name], getattr(campaign, name))
        campaign.store_past_rate(rate, form.cleaned_data["all_days"])
        if {"padding", "sound"} & set(form.changed_data):
            _cut_anew(campaign)
        if "hidden_places" in form.changed_data:
            draw_distractors.ask(campaign)
        if "order_seed" in form.changed_data:
            draw_order(campaign)
    return form


def label_of(name: str) -> str:
    """Return what a setting or a limit is called."""
    column: Any = (Membership if name in LIMITS else Campaign)._meta.get_field(name)
    return str(column.verbose_name)


def values_of(campaign: Campaign) -> dict[str, Any]:
    return {name: getattr(campaign, name) for name in sorted(COLUMNS)}


def _cut_anew(campaign: Campaign) -> None:
    """Shut the open batches until their clips are cut as the settings say now."""
    batches = Batch.objects.in_campaign(campaign).filter(state=Batch.State.OPEN)
    batches.update(state=Batch.State.PREPARING)
    cut_clips_anew.ask(campaign)
    for example in campaign.examples.select_related("campaign", "moment__video"):
        attach_clip(example)


def fixed(campaign: Campaign) -> dict[str, str]:
    """The settings that can no longer change, each with why: none of a campaign that is still to be made."""
    if campaign.pk is None:
        return {}
    ranked = Candidate.objects.in_campaign(campaign).exists()
    begun = Assignment.objects.filter(annotator__campaign=campaign).exists()
    reasons = dict.fromkeys(FIXED_WHEN_RANKED, RANKED) if ranked else {}
    return reasons | (dict.fromkeys(FIXED_WHEN_BEGUN, BEGUN) if begun else {})


@dataclass(frozen=True)
class Fixed:
    """A setting shown instead of asked for."""

    label: str
    value: str
    why: str


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]  # the stubs' parameter is not there at run time
    all_days = forms.BooleanField(
        required=False,
        label="Pay the days before today at this rate, too",
        help_text="Use this to correct a wrong rate: earnings that are not approved yet are counted again.",
    )

    class Meta:
        model = Campaign
        fields = SETTINGS
        formfield_callback = ranged_field

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.past = list(self.instance.past_rates.order_by("last")) if self.instance.pk else []
        if self.past:
            until = ", ".join(f"{each.hourly} until {date_format(each.last, 'j F Y')}" for each in self.past)
            self.fields["hourly_rate"].help_text += f" It was {until}."
        if self.instance.hidden_places:
            self.fields["hidden_places"].help_text += f" {_catches(self.instance)}"
        for name, field in self.fields.items():
            # The page says beside each value what it was, so that others' changes are told from those of this lead.
            field.show_hidden_initial = not self.is_bound or self.add_initial_prefix(name) in self.data
        self.fixed = fixed(self.instance)
        self.removed = {name: self.fields.pop(name) for name in self.fixed}

    def sections(self) -> Iterator[tuple[str, list[forms.BoundField | Fixed]]]:
        """The form section by section, with what is fixed in its place."""
        for heading, names in SECTIONS.items():
            yield heading, [self._fixed(name) if name in self.fixed else self[name] for name in names]

    def _fixed(self, name: str) -> Fixed:
        value = getattr(self.instance, name)
        if isinstance(value, bool):
            value = "yes" if value else "no"
        return Fixed(label_of(name), f"{value:g}" if isinstance(value, float) else str(value), self.fixed[name])

    def clean_week_quota(self) -> int | None:
        return holds_a_batch(self.cleaned_data["week_quota"], self.instance)

    def clean_currency(self) -> str:
        currency = str(self.cleaned_data["currency"]).upper()
        if currency and not re.fullmatch("[A-Z]{3}", currency):
            raise forms.ValidationError("Write the three letters of ISO 4217, like SGD.")
        return currency

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        self._leave_the_rest(data)
        for name, field in self.removed.items():
            if name in self.data and self._differs(name, field):
                self.add_error(None, f"{label_of(name)}: {self.fixed[name]}.")
        if (data.get("check_pause") or 0) < (data.get("check_warn") or 0):
            self.add_error("check_pause", "The pause comes after the warning. Write at least the share of the warning.")
        opens, closes = data.get("auto_second_from"), data.get("auto_close_below")
        if opens is not None and closes is not None and closes > opens:
            self.add_error("auto_close_below", "Write at most the mean that opens the second batch by itself.")
        if data.get("hourly_rate") is not None and not data.get("currency") and "currency" not in self.errors:
            self.add_error("currency", "Name the currency of the pay, like SGD.")
        if self.past and "currency" in self.changed_data and not data.get("all_days"):
            self.add_error(
                "currency",
                f"Past days were paid in {self.initial['currency']}. Tick the box that pays them at this rate, too.",
            )
        return data

    def _leave_the_rest(self, data: dict[str, Any]) -> None:
        """Take from the campaign what the lead did not change, and refuse what somebody else changed meanwhile."""
        for name in self.fields.keys() & COLUMNS:
            present = getattr(self.instance, name)
            if name not in self.changed_data:
                data[name] = present
            elif name in data and data[name] != present and self._seen(name) not in (NOT_SAID, present):
                now = f"Somebody else set this to {present} meanwhile. Save again to replace that."
                self.add_error(name, now)
                now_seen = {self.add_initial_prefix(name): "" if present is None else str(present)}
                self.data = {**self.data, **now_seen}

    def _seen(self, name: str) -> Any:
        """Return the value that the lead's page had, if it said so."""
        field = self.fields[name]
        return field.to_python(self.data[self.add_initial_prefix(name)]) if field.show_hidden_initial else NOT_SAID

    def save(self, commit: bool = True) -> Campaign:
        """Store what the lead changed, and no other column: others may change those at this moment."""
        campaign: Campaign = self.instance
        campaign.save(update_fields=COLUMNS & set(self.changed_data))
        return campaign

    def _differs(self, name: str, field: forms.Field) -> bool:
        try:
            return bool(field.clean(self.data[name]) != getattr(self.instance, name))
        except forms.ValidationError:
            return True


def _catches(campaign: Campaign) -> str:
    """Say what the present number of hidden places catches, and when."""
    found = catch_of(campaign)
    when = f"after {found.places} clips (median)" if found.places else f"mostly not within {BATCHES} batches"
    wrongly = f"{found.wrongly:.1%}" if found.wrongly >= FEWEST_NAMED else f"fewer than {FEWEST_NAMED:.1%}"
    return (
        f"Now somebody who grades at random is paused {when}; of careful people, who miss {CAREFUL:.0%} of the checks, "
        f"{wrongly} are paused within {BATCHES} batches."
    )


def holds_a_batch(most: int | None, campaign: Campaign) -> int | None:
    """Return a limit. Refuse one that no batch fits into."""
    if most is not None and most < campaign.largest_batch:
        raise forms.ValidationError(f"A batch has up to {campaign.largest_batch} clips. Write at least as many.")
    return most


class SteeringForm(forms.Form):
    """A way in which a lead steers work. What it leads to can be looked at before it is done (reports/steering.py)."""

    title = ""
    has_outlook = True

    def __init__(self, lead: Membership, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id=f"{type(self).__name__}-%s")  # a page has several
        self.lead, self.campaign = lead, lead.campaign
        options = self.options()
        for name, field in self.fields.items():
            field.help_text = ""  # which is for the API: the page has a sentence for all, and lists
            field.widget = forms.Select(choices=options[name]) if name in options else field.widget

    def options(self) -> dict[str, list[tuple[str, str]]]:
        """Return what there is to choose from on the page, of each field."""
        members = self.campaign.memberships.reachable().select_related("user").order_by("worker")
        groups = sorted({member.group for member in members} - {""})
        strata = self.campaign.queries.all().strata() if "stratum" in self.fields else ()
        people = [(str(member.worker), f"Worker {member.worker}: {member.user.get_username()}") for member in members]
        who = [(ALL, "All annotators"), *((f"{OF_GROUP}{group}", f"Group {group}") for group in groups), *people]
        named = {"who": who, "group": [(group, group) for group in groups]}
        for place, name in enumerate(("split", "stratum")):
            found = sorted({stratum[place] for stratum in strata})
            named[name] = [("", "all"), *((each or NONE, each or "none") for each in found)]
        return named

    def clean_who(self) -> Any:
        """Return the annotators that are meant."""
        who, members = self.cleaned_data["who"], self.campaign.memberships.reachable()
        if who.startswith(OF_GROUP):
            members = members.filter(group=who.removeprefix(OF_GROUP))
        elif who != ALL:
            members = members.filter(worker__in=who.split(",")) if WORKERS.fullmatch(who) else members.none()
        if not members.exists():
            raise forms.ValidationError(f"There is no such annotator. Expected: {WHO_HELP}")
        return members

    def clean_group(self) -> str:
        """Return the name of a group that there is."""
        group, members = self.cleaned_data["group"], self.campaign.memberships.reachable()
        if not members.filter(group=group).exists():
            raise forms.ValidationError("There is no such group. Put annotators into it first.")
        return str(group)

    def queries(self) -> QueryQuerySet:
        """Return the queries of the strata that are meant, which are whole."""
        chosen = {name: self.cleaned_data[name] for name in ("split", "stratum") if self.cleaned_data[name]}
        named = {name: "" if value == NONE else value for name, value in chosen.items()}
        return self.campaign.queries.pool().filter(**named)

    def apply(self) -> str:
        """Do it, and return that in words."""
        raise NotImplementedError


class LimitsForm(SteeringForm):
    title = "Set limits"
    who = forms.CharField(label="Who", help_text=WHO_HELP)
    most_in_all = Membership._meta.get_field("most_in_all").formfield(min_value=1, max_value=MOST_JUDGEMENTS)
    most_a_day = Membership._meta.get_field("most_a_day").formfield(min_value=1, max_value=MOST_JUDGEMENTS)
    most_a_week = Membership._meta.get_field("most_a_week").formfield(min_value=1, max_value=MOST_JUDGEMENTS)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for name in LIMITS:
            try:
                holds_a_batch(data.get(name), self.campaign)
            except forms.ValidationError as fault:
                self.add_error(name, fault)
        return data

    def apply(self) -> str:
        limits = {name: self.cleaned_data[name] for name in LIMITS}
        words = ", ".join(f"{most:,} {label_of(name).lower()}" for name, most in limits.items() if most)
        words = f"judgements at most: {words}" if words else "no limit of judgements"
        number = self.cleaned_data["who"].steer(self.lead, words, **limits)
        return f"{words.capitalize()}. Annotators for whom this is new: {number:,}."


class GroupForm(SteeringForm):
    title = "Put into a group"
    who = forms.CharField(label="Who", help_text=WHO_HELP)
    group = forms.CharField(label="Group", required=False, max_length=LONGEST_GROUP, help_text="Empty for none.")

    def options(self) -> dict[str, list[tuple[str, str]]]:
        return {"who": super().options()["who"]}

    def clean_group(self) -> str:
        return str(self.cleaned_data["group"])

    def apply(self) -> str:
        group = self.cleaned_data["group"]
        words = f"group {group}" if group else "no group"
        number = self.cleaned_data["who"].steer(self.lead, words, group=group)
        return f"{words.capitalize()}. Annotators for whom this is new: {number:,}."


class PriorityForm(SteeringForm):
    title = "Set when a stratum comes"
    split = forms.CharField(label="Split", required=False, help_text=SPLIT_HELP)
    stratum = forms.CharField(label="Stratum", required=False, help_text=SPLIT_HELP)
    priority = forms.ChoiceField(
        label="Annotators get it", choices=[(each.name.lower(), each.label) for each in Priority]
    )

    def apply(self) -> str:
        priority = Priority[self.cleaned_data["priority"].upper()]
        number = set_priority(self.lead, self.queries(), priority)
        return f"These strata come {priority.label}. Batches for which this is new: {number:,}."


class ShareForm(SteeringForm):
    title = "Give queries to a group"
    split = forms.CharField(label="Split", required=False, help_text=SPLIT_HELP)
    stratum = forms.CharField(label="Stratum", required=False, help_text=SPLIT_HELP)
    group = forms.CharField(label="Group", max_length=LONGEST_GROUP)
    percent = forms.IntegerField(
        label="Share, %", min_value=0, max_value=100, help_text="Of these queries; 0 gives them back to everybody."
    )

    def apply(self) -> str:
        group, percent = self.cleaned_data["group"], self.cleaned_data["percent"]
        number = give_to_group(self.lead, self.queries(), group, percent)
        return f"Round one of {percent} % of these queries is for group {group}. Batches that changed: {number:,}."


STEERING: dict[str, type[SteeringForm]] = {
    "limits": LimitsForm,
    "group": GroupForm,
    "priority": PriorityForm,
    "share": ShareForm,
}
