"""The form of a plan: how many queries a campaign needs to tell two systems apart."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import inf
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from campaigns.models import Campaign, Draft, Membership
from metrics import MeasureError
from metrics.analysis.planning import JUDGEMENTS, MOST, SECONDS, TVR_RANKING, Plan, Spread, Work, plans
from metrics.analysis.sampling import FEWEST
from runs.estimates.planning import pairs_judged, pilots_of

OWN, AT_FIRST = "own", TVR_RANKING["spread"]
OF_TVR_RANKING = {
    "spread": "Systems that find moments more or less often",
    "close": "Systems that find about as many moments",
    "rerank": "Systems that only order the candidates",
}


class PlanForm(forms.Form):
    """What the number of queries depends on, and what judging them takes. What is not given is as usual."""

    difference = forms.FloatField(
        label="Difference of two systems", min_value=0.001, max_value=1, help_text="In NDCG@20, such as 0.02."
    )
    power = forms.FloatField(
        label="Power", min_value=0.1, max_value=0.999, help_text="Probability of finding it, such as 0.8."
    )
    like = forms.ChoiceField(label="How differences vary between queries")
    run = forms.IntegerField(required=False, label="Run", widget=forms.Select)
    other = forms.IntegerField(required=False, label="less", widget=forms.Select)
    sd = forms.FloatField(
        required=False,
        min_value=0.0001,
        max_value=1,
        label="Standard deviation",
        help_text="Of the difference, between queries. Of systems on TVR-Ranking it is 0.06 to 0.14.",
    )
    sd_left = forms.FloatField(
        required=False,
        min_value=0.0001,
        max_value=1,
        label="What caption ranks leave of it",
        help_text="Empty: all of it, so that ranked queries correct nothing.",
    )
    ranked = forms.IntegerField(
        required=False,
        min_value=FEWEST,
        max_value=MOST,
        label="Ranked queries",
        help_text="Judged or not. Empty: many more than are judged.",
    )
    judgements = forms.FloatField(label="Judgements of a query", min_value=1, max_value=1000)
    seconds = forms.FloatField(label="Seconds of a judgement", min_value=1, max_value=3600)
    people = forms.IntegerField(required=False, label="Annotators", min_value=1, max_value=10_000)
    hours = forms.FloatField(required=False, label="Hours of each in a week", min_value=0.1, max_value=168)

    def __init__(self, draft: Draft, given: Mapping[str, Any]) -> None:
        self.draft = draft
        self.pilots = pilots_of(draft.owner)
        usual = self._usual()
        like = str(given.get("like", usual["like"]))
        self.pilot, self.is_own = self.pilots.get(like), like == OWN
        if self.pilot:
            usual |= dict(zip(("run", "other"), self.pilot.runs, strict=False))
        elif self.is_own and "sd" not in given:
            usual |= {"sd": AT_FIRST.judged, "sd_left": AT_FIRST.left}
        super().__init__({name: value for name, value in (usual | {**given}).items() if value is not None})
        fields: dict[str, Any] = self.fields
        fields["like"].choices = self._choices()
        for name in ("run", "other"):
            fields[name].widget.choices = list(self.pilot.runs.items()) if self.pilot else []

    def _usual(self) -> dict[str, Any]:
        """Return the usual values: TVR-Ranking's, and what the draft says."""
        campaign, people = Campaign(**self.draft.settings), [role for _, role in self.draft.people]
        return {
            "difference": 0.02,
            "power": 0.8,
            "like": next(iter(OF_TVR_RANKING)),
            "ranked": sum(self.draft.selection.get(name) or 0 for name in ("validation", "test")) or None,
            "judgements": round(JUDGEMENTS * pairs_judged(campaign) / pairs_judged(Campaign()), 1),
            "seconds": round(SECONDS),
            "people": people.count(Membership.Role.ANNOTATOR) or None,
        }

    def _choices(self) -> list[Any]:
        pilots = [(name, name.replace("/", ", release ")) for name in self.pilots]
        return [
            ("As on TVR-Ranking", list(OF_TVR_RANKING.items())),
            *([("As two runs of a campaign", pilots)] if pilots else []),
            ("As I know", [(OWN, "Standard deviations of my own")]),
        ]

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if self.errors:
            return data
        if self.is_own and data["sd"] is None:
            raise ValidationError({"sd": "Write a standard deviation, such as 0.14."})
        if self.pilot and (data["run"] == data["other"] or not {data["run"], data["other"]} <= {*self.pilot.runs}):
            raise ValidationError({"other": f"Choose two of the runs {', '.join(map(str, self.pilot.runs))}."})
        try:
            self.spread = self._spread(data)
        except MeasureError as fault:
            raise ValidationError({"sd_left" if self.is_own else "like": f"{fault}."}) from fault
        return data

    def _spread(self, data: dict[str, Any]) -> Spread:
        if self.pilot:
            return self.pilot.spread(data["run"], data["other"])
        if self.is_own:
            return Spread(data["sd"], data["sd_left"] or data["sd"])
        return TVR_RANKING[data["like"]]

    @cached_property
    def plans(self) -> list[Plan]:
        """The plans, once the form is valid."""
        data, rate = self.cleaned_data, self.draft.settings.get("hourly_rate")
        weekly = data["people"] * data["hours"] if data["people"] and data["hours"] else None
        work = Work(data["judgements"], data["seconds"], float(rate) if rate else None, weekly)
        ranked = data["ranked"] or inf
        return plans(data["difference"], self.spread, work, power=data["power"], ranked=ranked)
