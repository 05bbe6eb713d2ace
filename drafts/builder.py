"""Making a campaign of a draft or in the terminal, all of it or nothing; and trying that without storing anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from base.errors import ReeljudgeError, WrongState
from base.text import printable
from base.transactions import locked
from campaigns.access import campaigns_to_reuse, corpora_open_to, may_create_campaigns
from campaigns.models import Campaign, Membership
from campaigns.models.draft import token
from corpus.errors import BadLines, CorpusError, Reason
from corpus.importers.load import Report as Imported
from corpus.importers.load import forget, preview, reveal, unfinished
from corpus.models import Corpus
from drafts.leaderboard import NOTHING, Leaderboard, leaderboard_of
from drafts.models import Draft, Upload
from drafts.reading import read_files, reading_of, with_texts
from drafts.sources import (
    corpus_of,
    faults_of_films,
    must_be_here,
    partial_films,
    queries_file,
    selection_of,
    source_of,
    store_corpus,
    summary_of,
    without_length,
)
from drafts.uploads import keep_films_only, read_whole
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from judging.pool.opening import Pooled, store_pool, with_reusable
from judging.pool.queries import load_queries
from judging.pool.ranking import rank_candidates
from judging.pool.selection import Selection, store

DRAWN = "The drawn queries"
OF_PART = {"The settings": "settings", "The people": "people"}  # the steps of what `build` makes, if not of queries
MOST_SHOWN = 100  # problems and notes of each check
Step = Callable[[str], AbstractContextManager[object]]


@dataclass
class Findings:
    """What a check found: what hinders the campaign, what its lead should know, and how much there is of what."""

    problems: list[str] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)  # of each: its step, and the text of its line
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    more: int = 0  # problems that are not listed
    drawn: dict[str, Any] = field(default_factory=dict)  # as `drafts.sources.summary_of`

    def add(self, step: str, *problems: str) -> None:
        """Add problems that are mended in a step; without one, in none of them."""
        self.problems += problems
        self.places += [(step, "")] * len(problems)

    def stored(self) -> dict[str, Any]:
        """Return them for the draft's row: the first hundred notes, and the first hundred problems of each step."""
        counts, kept = Counter[str](), list[int]()
        for number, (step, _) in enumerate(self.places):
            counts[step] += 1
            if counts[step] <= MOST_SHOWN:
                kept.append(number)
        return asdict(self) | {
            "problems": [self.problems[number] for number in kept],
            "places": [self.places[number] for number in kept],
            "notes": self.notes[:MOST_SHOWN],
            "more": self.more + len(self.problems) - len(kept),
        }


@kind(
    "check-draft",
    "Check a draft",
    lane=Lane.QUICK,
    of=Draft,
    person="owner",
    page=("draft-create", "token"),
    refusals=(CorpusError,),
)
def check_draft(draft: Draft, report: Report) -> None:
    """Find out whether the campaign can be made, store nothing of it, and store with the draft what was found."""
    must_be_here(draft)
    seen = marks(draft)
    for number, upload in enumerate(uploads := list(draft.uploads.whole().select_related("draft"))):
        report(number, len(uploads), f"reading {upload.name}")
        read_whole(upload)
    found, selection = Findings(), None
    if draft.is_new_corpus:
        _preview(draft, found, report)
    if draft.is_rejudging:
        _look_at_leaderboard(draft, found, report)
    with _collecting(found, "queries", DRAWN):
        report(0, 0, "drawing queries")
        found.drawn = summary_of(selection) if (selection := selection_of(draft)) else {}
    with transaction.atomic():
        _build(draft, found, draft.corpus, selection)
        transaction.set_rollback(True)
    found.places = with_texts(draft, found.problems, found.places)
    with transaction.atomic():
        now = locked(Draft.objects.filter(pk=draft.pk)).get()
        if marks(now) == seen:  # else somebody changed it meanwhile, and it has to be checked again
            Draft.objects.filter(pk=draft.pk).update(findings=found.stored())


