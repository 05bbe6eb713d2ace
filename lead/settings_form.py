"""A campaign's settings as a form: what each does, which values it may have, and which are fixed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.formats import date_format

from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Membership
from campaigns.models.campaign import CHECK_RATES, MOST_BEYOND, MOST_PLAYS
from judging.consensus import GRADES
from judging.models import Assignment, Batch, Candidate
from judging.pool.clips import cut_clips_anew
from judging.quality.examples import attach_clip
from reports.pay.rates import store_past_rate

RANKED = "it is fixed, because the candidates are already ranked and in their batches"
BEGUN = "it is fixed since the first batch was claimed, so that all are judged alike"
FIXED_WHEN_RANKED = ("batch_size", "batches")
FIXED_WHEN_BEGUN = ("tolerance", "order_seed", "padding", "sound")
NOT_SAID = object()
MOST_ROUNDS = 10  # of an exam

SECTIONS = {
    "The campaign": ("title",),
    "Clips": ("padding", "sound", "play_once", "watch_first"),
    "Batches and agreement": ("batch_size", "batches", "tolerance", "order_seed"),
    "When a query has had enough": ("second_from", "auto_second_from", "auto_close_below"),
    "Who may judge": ("exam", "exam_rounds", "may_return"),
    "Quiet checks": ("check_rate", "check_warn", "check_pause"),
    "Pay": ("hourly_rate", "currency", "all_days", "paid_plays", "paid_beyond"),
}
LABELS = {
    "title": "Title",
    "padding": "Seconds around a moment",
    "sound": "Clips have sound",
    "play_once": "A clip must play to its end before it is graded",
    "watch_first": "Seconds that a clip must move before it is graded",
    "batch_size": "Candidates in a batch",
    "batches": "Batches of a query, at most",
    "tolerance": "Grades agree when they differ by at most",
    "order_seed": "Seed of the order of clips",
    "second_from": "Recommend a second batch from a mean of",
    "auto_second_from": "Open the second batch automatically from a mean of",
    "auto_close_below": "Close the query automatically below a mean of",
    "exam": "Annotators must pass the exam before they get work",
    "exam_rounds": "Rounds of the exam",
    "may_return": "Who began a batch may judge its contested clips if nobody else is left",
    "check_rate": "Share of judgements that are checks",
    "check_warn": "Warn from a share of missed checks of",
    "check_pause": "Pause from a share of missed checks of",
    "hourly_rate": "Pay for an hour",
    "currency": "Currency",
    "all_days": "Pay the days before today at this rate, too",
    "paid_plays": "Plays of a clip that one press may count",
    "paid_beyond": "Seconds beyond these plays",
}
HELP = {
    "title": "People see it instead of the short name.",
    "padding": "Time shown before and after each moment, 0 to 60. Annotators then see more than they grade.",
    "sound": "Annotators hear the clips where the videos have sound.",
    "play_once": "The keys 0-4 do nothing until the clip has played to its end.",
    "watch_first": "0 to 10. A key that comes sooner grades nothing, so that a double press grades no clip unseen.",
    "batch_size": "20 in the published method.",
    "batches": "2 in the published method: ranks 1-20, then 21-40 where there is more to find.",
    "tolerance": "1 in the published method. A candidate whose grades differ by more goes to two other annotators.",
    "order_seed": "The order of clips and the draw of checks follow from this number. Annotators must not know it.",
    "second_from": "Mean grade of a batch's last five, 0 to 4. From here on the batch page recommends another.",
    "auto_second_from": "Applies without you to batches that settle from now on. Empty: you decide.",
    "auto_close_below": "Applies without you to batches that settle from now on. Empty: you decide.",
    "exam": "New annotators take the exam first. You may let anybody work without it.",
    "exam_rounds": "Rounds in which missed pairs come back before the exam is failed, 1 to 10.",
    "may_return": "They know then that others disagreed. Their grades are asked again. Otherwise the batch waits.",
    "check_rate": "0 for none, else 0.05 to 0.15. Checks look like any other batch.",
    "check_warn": "Between 0 and 1. An annotator who misses this share of the checks gets a message.",
    "check_pause": "Between 0 and 1, at least the warning's share. Work then stops until you decide.",
    "hourly_rate": "Annotators see what they have earned. A new rate holds from today on.",
    "currency": "Three letters of ISO 4217, like SGD, EUR or INR.",
    "all_days": "Use this to correct a wrong rate: earnings that are not approved yet are counted again.",
    "paid_plays": f"1 to {MOST_PLAYS}. One press counts no more seconds than these plays take, and those below.",
    "paid_beyond": f"0 to {MOST_BEYOND}. The rest of what a browser reports is cut. A change holds for later claims.",
}
CAMPAIGNS_OWN = {name for names in SECTIONS.values() for name in names} - {"all_days"}  # columns


@all_or_nothing
def set_up(lead: Membership, data: Mapping[str, Any]) -> SettingsForm:
    """Store the settings if they are valid. What is fixed stays, even if somebody claims a batch at the same moment."""
    # Claims lock the claimant's membership: while all are held, nobody gets a batch.
    list(locked(Membership.objects.filter(campaign=lead.campaign)).order_by("pk"))
    campaign = locked(Campaign.objects.filter(pk=lead.campaign_id)).get()  # others change it too
    rate, form = campaign.hourly_rate, SettingsForm(data, instance=campaign)
    if form.is_valid():
        form.save()
        store_past_rate(campaign, rate, form.cleaned_data["all_days"])
        if {"padding", "sound"} & set(form.changed_data):
            _cut_anew(campaign)
    return form


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
    all_days = forms.BooleanField(required=False, label=LABELS["all_days"], help_text=HELP["all_days"])

    class Meta:
        model = Campaign
        fields = [name for names in SECTIONS.values() for name in names]
        labels = LABELS
        help_texts = HELP

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in ("second_from", "auto_second_from", "auto_close_below"):
            self._between(name, min(GRADES), max(GRADES))
        for name in ("check_warn", "check_pause"):
            self._between(name, 0, 1)
        self._between("padding", 0, 60)
        self._between("watch_first", 0, 10)
        self._between("batch_size", 1, 100)
        self._between("batches", 1, 2)
        self._between("tolerance", 0, 3)
        self._between("exam_rounds", 1, MOST_ROUNDS)
        self._between("hourly_rate", 0, 999_999)
        self._between("paid_plays", 1, MOST_PLAYS)
        self._between("paid_beyond", 0, MOST_BEYOND)
        self.past = list(self.instance.past_rates.order_by("last")) if self.instance.pk else []
        if self.past:
            until = ", ".join(f"{each.hourly} until {date_format(each.last, 'j F Y')}" for each in self.past)
            self.fields["hourly_rate"].help_text += f" It was {until}."
        for name, field in self.fields.items():
            # The page says beside each value what it was, so that others' changes are told from those of this lead.
            field.show_hidden_initial = not self.is_bound or self.add_initial_prefix(name) in self.data
        self.fixed = fixed(self.instance)
        self.removed = {name: self.fields.pop(name) for name in self.fixed}

    def _between(self, name: str, least: float, most: float) -> None:
        field = self.fields[name]
        field.validators += [MinValueValidator(least), MaxValueValidator(most)]
        field.widget.attrs |= {"min": least, "max": most}

    def sections(self) -> Iterator[tuple[str, list[forms.BoundField | Fixed]]]:
        """The form section by section, with what is fixed in its place."""
        for heading, names in SECTIONS.items():
            yield heading, [self._fixed(name) if name in self.fixed else self[name] for name in names]

    def _fixed(self, name: str) -> Fixed:
        value = getattr(self.instance, name)
        if isinstance(value, bool):
            value = "yes" if value else "no"
        return Fixed(LABELS[name], f"{value:g}" if isinstance(value, float) else str(value), self.fixed[name])

    def clean_currency(self) -> str:
        currency = str(self.cleaned_data["currency"]).upper()
        if currency and not re.fullmatch("[A-Z]{3}", currency):
            raise forms.ValidationError("Write the three letters of ISO 4217, like SGD.")
        return currency

    def clean_check_rate(self) -> float:
        rate = float(self.cleaned_data["check_rate"])
        if rate and not CHECK_RATES[0] <= rate <= CHECK_RATES[1]:
            raise forms.ValidationError("Write 0 for no checks, or a share from 0.05 to 0.15.")
        return rate

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        self._leave_the_rest(data)
        for name, field in self.removed.items():
            if name in self.data and self._differs(name, field):
                self.add_error(None, f"{LABELS[name]}: {self.fixed[name]}.")
        if (data.get("check_pause") or 0) < (data.get("check_warn") or 0):
            self.add_error(
                "check_pause", "The pause comes after the warning. Write at least the share of the warning."
            )
        opens, closes = data.get("auto_second_from"), data.get("auto_close_below")
        if opens is not None and closes is not None and closes > opens:
            self.add_error(
                "auto_close_below", "Write at most the mean that opens the second batch by itself."
            )
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
        for name in self.fields.keys() & CAMPAIGNS_OWN:
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
        return (
            field.to_python(self.data[self.add_initial_prefix(name)])
            if field.show_hidden_initial
            else NOT_SAID
        )

    def save(self, commit: bool = True) -> Campaign:
        """Store what the lead changed, and no other column: others may change those at this moment."""
        campaign: Campaign = self.instance
        campaign.save(update_fields=CAMPAIGNS_OWN & set(self.changed_data))
        return campaign

    def _differs(self, name: str, field: forms.Field) -> bool:
        try:
            return bool(field.clean(self.data[name]) != getattr(self.instance, name))
        except forms.ValidationError:
            return True
