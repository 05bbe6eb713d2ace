"""Whatever its kind, a job that failed is listed, explained and tried again: on a page, by the API, in the terminal."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any, cast

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import models
from django.db.models import NOT_PROVIDED, Model
from django.urls import reverse
from django.utils import timezone

from campaigns.access import let_create
from campaigns.models import Campaign, Membership
from corpus.models import Clip, Corpus
from drafts.models import Draft
from jobs.models import Job
from jobs.registry import KINDS, Kind, forget_jobs_of_rows_that_are_gone
from judging.models import Batch, Query
from judging.review.actions import prepare
from runs.models import TrainedSystem
from tests.cast import browser
from tests.conftest import Case
from tests.installation import ROOT
from tests.terminal import printed

pytestmark = pytest.mark.django_db
ERROR = "the disk <is> full"
# Values of required fields, by the type that their column has in Python.
VALUES: dict[type[Any], Any] = {
    models.CharField: "1",
    models.TextField: "{}",
    models.FloatField: 1.0,
    models.IntegerField: 1,
    models.JSONField: {},
    models.FileField: "1",
    models.DateTimeField: timezone.now(),
}


class Rows:
    """Rows of any model: those that are known, and others with as little in them as their columns demand."""

    def __init__(self, *known: Model) -> None:
        self.known = {type(row): row for row in known}

    def __call__(self, model: type[Model]) -> Model:
        if model not in self.known:
            fields = [field for field in model._meta.concrete_fields if _is_required(field)]
            values = {field.name: self._value(field) for field in fields}
            self.known[model] = model._base_manager.create(**values)
        return self.known[model]

    def _value(self, field: Any) -> Any:
        if field.is_relation:
            return self(field.related_model)
        return next(value for kind, value in VALUES.items() if isinstance(field, kind))


def _is_required(field: Any) -> bool:
    free = field.primary_key or field.null or field.blank or field.has_default()
    return not free and field.db_default is NOT_PROVIDED


@pytest.fixture
def rows(batch: Batch, leo: Membership) -> Rows:
    clip = Clip.objects.filter(candidates__batch=batch)[0]
    let_create(leo.user)  # so that drafts have pages
    row = {"name": "prior", "system": "prior", "options": {}, "features": "i3d", "clip_seconds": 1, "depth": 1}
    system = TrainedSystem.objects.create(campaign=leo.campaign, by=leo, number=1, **row)
    action = prepare(leo, "close", Query.objects.filter(pk=batch.query_id))
    draft = Draft.objects.create(owner=leo.user, corpus=leo.campaign.corpus)
    return Rows(action, batch, clip, draft, leo, leo.user, leo.campaign, leo.campaign.corpus, system)


Look = Callable[[Job, User], None]
EachKind = Callable[[Look], None]


def failed(kind: Kind[...], rows: Rows) -> Job:
    model = apps.get_model(kind.of) if isinstance(kind.of, str) else kind.of
    made = kind.ask(rows(model)) if model else kind.ask(key="key")
    Job.objects.filter(pk=made.pk).update(state=Job.State.FAILED, error=ERROR, ended=timezone.now())
    made.refresh_from_db()
    return made


@pytest.fixture
def each_kind(rows: Rows, leo: Membership, case: Case) -> EachKind:
    """Look at a failed job of each kind, with who may do something about it: the lead, or who runs the site."""

    def look_at_each(look: Look) -> None:
        root = User.objects.create(username="root", is_superuser=True)
        for name, kind in sorted(KINDS.items()):
            if kind.is_part:  # the job that it is a part of fails with its error
                continue
            with case(name):
                job = failed(kind, Rows(*rows.known.values()))
                look(job, leo.user if job.owner or job.person_id == leo.user.pk else root)

    return look_at_each


def pages_of(job: Job, corpus: Corpus) -> list[str]:
    if job.owner.startswith("campaign"):
        return [reverse("activity", args=["films"]) + "?view=jobs"]
    if job.owner:
        return [reverse("activity", args=["films"]) + "?view=jobs", reverse("corpus-work", args=[corpus.name])]
    return [reverse("site-work")]


def is_waiting(job: Job) -> bool:
    job.refresh_from_db()
    return (job.state, job.error) == (Job.State.WAITING, "")


def test_on_the_page(each_kind: EachKind, campaign: Campaign) -> None:
    @each_kind
    def look(job: Job, who: User) -> None:
        client = browser(who)
        for page in pages_of(job, campaign.corpus):
            words = unescape(client.get(f"{page}{'&' if '?' in page else '?'}state=failed").content.decode())
            assert all(word in words for word in (job.label, job.subject, ERROR, "Try again"))
            assert reverse("job-again", args=[job.pk]) in words
        answer = client.post(reverse("job-again", args=[job.pk]), {"back": page})
        assert (answer.status_code, answer["Location"], is_waiting(job)) == (302, page, True)
        client.post(reverse("job-cancel", args=[job.pk]), {"back": "https://example.org/"})
        job.refresh_from_db()
        assert (job.state, job.error) == (Job.State.FAILED, "cancelled")


def test_by_the_api(each_kind: EachKind, campaign: Campaign) -> None:
    @each_kind
    def look(job: Job, who: User) -> None:
        client, args = browser(who), ["films"] if job.owner else []
        [found] = client.get(reverse("api-jobs" if job.owner else "api-site-jobs", args=args)).json()["results"]
        assert {name: found[name] for name in ("kind", "label", "subject", "address", "error")} == {
            "kind": job.kind,
            "label": KINDS[job.kind].label,
            "subject": job.subject,
            "address": job.address,
            "error": ERROR,
        }
        answer = client.post(reverse("api-any-job-again", args=[job.pk]), content_type="application/json")
        assert (answer.status_code, is_waiting(job)) == (202, True)
        assert client.get(answer["Location"]).json()["state"] == "waiting"


def test_in_the_terminal(each_kind: EachKind) -> None:
    @each_kind
    def look(job: Job, who: User) -> None:
        words = printed("jobs", "--kind", job.kind)
        assert all(word in words for word in (str(job.pk), "failed", job.label, job.subject, ERROR))
        assert printed("jobs", job.pk, "--retry").endswith(": asked for again\n")
        assert is_waiting(job)


def test_its_page_is_there(each_kind: EachKind) -> None:
    @each_kind
    def look(job: Job, who: User) -> None:
        if job.address:
            assert browser(who).get(job.address).status_code in (200, 302)


def test_nobody_else_sees_it(each_kind: EachKind, member: Callable[..., Membership]) -> None:
    """An annotator sees no job, and a researcher none that is for leads or for one person."""

    @each_kind
    def look(job: Job, who: User) -> None:
        annotator, researcher = browser(member("nina")), browser(member("rio", "researcher"))
        hidden = job.for_leads or job.person_id or not job.owner
        assert annotator.get(reverse("activity", args=["films"])).status_code == 404
        assert annotator.post(reverse("job-again", args=[job.pk])).status_code == 404
        assert annotator.post(reverse("job-cancel", args=[job.pk])).status_code == 404
        page = researcher.get(reverse("activity", args=["films"]), {"view": "jobs"}).content.decode()
        assert (job.label in page) == (not hidden)
        may = 302 if job.by_members and not hidden else 404
        assert researcher.post(reverse("job-cancel", args=[job.pk])).status_code == 404
        assert researcher.post(reverse("job-again", args=[job.pk])).status_code == may


def test_a_job_about_a_row_that_is_gone_ends_quietly_and_is_forgotten(each_kind: EachKind) -> None:
    @each_kind
    def look(job: Job, who: User) -> None:
        if KINDS[job.kind].of:
            Job.objects.filter(pk=job.pk).update(row=10**9)
            job.refresh_from_db()
            KINDS[job.kind].run(job, cast(Any, None))
        forget_jobs_of_rows_that_are_gone()
        assert Job.objects.filter(pk=job.pk).exists() == (not KINDS[job.kind].of)


def test_a_process_knows_all_kinds_after_setup_alone() -> None:
    """A worker that did not import the module of a kind could not run its jobs."""
    stated = re.compile(r'^@kind\(\s*"([\w-]+)"', re.MULTILINE)
    modules = (file for app in apps.get_app_configs() if str(ROOT) in app.path for file in Path(app.path).rglob("*.py"))
    written = {code for file in modules if ".venv" not in file.parts for code in stated.findall(file.read_text())}
    script = "import django; django.setup(); from jobs.registry import KINDS; print(*KINDS)"
    known = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert written | {*KINDS} == {*known.stdout.split()}
