"""The parts of benchmarks that run inside an installation, each in a process of its own that prints JSON."""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import time
from typing import Any

ROUNDS = 20
CROWD = 1000  # annotators
SECONDS_OF_A_GRADE = 19  # of each of them, in the mean


def count(name: str) -> None:
    """Compute the campaign's summaries, as a worker does."""
    from campaigns.models import Campaign
    from reports.campaign_summaries import store_summaries

    store_summaries(Campaign.objects.get(name=name))


def draw(name: str) -> dict[str, int]:
    """Draw the paper's Figure 5 as the files of its page, and return their sizes in bytes."""
    from campaigns.models import Campaign
    from reports.campaign_summaries import current_summary
    from reports.figures import drawing
    from reports.figures.catalogue import BY_KEY
    from reports.figures.numbers import FigureSubject

    campaign = Campaign.objects.get(name=name)
    figures = [BY_KEY["figure-5a"], BY_KEY["figure-5b"]]
    rows = {
        each.key: each.rows(current_summary(campaign, each.summary).counts, FigureSubject(campaign)) for each in figures
    }
    return {key: len(drawing.svg_of(drawing.specification(key, drawn))) for key, drawn in rows.items()}


def pages(campaign: str) -> list[dict[str, Any]]:
    """Ask for every page of the lead, in turn, as the lead."""
    from django.conf import settings
    from django.test import Client

    from campaigns.models import Membership

    settings.ALLOWED_HOSTS = ["testserver"]
    settings.SECURE_SSL_REDIRECT = False
    client = Client()
    client.force_login(Membership.objects.leads().get(campaign__name=campaign).user)
    return [_page(client, name, address) for name, address in addresses(campaign).items()]


def _page(client: Any, name: str, address: str) -> dict[str, Any]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)  # the first one is warming up
    statements = len(queries)
    assert answer.status_code == 200, (address, answer.status_code)
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        client.get(address)
        times.append(1000 * (time.perf_counter() - began))
    p95 = statistics.quantiles(times, n=20)[18]
    return {"name": name, "queries": statements, "p95": p95, "median": statistics.median(times)}


def addresses(name: str) -> dict[str, str]:
    """Return the addresses of all the lead's pages of the campaign, with one of its batches and one of its people."""
    from django.urls import reverse

    from campaigns.models import Campaign, Membership
    from judging.models import Batch
    from releases.models import Release

    campaign = Campaign.objects.get(name=name)
    batches = Batch.objects.in_campaign(campaign).order_by("pk")
    done = batches.filter(state=Batch.State.REVIEWED).first()
    person = campaign.memberships.filter(role=Membership.Role.ANNOTATOR).order_by("pk").first()
    assert done is not None
    assert person is not None
    found = {each: reverse(each, args=[name]) for each in PLAIN}
    found |= {f"desk, {params}": f"{found['campaign']}?{params}" for params in ASKED}
    found["all batches"] = f"{found['reviews']}?show=all&sort=-mean"
    found[BARE] = reverse("account")
    found |= {each: reverse(each, args=[name, person.worker]) for each in ("person", "agreement-annotator")}
    found |= {"batch": reverse("batch", args=[name, done.pk]), "campaigns": reverse("campaigns")}
    found["fastest first"] = reverse("check-pairs", args=[name, person.worker, "speed"])
    found["contested judgements"] = f"{found['agreement-judgements']}?only=contested&worker={person.worker}"
    anew = reverse("reopen", args=[name])
    found |= {"reopening a batch": f"{anew}?batch={done.pk}", "reopening all": f"{anew}?worker={person.worker}"}
    found["withdrawing"] = reverse("withdraw", args=[name, done.query_id])
    versions = campaign.releases.filter(state=Release.State.READY).values_list("version", flat=True)[:2]
    if len(versions) == 2:
        new, old = versions
        found["release-difference"] = f"{reverse('release-difference', args=[name])}?from={old}&to={new}"
    if waiting := batches.to_review().first():
        found["batch to review"] = reverse("batch", args=[name, waiting.pk])
    return found


BARE = "a bare page"  # for a person who is signed in; the others are compared with it
ASKED = ("show=review", "q=waves", "sort=-contested&contested_from=0", "worker=3&sort=mean&discarded=on")
PLAIN = (
    *("campaign", "reviews", "queue", "flags", "digest", "reopenings", "runs"),
    *("people", "hours", "checks", "messages"),
    *("agreement", "agreement-queries", "agreement-judgements", "figures"),
    *("guideline", "examples", "exam", "releases", "exports", "campaign-settings"),
)


def crowd(name: str) -> None:
    """Add a thousand annotators, who have no password: hashing a thousand would take minutes."""
    from django.contrib.auth.models import User

    from campaigns.models import Campaign, Membership

    campaign = Campaign.objects.get(name=name)
    for number in range(CROWD):
        campaign.add_member(User.objects.create(username=f"annotator-{number}"), Membership.Role.ANNOTATOR)


def sessions(name: str) -> list[str]:
    """Sign in all annotators of the campaign, and return what their browsers keep in the cookie `sessionid`."""
    from django.test import Client

    from campaigns.models import Campaign

    annotators = Campaign.objects.get(name=name).memberships.annotators().order_by("worker")
    return [_signed_in(Client(), each.user) for each in annotators.select_related("user")]


def _signed_in(client: Any, user: Any) -> str:
    client.force_login(user)
    return str(client.cookies["sessionid"].value)


def release(name: str) -> dict[str, Any]:
    """Freeze the campaign and write the zip, as a worker does."""
    from campaigns.models import Campaign, Membership
    from releases.freezing import freeze, freeze_release

    campaign = Campaign.objects.get(name=name)
    lead = Membership.objects.leads().get(campaign=campaign)
    frozen, began = freeze(campaign, lead, "CC-BY-4.0"), time.perf_counter()
    freeze_release(frozen, lambda *_: None)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"seconds": time.perf_counter() - began, "megabytes": memory, "size": frozen.size}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    verb, name = sys.argv[1:]
    verbs: dict[str, Any] = {each.__name__: each for each in (count, crowd, draw, pages, release, sessions)}
    print(json.dumps(verbs[verb](name)))


if __name__ == "__main__":
    main()
