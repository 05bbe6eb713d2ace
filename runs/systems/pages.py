"""What the pages of trained systems show: the forms that ask for one, its job, where it is, and its curves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from django import forms
from django.db import models
from django.http import Http404, HttpResponse
from django.urls import reverse

from base.errors import BadValue
from corpus.features import DESCRIPTOR, JOIN, VISION, sets_of
from corpus.models import Corpus
from jobs.models import Job
from metrics import parse_measure
from releases.training import DEEPEST
from reports.figures.files import KINDS, figure_file
from runs.systems.models import TrainedSystem
from runs.systems.orders import ENCODER, LEARNED, LONGEST, SHORTEST, Wanted
from runs.systems.training import train_system
from systems.interface import Entry
from systems.options import Options

NUMBERS: dict[type, type[forms.Field]] = {int: forms.IntegerField, float: forms.FloatField}
LABELS = {"nms": "NMS", "intra_iou": "Intra IoU", "words": "Size of word vectors"}
TITLES = {
    DESCRIPTOR: "Plain descriptor of the films, computed here",
    VISION: "Vision model of the settings, computed here from the films",
}


@dataclass(frozen=True)
class Figure:
    """The figure of a training's curves, as `lead/_plot.html` shows figures."""

    key: str = "curves"
    title: str = "Loss and validation"


def jobs_of(rows: list[TrainedSystem]) -> dict[int, Job]:
    """Return the job of each system that has one, by the system's key."""
    return {job.row: job for job in train_system.jobs(rows)}


class State(models.TextChoices):
    """How far a system is, with its words."""

    WAITING = "waiting", "waits for a worker"
    RUNNING = "running", "a worker begins"
    DELAYED = "delayed", "delayed"
    FAILED = "failed", "failed"
    CHECKED = "checked", "its run is being checked"
    REFUSED = "refused", "its run was refused"
    STORED = "stored", "its run is stored"


def state_of(row: TrainedSystem, job: Job | None) -> State:
    """Return how far a system is. What has no job any more, has failed."""
    if row.run:
        return State.STORED
    if row.submission:
        return State.REFUSED if row.submission.findings else State.CHECKED
    if job is None or job.has_failed:
        return State.FAILED
    if job.is_delayed:
        return State.DELAYED
    return State.RUNNING if job.is_running else State.WAITING


def where_of(row: TrainedSystem, job: Job | None) -> str:
    """Return in a few words how far a system is, or what its job does now."""
    state = state_of(row, job)
    return (job.message if job and state == State.RUNNING else "") or str(state.label)


def plot_of(row: TrainedSystem) -> dict[str, Any]:
    """Return the curves of a system with what they tell, as the template of figures wants them."""
    points = row.rows_of_curves()
    address = [row.campaign.name, row.number]
    return {
        "figure": Figure(),
        "is_drawn": bool(points),
        "tells": _tells(row),
        "caption": "Mean loss since the point before; the weights of the best validation are kept.",
        "columns": ["curve", "step", "value"],
        "rows": [list(point.values()) for point in points],
        "files": {kind: reverse("system-curves", args=[*address, kind]) for kind in KINDS},
    }


def _tells(row: TrainedSystem) -> str:
    if not row.losses:
        return "Nothing was trained step by step."
    step, loss = row.losses[-1]
    text = f"After {step:,} steps the loss is {loss:.3f}."
    if best := row.best_validation:
        text += f" The best {parse_measure(row.measure).spelling}, {best[1]:.3f}, was after {best[0]:,} steps."
    return text


def curves_file(row: TrainedSystem, kind: str) -> HttpResponse:
    """Answer with the curves of a system as a file; not found before it has any."""
    points = row.rows_of_curves()
    if not points:
        raise Http404

    def specify() -> dict[str, Any]:
        from runs.drawing import curves

        return curves(points)

    return figure_file(kind, points, specify, f"{row.campaign.name}-system-{row.number}")