def _preview(draft: Draft, found: Findings, report: Report) -> None:
    """Read and check the files of a new corpus, and look at its films."""
    if Corpus.objects.filter(name=draft.corpus_name).exists():
        found.add("corpus", f"The corpus: {draft.corpus_name} exists already; choose it, or another name")
    found.add("films", *partial_films(draft))
    upload = draft.upload_for(Upload.Purpose.MOMENTS)
    what = upload.name if upload else "The corpus"
    with _collecting(found, "corpus", what):
        source = source_of(draft)
        seen = preview(source, sign=lambda rows: report(0, 0, f"reading {what}: {rows:,} moments so far"))
        _add_problems(found, what, seen)
        found.counts |= {"moments": seen.new, "videos": seen.videos}
        if not seen.wrong and not seen.rows:
            found.add("corpus", f"{what}: holds no moments{f' of type {draft.kind}' if draft.kind else ''}")
        elif not seen.wrong:
            found.notes += _notes(seen)
            found.notes += faults_of_films(source, report)


def _add_problems(found: Findings, what: str, seen: Imported) -> None:
    """Add what is wrong with the file of moments; videos without a length are one problem."""
    listed = [problem for problem in seen.problems if problem.reason is not Reason.NO_DURATION]
    missing = 0 if seen.left_out[Reason.NO_DURATION] else seen.without_duration
    if missing:
        found.add("corpus", without_length(missing))
    found.add("corpus", *(f"{what}: {str(problem).replace(f'{problem.file}: ', '')}" for problem in listed))
    found.more += seen.wrong - missing - len(listed)


def _look_at_leaderboard(draft: Draft, found: Findings, report: Report) -> None:
    """Find what is wrong with a benchmark and runs, as the step has it, and how many candidates they have."""
    read_files(draft, report)
    seen = reading_of(draft, Upload.Purpose.BENCHMARK)
    if seen is None:
        found.add("queries", f"The leaderboard: {NOTHING}")
        return
    found.add("queries", *(f"The leaderboard: {each['problem']}" for each in seen.problems))
    found.more += seen.wrong - len(seen.problems)
    if seen.is_sound:
        most = Campaign(**draft.settings).depth
        sizes = seen.sizes[str(draft.pool_depth)]
        found.counts |= seen.counts | {"candidates": sum(min(size, most) * number for size, number in sizes)}
        if deeper := sum(max(0, size - most) * number for size, number in sizes):
            found.notes.append(f"Candidates beyond the {most} that a query may have, which are left out: {deeper:,}.")


def _notes(seen: Imported) -> list[str]:
    counts = {
        "Moments that end after their video, and are cut off there": seen.clipped,
        "Moments that are in the file twice, and become one": seen.repeated,
    }
    counts |= {f"Moments that are left out, because {reason}": number for reason, number in seen.left_out.items()}
    return [f"{words}: {number:,}." for words, number in counts.items() if number]


def marks(draft: Draft) -> list[Any]:
    """Return what changes with each change of a draft."""
    fields = Draft.objects.filter(pk=draft.pk).values(
        *("corpus", "corpus_name", "format", "kind", "columns", "leaves_out_unusable", "media", "media_folder"),
        *("frame_rate", "split", "selection", "reuses", "pool_depth", "name", "settings", "people"),
    )
    return [fields.get(), *draft.uploads.order_by("pk").values_list("pk", "received")]


@kind(
    "make-campaign",
    "Make a campaign",
    of=Draft,
    person="owner",
    page=("draft-create", "token"),
    refusals=(CorpusError,),
)
def make_campaign(draft: Draft, report: Report) -> None:
    """Make the campaign, with its corpus, queries and members, and ask for the ranking. Doing it twice is harmless.

    Raise ReeljudgeError if something is wrong. Nothing is stored then.
    """
    must_be_here(draft)
    draft.refresh_from_db()
    if not draft.campaign_id:  # else the run that made it may have been killed before the files were deleted
        if not draft.is_ready:
            raise WrongState("Check the draft first: something has changed, or is wrong.")
        report(0, 0, "drawing queries")
        selection = selection_of(draft)
        if selection and selection.record != draft.findings["drawn"]["record"]:
            raise WrongState("The captions have changed since the check. Check the draft again.")
        board = leaderboard_of(draft) if draft.is_rejudging else None
        with corpus_of(draft, report) as corpus:
            _finish(draft, corpus, selection, board)
    keep_films_only(draft)


