"""The forms of a draft's steps."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator

from base.text import abbreviated, percent, storable
from campaigns.access import campaigns_to_reuse, corpora_open_to
from campaigns.forms import LinesField
from campaigns.models import Campaign, Membership
from corpus.importers.formats import FORMATS
from corpus.importers.rows import FIELDS
from corpus.models import Corpus
from drafts.leaderboard import DEEPEST
from drafts.models import Draft, Upload
from drafts.reading import Reading, proposed_corpus_name
from judging.consensus import LEAST_OVERLAP
from judging.pool.queries import LONGEST_SPLIT
from judging.pool.selection import LARGEST_SEED, Counts
from judging.settings import COLUMNS, SECTIONS, SettingsForm

LONGEST_PASTE = 900_000  # characters; a request may have 1 MiB
MOST_PEOPLE = 500
MOST_DRAWN = 1_000_000  # queries
OF_A_SELECTION = ("validation", "test", "seed", "strata")  # fields
REUSES_HELP = (
    "An earlier campaign over this corpus that you lead. Where it has closed a query of the same text, its consensus on"
    f" the same moment, or on one that overlaps it by {percent(LEAST_OVERLAP)}, holds here too, and nobody judges that"
    " pair again. Such grades count as no judgement, and releases mark them."
)


class ReadingForm(forms.Form):
    """How the file of moments is read. What is left empty is as the file looks."""

    format = forms.ChoiceField(required=False, label="Format of the file")
    kind = forms.CharField(max_length=20, required=False, label="Descriptions", widget=forms.Select)
    leaves_out_unusable = forms.BooleanField(
        required=False,
        label="Leave out unusable moments",
        help_text="They are counted by reason, such as a start after the end. Moments that end after their video are "
        "cut off there.",
    )

    def __init__(self, *arguments: Any, reading: Reading | None = None, **options: Any) -> None:
        """`reading` is what was found in the file, if it was read."""
        super().__init__(*arguments, **options)
        fields: dict[str, Any] = self.fields
        self.reading = reading or Reading()
        seems = FORMATS.get(self.reading.recognised)
        usual = f"As recognised: {seems.title}" if seems else "As recognised"
        fields["format"].choices = [("", usual), *((each.name, each.title) for each in FORMATS.values())]
        self.importer = FORMATS.get(self.reading.format)
        kinds = self.importer.kinds if self.importer else ()
        fields["kind"].widget.choices = [("", f"the usual ones: {kinds[0]}" if kinds else ""), *((k, k) for k in kinds)]
        for name in FIELDS:
            column = forms.CharField(max_length=200, required=False, label=name.capitalize())
            column.widget = forms.Select(choices=[("", "–"), *((each, each) for each in self.reading.names)])
            fields[f"column_{name}"] = column

    @property
    def column_fields(self) -> list[forms.BoundField]:
        """The fields for columns, if the format has such and the file tells their names."""
        asks = self.importer and self.importer.takes_columns and self.reading.names
        return [self[f"column_{name}"] for name in FIELDS] if asks else []

    def asks(self, upload: Upload) -> str:
        """Return what changes when the form asks for something else, or for another file."""
        seen = [upload.token, self.reading.recognised, self.reading.format, self.reading.names]
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]

    @property
    def kind_field(self) -> forms.BoundField | None:
        return self["kind"] if self.importer and self.importer.kinds else None

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        columns = {name: column for name in FIELDS if (column := data.get(f"column_{name}"))}
        data["columns"] = {} if columns == self.reading.columns else columns
        chosen = FORMATS.get(data.get("format") or self.reading.recognised)
        if data.get("kind") and chosen and not chosen.kinds:
            data["kind"] = ""
        elif data.get("kind") and chosen and data["kind"] not in chosen.kinds:
            self.add_error("kind", f"{data['kind']}; expected one of {', '.join(chosen.kinds)}.")
        if chosen and not chosen.takes_columns:
            data["columns"] = {}
        return data


def how_it_is_read(draft: Draft, reading: Reading | None) -> dict[str, Any]:
    """Return what the fields say at first: what the draft says, or what is proposed."""
    columns = draft.columns or (reading.columns if reading else {})
    about = {"corpus": draft.corpus_id, "corpus_name": draft.corpus_name or proposed_corpus_name(draft)}
    about |= {"format": draft.format, "kind": draft.kind, "leaves_out_unusable": draft.leaves_out_unusable}
    return about | {f"column_{name}": column for name, column in columns.items()}


class CorpusForm(ReadingForm):
    """Which corpus: one that is there, or a new one and how its file is read."""

    corpus = forms.ModelChoiceField(
        Corpus.objects.none(), required=False, label="Corpus", empty_label="A new one, from a file"
    )
    corpus_name = forms.CharField(
        max_length=100, required=False, label="Name of the new corpus", help_text="For example charades."
    )
    pasted = LinesField(
        max_length=LONGEST_PASTE,
        required=False,
        strip=False,
        label="Or paste the lines of the file",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="Less than a megabyte. This replaces a file that was uploaded before.",
    )

    def __init__(self, user: User, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        fields: dict[str, Any] = self.fields
        fields["corpus"].queryset = corpora_open_to(user)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("corpus") or self.errors:
            return data
        if not data["corpus_name"] or not storable(data["corpus_name"]):
            self.add_error("corpus_name", "Name the new corpus, or choose one that is there.")
        elif Corpus.objects.filter(name=data["corpus_name"]).exists():
            self.add_error("corpus_name", "There is a corpus of this name. Choose it above, or another name.")
        return super().clean()


class FilmsForm(forms.Form):
    """Where the films of a corpus are: those that were uploaded, unless a folder is chosen."""

    films = forms.ChoiceField(choices=Draft.Media.choices, required=False, widget=forms.HiddenInput)
    root = forms.ChoiceField(required=False, label="Or a folder on the server")
    below = forms.CharField(
        max_length=300,
        required=False,
        label="Below it",
        help_text="For example charades/films. Empty: the folder itself.",
    )
    frame_rate = forms.FloatField(
        required=False,
        label="Frames a second",
        help_text="Only if each video is a folder of pictures.",
        validators=[MinValueValidator(0.01), MaxValueValidator(1000)],
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        fields: dict[str, Any] = self.fields
        if settings.MEDIA_FOLDERS:
            fields["root"].choices = [("", "None"), *((root, root) for root in settings.MEDIA_FOLDERS)]
        else:
            without = [choice for choice in Draft.Media.choices if choice[0] != Draft.Media.FOLDER]
            fields["films"].choices = without
            for name in ("root", "below", "frame_rate"):
                del self.fields[name]

    def clean_films(self) -> str:
        on_server = bool(self.data.get("root"))
        return str(self.cleaned_data["films"]) or (Draft.Media.FOLDER if on_server else Draft.Media.UPLOAD)

    def clean_below(self) -> str:
        """Refuse what leads out of the folder. Whether it is there says the check, on the machine that cuts clips."""
        below = str(self.cleaned_data["below"]).strip().strip("/")
        if ".." in Path(below).parts or not storable(below):
            raise ValidationError("Write the names of folders, with / between them.")
        return below


class QueriesForm(forms.Form):
    """The queries: drawn from the captions of a corpus that is stored, and others pasted here or uploaded beside; or
    those of a benchmark, and how many ranks of each run on it are judged.
    """

    validation = forms.IntegerField(required=False, label="For validation", min_value=0, max_value=MOST_DRAWN)
    test = forms.IntegerField(
        required=False,
        label="For the test",
        min_value=0,
        max_value=MOST_DRAWN,
        help_text="0 and 0: no queries are drawn.",
    )
    seed = forms.IntegerField(required=False, label="Seed", min_value=0, max_value=LARGEST_SEED)
    strata = forms.MultipleChoiceField(
        required=False,
        label="In proportion to",
        choices=[
            ("show", "the shows, by the letters that a video’s name begins with"),
            ("length", "the lengths of captions, in words"),
        ],
        widget=forms.CheckboxSelectMultiple,
    )
    pasted = LinesField(
        max_length=LONGEST_PASTE,
        required=False,
        strip=False,
        label="Paste queries, one a line",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "true"}),
        help_text="As “A person sits down.” They are numbered from 1. This replaces a file that was uploaded before.",
    )
    split = forms.CharField(
        max_length=LONGEST_SPLIT,
        required=False,
        label="Split of these queries",
        help_text="Stored with them, for example val. It may stay empty.",
    )
    reuses = forms.ModelChoiceField(
        Campaign.objects.none(),
        to_field_name="name",
        required=False,
        label="Reuse the grades of",
        empty_label="No campaign: annotators judge everything",
        help_text=REUSES_HELP,
        error_messages={"invalid_choice": "%(value)s; expected a campaign over this corpus that you lead."},
    )

    pool_depth = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=DEEPEST,
        label="Ranks of each run",
        help_text="The first moments of each list are judged, and those of the benchmark.",
    )

    def __init__(self, draft: Draft, ready: int | None, *arguments: Any, **options: Any) -> None:
        """`ready` is the number of distinct captions that may become queries, if it is known."""
        about = {"split": draft.split, "reuses": draft.reuses and draft.reuses.name, "pool_depth": draft.pool_depth}
        options["initial"] = about | {"seed": 1, "strata": []} | draft.selection
        super().__init__(*arguments, **options)
        self.ready, self.is_rejudging = ready, draft.is_rejudging
        fields: dict[str, Any] = self.fields
        if draft.corpus:
            fields["reuses"].queryset = campaigns_to_reuse(draft.owner, draft.corpus)
        if draft.corpus is None:
            for name in OF_A_SELECTION:
                del self.fields[name]

        usual = self._usual(ready)
        for name in ("validation", "test"):
            if name in fields:
                fields[name].widget.attrs["placeholder"] = f"for example {getattr(usual, name):,}"

    @staticmethod
    def _usual(ready: int | None) -> Counts:
        """Return the numbers of the paper; of a small corpus, a tenth and a half of its captions."""
        counts = Counts()
        return counts if ready is None or ready >= sum(counts) else Counts(ready // 10, ready // 2)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if self.is_rejudging and data.get("pool_depth") is None and not self.errors:
            self.add_error("pool_depth", "Write how many ranks of each run are judged.")
        if data.get("pool_depth") and (self._wanted or data.get("pasted")):
            self.add_error("pool_depth", "The queries of a leaderboard are those of its benchmark, and no others.")
        if "look" in self.data and not self._wanted and not self.errors:
            self.add_error("test", "Write how many queries to draw.")
        if self.ready is not None and self._wanted > self.ready:
            self.add_error(
                "test",
                f"{self._wanted:,} queries together; expected at most {self.ready:,}, the captions that may become "
                "queries.",
            )
        return data

    @property
    def _wanted(self) -> int:
        """How many queries are to be drawn."""
        return (self.cleaned_data.get("validation") or 0) + (self.cleaned_data.get("test") or 0)

    @property
    def selection(self) -> dict[str, Any]:
        """Return what the draft's row holds: how many queries are drawn, and how; nothing if none are."""
        if not self._wanted:
            return {}
        data = self.cleaned_data
        counts = {name: data[name] or 0 for name in ("validation", "test")}
        return counts | {"seed": 1 if data["seed"] is None else data["seed"], "strata": data["strata"]}


