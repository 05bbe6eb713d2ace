"""Long work: the jobs of a campaign, of a corpus, and of the site."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse

from api.operations import Answer, changes, fresh, reads, starts
from api.resource import CAMPAIGN, Resource
from api.serializers import ModelAnswer, Page
from campaigns import access
from jobs.models import Job


class JobSerializer(ModelAnswer):
    class Meta:
        model = Job
        fields = [
            "id",
            "kind",
            "lane",
            "label",
            "subject",
            "address",
            "state",
            "done",
            "total",
            "message",
            "error",
            "due",
            "created",
            "ended",
        ]
        help_texts = {
            "kind": "such as score-runs",
            "lane": "what it waits behind: quick, judging or long work, or training",
            "label": "the kind in words",
            "subject": "what it is about, in words",
            "address": "of the page about that; empty if there is none",
            "total": "0 while nobody knows",
            "message": "what it does now",
            "error": "why the last attempt came to nothing",
            "due": "when it begins, or is tried again",
        }


class Jobs(Resource, at=f"{CAMPAIGN}/jobs", name="jobs"):
    @reads(Page(JobSerializer))
    def get(self) -> Any:
        """The jobs that are not done."""
        return access.jobs(self.participant).not_done()


class JobsOfCorpus(Resource, at="corpora/<int:corpus>/jobs", name="corpus-jobs"):
    @reads(Page(JobSerializer))
    def get(self, corpus: int) -> Any:
        """The jobs of a corpus that are not done."""
        return access.jobs_of_corpus(self.request, access.corpus(self.request, pk=corpus)).not_done()


class JobsOfSite(Resource, at="jobs", name="site-jobs"):
    @reads(Page(JobSerializer))
    def get(self) -> Any:
        """The jobs that are not done: one's own, and all to those who run the site."""
        return access.jobs_of_site(self.request).not_done()


class OneJob(Resource, at=f"{CAMPAIGN}/jobs/<int:pk>", name="job"):
    @reads(JobSerializer)
    def get(self, pk: int) -> Any:
        """A job, and how far it is."""
        return get_object_or_404(access.jobs(self.participant), pk=pk)


class AnyJob(Resource, at="jobs/<int:pk>", name="any-job"):
    @reads(JobSerializer)
    def get(self, pk: int) -> Any:
        """A job that the person may have tried again, and how far it is."""
        return get_object_or_404(Job, access.may_try_again(self.request), pk=pk)


class AnyJobAgain(Resource, at="jobs/<int:pk>/again", name="any-job-again"):
    @starts(JobSerializer)
    def post(self, pk: int) -> Any:
        """Try a job again that has failed or waits, from its beginning."""
        job = fresh(get_object_or_404(Job.objects.not_done(), access.may_try_again(self.request), pk=pk).try_again())
        return Answer.later(reverse("api-any-job", args=[pk]), job)


class AnyJobCancelled(Resource, at="jobs/<int:pk>/cancel", name="any-job-cancel"):
    @changes(JobSerializer)
    def post(self, pk: int) -> Any:
        """Cancel a job that waits or runs; it counts as failed."""
        job = get_object_or_404(Job, access.may_cancel(self.request), pk=pk)
        job.end()
        return fresh(job)