@transaction.atomic
def _finish(draft: Draft, corpus: Corpus, selection: Selection | None, board: Leaderboard | None) -> None:
    """Store all that is still to be stored, in one short transaction."""
    draft = locked(Draft.objects.filter(pk=draft.pk)).get()
    if draft.campaign_id:
        return
    if not draft.is_ready:
        raise WrongState("Check the draft first: something has changed, or is wrong.")
    found = Findings()
    if draft.is_new_corpus:
        reveal(corpus, draft.corpus_name)
    campaign = _build(draft, found, corpus, selection, board)
    if found.problems:
        raise ReeljudgeError("\n".join(found.problems[:MOST_SHOWN]))
    Draft.objects.filter(pk=draft.pk).update(campaign=campaign)
    if board is None:
        rank_candidates.ask(campaign)


def _build(
    draft: Draft, found: Findings, corpus: Corpus | None, selection: Selection | None, board: Leaderboard | None = None
) -> Campaign:
    """Store the campaign in the caller's transaction, and collect what is wrong. If anything is, nothing may stay."""
    owner = User.objects.get(pk=draft.owner_id)
    if not may_create_campaigns(owner):
        found.add("", f"{owner.get_username()} may no longer create campaigns")
    if corpus is None:  # a stand-in, so that the rest is checked too
        corpus = Corpus.objects.create(name=token())
    elif draft.corpus_id and not corpora_open_to(owner).filter(pk=draft.corpus_id).exists():
        found.add("corpus", "The corpus: you annotate a campaign over it, and must not see what its leads see")
    if draft.reuses and not campaigns_to_reuse(owner, corpus).filter(pk=draft.reuses.pk).exists():
        found.add(
            "queries", f"The queries: you do not lead {draft.reuses.name}, whose grades are reused, over this corpus"
        )
    built = build(
        _plan(draft, owner, selection, board),
        corpus,
        lambda what: _collecting(found, OF_PART.get(what, "queries"), what),
    )
    if not draft.is_rejudging:
        found.counts["queries"] = built.drawn + built.added
    if built.merged:
        found.notes.append(f"Queries with the text of another one, which become one with it: {built.merged:,}.")
    if draft.reuses:
        number = with_reusable(built.campaign).count()
        found.notes.append(f"Queries of which {draft.reuses.name} has grades that may be reused: {number:,}.")
    return built.campaign


def _plan(draft: Draft, owner: User, selection: Selection | None, board: Leaderboard | None) -> CampaignPlan:
    upload = draft.upload_for(Upload.Purpose.QUERIES)
    return CampaignPlan(
        draft.name,
        draft.settings,
        selection=selection,
        queries=_queries(draft) if not draft.is_rejudging and (upload or not draft.selection) else None,
        queries_name=upload.name if upload else "The queries",
        split=draft.split,
        board=board,
        reuses=draft.reuses,
        owner=owner,
        people=draft.people,
    )


@contextmanager
def _queries(draft: Draft) -> Iterator[Path]:
    """Give the file of queries. Its path, which means nothing to the draft's owner, is taken out of errors."""
    with queries_file(draft) as file:
        try:
            yield file
        except ReeljudgeError as fault:
            # The first line of several repeats the name of the file.
            words = str(fault).replace(f"{file}: no query was stored.\n", "").replace(f"{file}: ", "")
            raise ReeljudgeError(words) from fault


@contextmanager
def _collecting(found: Findings, step: str, what: str) -> Iterator[None]:
    """Collect what goes wrong inside, and is mended in a step."""
    try:
        yield
    except BadLines as fault:
        found.add(step, *(f"{what}: {each}" for each in fault.problems))
        found.more += fault.wrong - len(fault.problems)
    except ValidationError as fault:
        found.add(step, *(f"{what}, {name}: {' '.join(words)}" for name, words in fault.message_dict.items()))
    except (CorpusError, ReeljudgeError) as fault:
        found.add(step, *(f"{what}: {printable(line)}" for line in str(fault).splitlines()))


