"""The forms of runs: the query parameters of pages, and what people send.

An operation of the API takes the parameters of its page's form, and calls the same function with the same values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from base.forms import LARGEST
from campaigns.models import Campaign
from metrics.formats import RUN_FORMATS, TASKS
from runs.board.options import AMOUNTS, LENGTHS
from runs.estimates.predictors import FEWEST_FRAMES, FRAMES, MOST_FRAMES
from runs.explain.queries import EXPLAINED
from runs.explain.queries import MOST_RUNS as MOST_EXPLAINED
from runs.measures import NAMES, NDCG
from runs.models import Near, Predictor, Run, Score, Submission
from runs.pools.enlarging import DEEPEST, MOST_RUNS, THRESHOLDS, PoolPlan, open_runs
from runs.rejudging import OF_BENCHMARK
from runs.reliability.figures import FIGURES
from runs.reliability.inquiries import CONVENTIONS
from runs.reliability.inquiries import MOST_RUNS as MOST_EXAMINED
from runs.systems.models import LONGEST_QUERY
from systems.interface import SYSTEMS

LONGEST_MEASURE = Score._meta.get_field("measure").max_length or 0  # characters of its name
FIRST = ("name", "system", "group", "visibility")  # fields of an upload
FORMATS = {
    "ranking": "TVR-Ranking: an object from query to predictions",
    "predictions": "a list of queries with predictions",
    "tvretrieval": "TVRetrieval's submission",
    "trec": "TREC",
}


def number_field(right: str, required: bool = False, least: int = 1, help_text: str = "") -> forms.IntegerField:
    """Return the field of a number that people see, such as a run's; `right` is what its message expects."""
    messages = dict.fromkeys(("required", "invalid", "min_value", "max_value"), f"expected {right}")
    return forms.IntegerField(
        required=required, min_value=least, max_value=LARGEST, error_messages=messages, help_text=help_text
    )


def choice_field(names: Iterable[str], required: bool = False) -> forms.ChoiceField:
    """Return the field of a choice among names."""
    known = list(names)
    messages = {"invalid_choice": f"%(value)s; expected one of {', '.join(known)}"}
    return forms.ChoiceField(required=required, choices=[(name, name) for name in known], error_messages=messages)


def measure_field(required: bool = False, help_text: str = "") -> forms.CharField:
    """Return the name of a measure, as the library parses it."""
    return forms.CharField(required=required, max_length=LONGEST_MEASURE, help_text=help_text)


class SeveralField(forms.MultipleChoiceField):
    """A parameter that may come several times. The field `each` cleans each value; empty ones are left out.

    `most`: how many values the API takes.
    """

    def __init__(self, each: forms.Field, help_text: str, most: int | None = None) -> None:
        self.each, self.most = each, most
        super().__init__(required=False, help_text=help_text)

    def clean(self, value: list[str]) -> list[object]:
        return [self.each.clean(one) for one in value if one]


class ReleaseForm(forms.Form):
    release = number_field("the number of a release", help_text="else the newest")


class BoardForm(ReleaseForm):
    convention = choice_field(NAMES)
    m = SeveralField(measure_field(), "measures")
    sort = measure_field(help_text="a measure, or `run`")
    baseline = number_field("the number of a run", help_text="a run's number")
    seeds = forms.CharField(required=False)
    means = forms.CharField(required=False)
    split = forms.CharField(required=False, max_length=100)
    length = choice_field(LENGTHS)
    relevant = choice_field(AMOUNTS)


class ScoresForm(ReleaseForm):
    unit = choice_field(["percent"])


class RejudgedForm(forms.Form):
    own = choice_field(OF_BENCHMARK)


class ReliabilityForm(ReleaseForm):
    convention = choice_field(CONVENTIONS)
    run = SeveralField(
        number_field("the number of a run"), "numbers of runs; without them, all that are scored", MOST_EXAMINED
    )
    measure = measure_field()
    figure = choice_field(figure.key for figure in FIGURES)


class ExplanationForm(ReleaseForm):
    convention = choice_field(EXPLAINED)
    measure = measure_field()
    against = SeveralField(number_field("the number of a run"), "numbers of other runs", MOST_EXPLAINED - 1)


class FigureForm(ExplanationForm):
    query = forms.CharField(required=False, strip=False)


class CompareForm(ReleaseForm):
    """Runs beside each other: the page is about the first, in `number`; the others are `against`."""

    convention = choice_field(EXPLAINED)
    measure = measure_field()
    run = SeveralField(number_field("the number of a run"), "numbers of runs", MOST_EXPLAINED)

    def clean_run(self) -> list[Any]:
        if not (numbers := self.cleaned_data["run"]):
            raise forms.ValidationError("empty; expected the numbers of one to four runs")
        return list(numbers)

    def clean(self) -> dict[str, Any]:
        number, *against = self.cleaned_data.pop("run", [0])
        return self.cleaned_data | {"number": number, "against": against}


class ExplainForm(CompareForm):
    query = forms.CharField(required=False, strip=False)


class PoolsForm(forms.Form):
    measure = choice_field(NDCG)
    enlargement = number_field("the number of an enlargement", help_text="else the newest")


class TrainingForm(forms.Form):
    """The kind of system that the form for training is about, and whether that is open."""

    system = choice_field(SYSTEMS)
    drawer = choice_field(["train"])
    preset = choice_field(["paper"])


