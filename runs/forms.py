"""The form of a new run: what its owner says of it, and how its file is read."""

from __future__ import annotations

from django import forms

from metrics.formats.names import RUN_FORMATS, TASKS
from runs.models import Submission

FORMATS = {
    "ranking": "TVR-Ranking: an object from query to predictions",
    "predictions": "a list of queries with predictions",
    "tvretrieval": "TVRetrieval's submission",
    "trec": "TREC",
}


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
        fields = [*Submission.SAID, "format", "task"]
        labels = {"group": "Seeds of", "paper": "Address of a paper", "code": "Address of code"}
        labels |= {"visibility": "Who may see it"}
        help_texts = {
            "name": "No other run of the campaign has it, for example reloclnet-top40-seed1.",
            "system": "The program that made it, for example ReLoCLNet.",
            "group": "Runs with the same words here are shown together, as mean ± deviation.",
            "visibility": "Whoever has the link of a public run sees its scores, and no query.",
        }
        widgets = {"description": forms.Textarea(attrs={"rows": 4})}