@each_hour
def forget_unfinished_corpora() -> None:
    """Delete corpora that a job began to store and that no job goes on with."""
    for name, corpus in unfinished():
        draft = Draft.objects.filter(token=name).first()
        if draft is None or not is_being_stored(draft):
            forget(corpus)


def is_being_stored(draft: Draft) -> bool:
    """Return whether a job stores the draft's corpus or makes the campaign of it, or is to."""
    return any(each.jobs(draft).unfinished().exists() for each in (make_campaign, store_corpus))


@dataclass(frozen=True)
class CampaignPlan:
    """A campaign that is to be made, or one that gets more queries."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    existing: Campaign | None = None
    selection: Selection | None = None
    queries: AbstractContextManager[Path] | None = None  # gives the file that holds them
    queries_name: str = "The queries"
    split: str = ""  # of the queries of the file
    board: Leaderboard | None = None  # that is judged again, in place of queries and ranking
    reuses: Campaign | None = None  # the earlier campaign whose grades a new one reuses
    owner: User | None = None  # who leads it; nobody if it is made in the terminal
    people: Iterable[tuple[str, str]] = ()  # name and role


@dataclass
class Built:
    """A campaign that was made, with how many queries were drawn, added from the file, and merged."""

    campaign: Campaign
    drawn: int = 0
    added: int = 0
    merged: int = 0
    pooled: Pooled | None = None


Keeper = Callable[[Campaign, Leaderboard, Membership | None], None]
KEEPERS: list[Keeper] = []


def keeps(keeper: Keeper) -> Keeper:
    """Register the decorated function of an app above, which keeps what it needs of a leaderboard that is judged again.

    It gets the campaign that was just stored, the leaderboard, and the campaign's lead, if it has one yet.
    """
    KEEPERS.append(keeper)
    return keeper


def build(plan: CampaignPlan, corpus: Corpus, step: Step = nullcontext) -> Built:
    """Store a campaign with its queries and its members, in the caller's transaction.

    Each part is made inside `step`, which is called with the part's name and may collect what is wrong with it. If
    anything is wrong, nothing may stay.
    """
    built = Built(plan.existing or _campaign(plan, corpus, step))
    if plan.selection:
        built.drawn = store(built.campaign, plan.selection)
    if plan.queries:
        with step(plan.queries_name), transaction.atomic(), plan.queries as file:
            built.added, built.merged = load_queries(built.campaign, file, plan.split)
    lead = None
    if plan.owner:
        with step("The people"), transaction.atomic():
            lead = _add_members(built.campaign, plan.owner, plan.people)
    if plan.board:
        with step("The leaderboard"), transaction.atomic():
            runs = [each.run for each in plan.board.runs]
            built.pooled = store_pool(built.campaign, plan.board.qrels, runs, plan.board.depth)
            for keep in KEEPERS:
                keep(built.campaign, plan.board, lead)
    return built


def _campaign(plan: CampaignPlan, corpus: Corpus, step: Step) -> Campaign:
    """Store the campaign, or a stand-in if its settings are wrong, so that the rest can be checked too."""
    about = {"opens_without_films": False, **plan.settings}
    campaign, is_right = Campaign(name=plan.name, corpus=corpus, reuses=plan.reuses, **about), False
    with step("The settings"):
        campaign.full_clean()
        is_right = True
    if not is_right:
        campaign = Campaign(name=token(), corpus=corpus, reuses=plan.reuses)
    campaign.save()
    return campaign


def _add_members(campaign: Campaign, owner: User, people: Iterable[tuple[str, str]]) -> Membership:
    lead = campaign.add_member(owner, Membership.Role.LEAD)
    named = [name for name, _ in people]
    users = {user.username: user for user in User.objects.filter(username__in=named)}
    for name, role in people:
        if name not in users:
            raise ReeljudgeError(f"{name}: nobody has this name; invite people without an account later")
        try:
            campaign.add_member(users[name], role)
        except WrongState as fault:
            raise ReeljudgeError(f"{name}: {fault}") from fault
    return lead