class SearchForm(forms.Form):
    q = forms.CharField(required=False, max_length=LONGEST_QUERY)


class RunForm(forms.ModelForm):  # type: ignore[type-arg]
    format = forms.ChoiceField(
        required=False,
        label="Format of the file",
        choices=[("", "Told from the file"), *((name, FORMATS.get(name, name)) for name in RUN_FORMATS)],
    )
    task = forms.ChoiceField(
        required=False,
        label="List of TVRetrieval's submission",
        choices=[("", "The first of VCMR, SVMR and VR that it has"), *((name, name) for name in TASKS)],
    )

    class Meta:
        model = Submission
        fields = [*Submission.DETAILS, "format", "task"]
        labels = {"group": "Group (runs that differ by seed)", "paper": "Address of a paper", "code": "Address of code"}
        labels |= {"citation": "Citation", "anonymous_until": "Anonymous until"}
        labels |= {"visibility": "Who may see it"}
        help_texts = {
            "name": "No other run of the campaign has it, for example reloclnet-top40-seed1.",
            "system": "The program that made it, for example ReLoCLNet.",
            "group": "Runs with the same words here are shown together, as mean ± deviation.",
            "visibility": "Whoever has the link of a public run sees its scores, and no query.",
            "citation": "How others cite the run: a line, or BibTeX.",
            "anonymous_until": "Until that day, others see a number instead of the above. The file stays as it is.",
        }
        widgets = {
            "description": forms.Textarea(attrs={"rows": 4}),
            "citation": forms.Textarea(attrs={"rows": 3}),
            "anonymous_until": forms.DateInput(attrs={"type": "date"}),
        }

    @property
    def first(self) -> list[forms.BoundField]:
        """What matters first."""
        return [self[name] for name in FIRST]

    @property
    def rest(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in FIRST]

    @property
    def is_open(self) -> bool:
        """Whether something is wrong with a field that is folded."""
        return any(field.errors for field in self.rest)


class VisibilityForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Run
        fields = ["visibility"]


def yes_or_no() -> forms.TypedChoiceField:
    return forms.TypedChoiceField(choices=[("yes", "yes"), ("no", "no")], coerce=lambda value: value == "yes")


class EntryForm(forms.Form):
    entered = yes_or_no()


class SplitForm(forms.Form):
    split = forms.CharField(required=False)


class OpenScoresForm(forms.Form):
    open = yes_or_no()


class MeasureForm(ReleaseForm):
    """One more measure by which all runs are scored, or one that is removed."""

    convention = choice_field(NAMES, required=True)
    measure = forms.CharField(
        label="Another measure, by which all runs are scored",
        max_length=LONGEST_MEASURE,
        widget=forms.TextInput(attrs={"placeholder": "AxIoU@20", "autocomplete": "off", "spellcheck": "false"}),
    )


class WatchForm(forms.Form):
    run = number_field("the number of a run", required=True)
    other = number_field("the number of a run", required=True)
    measure = measure_field(required=True)
    predictor = number_field("the id of a predictor", least=0)


class WeighForm(forms.Form):
    run = number_field("the number of a run", least=0)


class PredictorForm(forms.Form):
    predictor = number_field("the id of a model judge")


class FilePredictorForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Predictor
        fields = ["source", "name", "model"]
        widgets = {"source": forms.HiddenInput}
        help_texts = {"model": ""}


class ChatPredictorForm(FilePredictorForm):
    frames = forms.IntegerField(
        label="Pictures of a clip", initial=FRAMES, min_value=FEWEST_FRAMES, max_value=MOST_FRAMES
    )

    class Meta(FilePredictorForm.Meta):
        fields = ["source", "name", "frames"]


def predictor_forms(data: Any) -> dict[str, forms.ModelForm]:  # type: ignore[type-arg]
    """Return the form of each source of predictions; the one that was sent has the data."""
    kinds = {"file": FilePredictorForm, "chat": ChatPredictorForm}
    return {
        source: kind(data if data.get("source") == source else None, initial={"source": source}, auto_id=f"{source}_%s")
        for source, kind in kinds.items()
    }


class ProposalForm(forms.Form):
    """Which runs an enlargement of the pool looks at, and how deep."""

    depth = forms.IntegerField(label="Ranks of each run", initial=PoolPlan([]).depth, min_value=1, max_value=DEEPEST)
    iou = forms.TypedChoiceField(
        label="IoU from which it matches",
        coerce=float,
        choices=[(iou, iou) for iou in THRESHOLDS],
        initial=PoolPlan([]).iou,
    )
    run = forms.TypedMultipleChoiceField(
        label=f"Runs, from 2 to {MOST_RUNS}", coerce=int, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, campaign: Campaign, *arguments: Any) -> None:
        super().__init__(*arguments)
        runs = open_runs(campaign)
        field: Any = self.fields["run"]
        field.choices = [(run.number, str(run)) for run in runs]
        field.initial = [run.number for run in runs[:MOST_RUNS]]


class OpeningForm(forms.Form):
    """How many moments of an enlargement are judged."""

    taken = forms.IntegerField(label="How many are judged, from the top", min_value=0)
    near = forms.ChoiceField(
        label="Those that overlap a judged moment", choices=Near.choices, required=False, initial=Near.LEAVE
    )

    def clean_near(self) -> str:
        return self.cleaned_data["near"] or Near.LEAVE