class WantedForm(forms.Form):
    """What is asked for beside a system's options."""

    name = forms.CharField(max_length=90, label="Name", help_text="Of its run; no other run has it.")
    features = forms.ChoiceField(label="Features")
    joined = forms.ChoiceField(
        label="Joined with",
        required=False,
        help_text="A second set of files, whose features stand behind those of the first in each clip.",
    )
    clip_seconds = forms.FloatField(
        label="Length of a clip",
        initial=Wanted.clip_seconds,
        min_value=SHORTEST,
        max_value=LONGEST,
        help_text="In seconds. Features from files are of clips of one length, which must be said here.",
    )
    depth = forms.IntegerField(
        label="N",
        initial=Wanted.depth,
        min_value=1,
        max_value=DEEPEST,
        help_text="So many moments are taken as answers of each training query; TVR-Ranking has 1, 20 and 40.",
    )
    word_vectors = forms.ChoiceField(
        label="Words",
        choices=[(LEARNED, "Learned here, with the system"), (ENCODER, "By the campaign’s encoder")],
        initial=LEARNED,
        help_text="The encoder, which ranked the candidates, also knows words that no caption has.",
    )
    seeds = forms.CharField(
        max_length=200,
        initial="1",
        label="Seeds",
        help_text="Whole numbers with spaces. Each is trained and submitted; the leaderboard shows them as one row.",
    )

    def __init__(self, data: Any, corpus: Corpus, entry: Entry) -> None:
        super().__init__(data)
        if not entry.reads or entry.compares:
            del self.fields["word_vectors"]
        if entry.compares:
            self.fields["features"].initial = VISION
        sets = [(name, TITLES.get(name, name)) for name in sets_of(corpus)]
        files = [each for each in sets if each[0] not in TITLES]
        for name, choices in (("features", sets), ("joined", [("", "No other set"), *files])):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = choices
        if len(files) < 2:
            del self.fields["joined"]

    def clean_seeds(self) -> list[int]:
        words = self.cleaned_data["seeds"].replace(",", " ").split()
        if not words or not all(word.isascii() and word.isdecimal() and len(word) < 19 for word in words):
            raise forms.ValidationError("Whole numbers with spaces between them.")
        return [int(word) for word in words]


class OptionsForm(forms.Form):
    """The options of one system, with its defaults."""

    def __init__(self, data: Any, kind: type[Options]) -> None:
        super().__init__(data)
        self.kind = kind
        meanings = kind.table("meaning")
        for field in fields(kind):
            if field.name != "seed":
                self.fields[field.name] = _field(kind, field.name, field.default, meanings[field.name])

    def clean(self) -> dict[str, Any]:
        """Say of every option what is wrong with it, beside its field, if each is of the right type."""
        found = super().clean() or {}
        for fault in self.kind.faults(found):
            self.add_error(fault.name if fault.name in self.fields else None, str(fault))
        return found


def _field(kind: type[Options], name: str, initial: Any, meaning: str) -> forms.Field:
    shared = {"label": LABELS.get(name, name.replace("_", " ").capitalize()), "help_text": meaning, "initial": initial}
    choices = kind.table("choices").get(name)
    if choices:
        return forms.ChoiceField(choices=[(each, each) for each in choices], **shared)
    if isinstance(initial, bool):
        return forms.BooleanField(required=False, **shared)
    return NUMBERS[type(initial)](**shared)


def wanted(system: str, form: WantedForm, options: OptionsForm) -> Wanted:
    """Return what two valid forms ask for."""
    values = dict(form.cleaned_data)
    values["features"] = JOIN.join(filter(None, (values["features"], values.pop("joined", ""))))
    return Wanted(system=system, options=options.cleaned_data, **values)


def show_fault(fault: BadValue, form: WantedForm, options: OptionsForm) -> None:
    """Add what was refused to the field that it belongs to."""
    owner: forms.Form = options if fault.field in options.fields else form
    owner.add_error(fault.field if fault.field in owner.fields else None, str(fault))
