"""Making a campaign of a draft, all of it or nothing; and trying that without storing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from base.errors import ReeljudgeError
from base.text import printable
from base.transactions import locked
from campaigns.creating import corpora_open_to, may_create_campaigns
from campaigns.models import Campaign, Draft, Membership, Upload
from campaigns.uploads import keep_films_only, read_whole
from corpus.errors import BadLines, CorpusError
from corpus.importers.load import Report as Imported
from corpus.importers.load import load
from corpus.models import Corpus
from jobs.registry import Report
from judging.pool.queries import load_queries
from judging.pool.ranking import ask_for_ranking
from lead.making.films import Films
from lead.making.queries import queries_file
from lead.making.sources import must_be_here, source_of

Work = Callable[[Draft, Report], None]
MOST_SHOWN = 100  # problems and notes of each check


@dataclass
class Findings:
    """What a check found: what hinders the campaign, what its lead should know, and how much there is of what."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    more: int = 0  # problems that are not listed

    def stored(self) -> dict[str, Any]:
        """Return them for the draft's row, the first hundred of each list."""
        hidden = max(0, len(self.problems) - MOST_SHOWN)
        return asdict(self) | {
            "problems": self.problems[:MOST_SHOWN],
            "notes": self.notes[:MOST_SHOWN],
            "more": self.more + hidden,
        }


def check(draft: Draft, report: Report) -> None:
    """Try to make the campaign, store nothing of it, and store with the draft what was found."""
    must_be_here(draft)
    seen = _marks(draft)
    for number, upload in enumerate(uploads := list(draft.uploads.whole().select_related("draft"))):
        report(number, len(uploads), f"reading {upload.name}")
        read_whole(upload)
    found = Findings()
    with transaction.atomic():
        corpus = _build(draft, found)[1]
        films = Films.of(corpus)
        transaction.set_rollback(True)
    if draft.is_new_corpus and not found.problems:
        found.notes += films.faults(report)
    with transaction.atomic():
        now = locked(Draft.objects.filter(pk=draft.pk)).get()
        if _marks(now) == seen:  # else somebody changed it meanwhile, and it has to be checked again
            Draft.objects.filter(pk=draft.pk).update(findings=found.stored())


def _marks(draft: Draft) -> list[Any]:
    """Return what changes with each change of a draft."""
    fields = Draft.objects.filter(pk=draft.pk).values(
        *("corpus", "corpus_name", "format", "kind", "columns", "media", "media_folder", "frame_rate"),
        *("split", "name", "settings", "people"),
    )
    return [fields.get(), *draft.uploads.order_by("pk").values_list("pk", "received")]


def make(draft: Draft, report: Report) -> None:
    """Make the campaign, with its corpus, queries and members, and ask for the ranking. Doing it twice is harmless.

    Raises
    ------
    ReeljudgeError
        If something is wrong. Nothing is stored then.
    """
    must_be_here(draft)
    report(0, 1, "storing the corpus and the queries")
    found = Findings()
    with transaction.atomic():
        draft = locked(Draft.objects.filter(pk=draft.pk)).get()
        if draft.campaign_id:
            return
        campaign = _build(draft, found)[0]
        if found.problems:
            raise ReeljudgeError("\n".join(found.problems[:MOST_SHOWN]))
        Draft.objects.filter(pk=draft.pk).update(campaign=campaign)
        ask_for_ranking(campaign)
    keep_films_only(draft)


def _build(draft: Draft, found: Findings) -> tuple[Campaign, Corpus]:
    """Store everything in the caller's transaction, and collect what is wrong. If anything is, nothing may stay."""
    owner = User.objects.get(pk=draft.owner_id)
    if not may_create_campaigns(owner):
        found.problems.append(f"{owner.get_username()} may no longer create campaigns")
    corpus = _corpus(draft, owner, found) or Corpus(name="")
    if not corpus.pk:
        corpus.save()  # a stand-in, so that the rest is checked too
    campaign = Campaign(name=draft.name, corpus=corpus, **draft.settings)
    with _told(found, "The campaign"):
        campaign.full_clean()
    if not found.problems or not Campaign.objects.filter(name=campaign.name).exists():
        with _told(found, "The campaign"):
            campaign.save()
            _queries(draft, campaign, found)
            _members(draft, owner, campaign)
    return campaign, corpus


@contextmanager
def _told(found: Findings, what: str, hide: str = "") -> Iterator[None]:
    """Collect what goes wrong inside, whose rows are taken back. `hide` is a path that messages do not show."""
    try:
        with transaction.atomic():
            yield
    except BadLines as fault:
        found.problems += [f"{what}: {each}" for each in fault.problems]
    except ValidationError as fault:
        each = fault.message_dict if hasattr(fault, "error_dict") else {"": fault.messages}
        found.problems += [f"{what}, {name}: {' '.join(said)}" for name, said in each.items()]
    except (CorpusError, ReeljudgeError) as fault:
        lines = str(fault).replace(f"{hide}: ", "") if hide else str(fault)
        found.problems += [f"{what}: {printable(line)}" for line in lines.splitlines()]


def _corpus(draft: Draft, owner: User, found: Findings) -> Corpus | None:
    if draft.corpus_id:
        corpus = corpora_open_to(owner).filter(pk=draft.corpus_id).first()
        if corpus is None:
            found.problems.append("The corpus: it is gone, or you annotate a campaign over it")
        return corpus
    if Corpus.objects.filter(name=draft.corpus_name).exists():
        found.problems.append(f"The corpus: {draft.corpus_name} exists already; choose it, or another name")
        return None
    upload = draft.upload_for(Upload.Purpose.MOMENTS)
    with _told(found, upload.name if upload else "The corpus", hide=str(upload.path) if upload else ""):
        imported = load(draft.corpus_name, source_of(draft))
        _tell_corpus(draft, imported, found)
        return Corpus.objects.get(name=draft.corpus_name)
    return None


def _tell_corpus(draft: Draft, imported: Imported, found: Findings) -> None:
    found.counts |= {
        "moments": imported.moments_added,
        "videos": imported.videos_added,
        "films": imported.with_media,
    }
    if imported.clipped:
        found.notes.append(f"{imported.clipped:,} moments end after their video, and are cut off there.")
    partial = draft.uploads.filter(purpose=Upload.Purpose.FILM).partial()
    found.problems += [
        f"{film.name}: {film.percent} % has arrived; choose the same file again to go on, or remove it"
        for film in partial[:MOST_SHOWN]
    ]


def _queries(draft: Draft, campaign: Campaign, found: Findings) -> None:
    upload = draft.upload_for(Upload.Purpose.QUERIES)
    with _told(found, upload.name if upload else "The queries"), queries_file(draft) as file:
        try:
            added, merged = load_queries(campaign, file, draft.split)
        except ReeljudgeError as fault:
            # The first line of several repeats the name of the file.
            told = str(fault).replace(f"{file}: no query was stored.\n", "").replace(f"{file}: ", "")
            raise ReeljudgeError(told) from fault
        found.counts["queries"] = added
        if merged:
            found.notes.append(f"{merged:,} queries have the text of another one, and become one with it.")


def _members(draft: Draft, owner: User, campaign: Campaign) -> None:
    campaign.add_member(owner, Membership.Role.LEAD)
    users = {
        user.username: user for user in User.objects.filter(username__in=[name for name, _ in draft.people])
    }
    for name, role in draft.people:
        if name not in users:
            raise ReeljudgeError(f"{name}: nobody has this name; invite people without an account later")
        campaign.add_member(users[name], role)
