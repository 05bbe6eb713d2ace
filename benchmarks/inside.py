"""The parts of benchmarks that run inside an installation, each in a process of its own."""

from __future__ import annotations

import json
import resource
import statistics
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from benchmarks.measuring import in_turn

ROUNDS = 20
CROWD = 1000  # annotators
SECONDS_OF_A_GRADE = 19  # of each of them, in the mean
LARGE = 100_000  # rows; tables with more must not be read from end to end


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
    times = [1000 * each for each in in_turn([client.get], [address] * ROUNDS)[0]]
    p95 = statistics.quantiles(times, n=20)[18]
    return {"name": name, "queries": statements, "p95": p95, "median": statistics.median(times)}


def addresses(name: str) -> dict[str, str]:
    """Return the addresses of all the lead's pages of the campaign, with one of its batches and one of its people."""
    from django.urls import reverse

    from campaigns.models import Campaign, Membership
    from judging.models import Batch, Query
    from judging.review.actions import prepare, prepare_reopening
    from judging.review.reopening import scope_of_annotator, scope_of_batch
    from releases.models import Release

    campaign = Campaign.objects.get(name=name)
    batches = Batch.objects.in_campaign(campaign).order_by("pk")
    done = batches.filter(state=Batch.State.REVIEWED).first()
    person = campaign.memberships.filter(role=Membership.Role.ANNOTATOR).order_by("pk").first()
    assert done is not None
    assert person is not None
    found = {each: reverse(each, args=[name]) for each in PLAIN}
    found |= {f"{page}, {params}": f"{found[page]}?{params}" for page, params in ASKED}
    found[BARE] = reverse("account")
    found["annotator"] = reverse("annotator", args=[name, person.worker])
    found |= {f"annotator, {view}": f"{found['annotator']}?view={view}" for view in ("agreement", "checks", "exam")}
    found |= {
        f"annotators, {view}": f"{found['annotators']}?view={view}" for view in ("quality", "pay", "limits", "order")
    }
    found |= {"batch": reverse("batch", args=[name, done.pk]), "campaigns": reverse("campaigns")}
    found["fastest first"] = f"{found['annotator']}?view=checks&pairs=speed"
    found["contested judgements"] = f"{found['judgements']}?only=contested&worker={person.worker}"
    lead = campaign.memberships.leads().first()
    assert lead is not None
    scopes = {"reopening a batch": scope_of_batch(done), "reopening all": scope_of_annotator(person)}
    previews = {words: prepare_reopening(lead, scope) for words, scope in scopes.items()}
    previews["withdrawing"] = prepare(lead, "withdraw", Query.objects.filter(pk=done.query_id))
    found |= {words: reverse("action", args=[name, action.pk]) for words, action in previews.items()}
    versions = campaign.releases.filter(state=Release.State.READY).values_list("version", flat=True)[:2]
    if len(versions) == 2:
        found["release changes"] = f"{reverse('release', args=[name, versions[0]])}?tab=changes"
    if waiting := batches.to_review().first():
        found["batch to review"] = reverse("batch", args=[name, waiting.pk])
    return found


BARE = "a bare page"  # for a person who is signed in; the others are compared with it
ASKED = (
    *(("queries", params) for params in ("show=review", "q=waves", "sort=-contested&contested_from=0")),
    *(("queries", params) for params in ("worker=3&sort=mean&discarded=on", "view=batches&show=all&sort=-mean")),
    *(("inbox", params) for params in ("view=flags", "view=messages")),
    *(("activity", params) for params in ("view=reopened", "view=jobs")),
    ("campaign", "drawer=blockers"),
    ("campaign", "drawer=hours"),
    *(
        ("annotators", params)
        for params in ("drawer=invitations", "drawer=message&who=3", "view=order&drawer=priority")
    ),
    *(("annotators", f"view=limits&drawer={drawer}&who=3") for drawer in ("limits", "reopen")),
    ("agreement", "drawer=pair&one=2&other=3"),
    ("guideline", "drawer=what-if"),
    ("leaderboard", "view=figures"),
    ("releases", "drawer=freeze"),
    ("systems", "drawer=train"),
)
PLAIN = (
    *("campaign", "queries", "inbox", "activity", "leaderboard", "measures", "unjudged", "systems"),
    *("annotators", "agreement", "judgements", "meeting"),
    *("guideline", "exam", "releases", "campaign-settings"),
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


def whole_tables_read(name: str) -> dict[str, Any]:
    """Do what annotators and leads do. Return how many statements that takes, and which read a large table whole."""
    from django.conf import settings
    from django.db import connection

    settings.ALLOWED_HOSTS = ["testserver"]
    settings.SECURE_SSL_REDIRECT = False
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples > %s", [LARGE])
        large = {row[0] for row in cursor.fetchall()}
        cursor.execute("LOAD 'auto_explain'")
        cursor.execute("SET auto_explain.log_min_duration = 0")
        cursor.execute("SET auto_explain.log_format = json")
        cursor.execute("SET client_min_messages = log")
    found: list[tuple[str, str]] = []
    doing = [""]
    connection.connection.add_notice_handler(lambda notice: found.append((doing[0], notice.message_primary)))
    for what in _everything(name):
        doing[0] = what
    explained = [(what, json.loads(text.partition("plan:")[2])) for what, text in found if "plan:" in text]
    read = {
        (what, table, plan["Query Text"][:300])
        for what, plan in explained
        for table in _scanned(plan["Plan"])
        if table in large
    }
    return {"statements": len(explained), "large": sorted(large), "read": sorted(read)}


def _scanned(node: dict[str, Any]) -> Iterator[str]:
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for below in node.get("Plans", []):
        yield from _scanned(below)


def _everything(name: str) -> Iterator[str]:
    """Yield the name of each thing before it is done."""
    from django.test import Client

    from campaigns.models import Campaign, Membership

    campaign = Campaign.objects.get(name=name)
    annotator = campaign.memberships.annotators().order_by("-pk").first()
    assert annotator is not None
    client = Client(headers={"accept": "application/json"})
    client.force_login(annotator.user)
    yield from _judging(client, name)
    client = Client()
    client.force_login(Membership.objects.leads().filter(campaign=campaign).earliest("pk").user)
    for what, address in addresses(name).items():
        yield what
        client.get(address)


def _judging(client: Any, name: str) -> Iterator[str]:
    yield "home page"
    client.get("/judge/")
    yield "claim"
    handed = client.post(f"/judge/{name}/claim").json()["assignment"]
    base, fence = f"/judge/assignments/{handed['token']}", {"fence": handed["fence"]}
    yield "workplace"
    client.get(f"{base}/")
    for place in range(1, len(handed["places"]) + 1):
        yield "save"
        body = fence | {"grade": 2, "key": str(uuid4()), "press": place, "seconds": 5}
        client.put(f"{base}/judgements/{place}", body, content_type="application/json")
    yield "submission"
    client.post(f"{base}/submit", fence, content_type="application/json")