_BY_HAND: dict[str, Any] = {"auto_second_from": None, "auto_close_below": None, "hidden_places": 0}
# A start for the rules: name, what it is for, and settings of a campaign.
PRESETS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "usual": (
        "TVR-Ranking",
        "Up to two batches of 20 candidates a query; a lead opens the second ones.",
        _BY_HAND | {"batches": 2, "exam": False},
    ),
    "pilot": (
        "Pilot",
        "One batch of 20 candidates a query: first numbers within days.",
        _BY_HAND | {"batches": 1, "exam": False},
    ),
    "large": (
        "Many annotators",
        "As TVR-Ranking, with an exam and two attention checks a batch; clear second batches open by themselves.",
        {"batches": 2, "exam": True, "auto_second_from": 2.5, "auto_close_below": 1.5, "hidden_places": 2},
    ),
}


def preset_of(campaign: Campaign) -> str:
    """Return the key of the preset whose settings a campaign has, or an empty text."""
    for key, (_, _, values) in PRESETS.items():
        if all(getattr(campaign, name) == value for name, value in values.items()):
            return key
    return ""


class NewSettingsForm(SettingsForm):
    """The settings page's form for a campaign that is still to be made, and its name."""

    class Meta(SettingsForm.Meta):
        fields = ["name", *SettingsForm.Meta.fields]
        labels = {"name": "Short name"}
        help_texts = {
            "name": "Letters, digits, - and _. It is part of the addresses of its pages, and cannot change later."
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        del self.fields["all_days"], self.fields["order_seed"]  # drawn at random when the campaign is made
        for each in self.fields.values():
            each.show_hidden_initial = False

    def sections(self) -> Any:
        """The sections of the settings page, the name first."""
        for heading, names in SECTIONS.items():
            first = ["name"] if "title" in names else []
            yield heading, [self[name] for name in (*first, *names) if name in self.fields]

    def clean(self) -> dict[str, Any]:
        self.cleaned_data.setdefault("all_days", False)
        return super().clean()

    def stored(self) -> dict[str, Any]:
        """Return the settings as the draft's row holds them."""
        wanted = COLUMNS & self.fields.keys()
        values = {name: getattr(self.instance, name) for name in sorted(wanted)}
        return {name: str(value) if isinstance(value, Decimal) else value for name, value in values.items()}

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if Campaign.objects.filter(name=name).exists():
            raise ValidationError("There is a campaign of this name. Choose another.")
        return name


class PeopleForm(forms.Form):
    """Who belongs to the campaign from the beginning, besides whoever makes it."""

    people = LinesField(
        max_length=50_000,
        required=False,
        label="People who have an account here",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text="One a line: a name, and lead or researcher unless it is an annotator. As “asha” or “chen lead”.",
    )

    def __init__(self, owner: User, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.owner = owner

    def clean_people(self) -> list[list[str]]:
        found: dict[str, str] = {}
        for number, line in enumerate(self.cleaned_data["people"].splitlines(), 1):
            words = line.split()
            if not words:
                continue
            role = words[1].lower() if len(words) > 1 else Membership.Role.ANNOTATOR.value
            if len(words) > 2 or role not in Membership.Role.values:
                raise ValidationError(f"Line {number}: {abbreviated(line)}; expected a name and a role.")
            if words[0] == self.owner.get_username():
                raise ValidationError(f"Line {number}: you are the lead of your campaign; leave yourself out.")
            if words[0] in found:
                raise ValidationError(f"Line {number}: {words[0]} stands there twice.")
            found[words[0]] = role
        known = set(User.objects.filter(username__in=found, is_active=True).values_list("username", flat=True))
        if unknown := sorted(found.keys() - known):
            raise ValidationError(f"Nobody has the name {', '.join(unknown[:5])}. Invite others later, by a link.")
        if len(found) > MOST_PEOPLE:
            raise ValidationError(f"{len(found):,} people; at most {MOST_PEOPLE} can be named here.")
        return [list(each) for each in found.items()]
