"""Webhooks: signed, tried again for a day, and never sent where the operator did not allow it."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from base.errors import BadValue
from campaigns import webhooks
from campaigns.events import Happened
from campaigns.models import Campaign, Delivery, Membership, Webhook
from campaigns.webhooks import NotAllowed, destination, reachable
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch, Review
from judging.review.reviewing import review
from tests.api.asking import Program, problem_in
from tests.cast import browser, settle


class Site:
    """Another site on this machine, which keeps what it is told."""

    def __init__(self) -> None:
        self.status, self.location = 204, ""
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                site.requests.append((self.path, dict(self.headers), body))
                self.send_response(site.status)
                if site.location:
                    self.send_header("Location", site.location)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site(settings: Any) -> Iterator[Site]:
    made = Site()
    settings.WEBHOOK_HOSTS, settings.WEBHOOK_NETWORKS = [made.address], ["127.0.0.0/8"]
    yield made
    made.close()


def hook(campaign: Campaign, site: Site, *events: str) -> tuple[Webhook, str]:
    return webhooks.make(campaign, f"{site.address}/told?by=us", events or ("batch.settled", "query.closed"), None)


@pytest.mark.any_database
@pytest.mark.both_databases
@pytest.mark.django_db
def test_what_happened_is_told_once_and_signed(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership, site: Site
) -> None:
    _, secret = hook(batch.query.campaign, site)
    hook(batch.query.campaign, site, "release.frozen")
    settle(batch, ada, bob)
    review(batch, leo, Review.Verdict.CLOSE)
    work_off(StringIO())
    work_off(StringIO())
    assert [json.loads(body)["event"] for _, _, body in site.requests] == ["batch.settled", "query.closed"]
    path, headers, body = site.requests[0]
    assert path == "/told?by=us"
    event = json.loads(body)
    assert (event["campaign"], event["about"]) == ("films", {"batch": batch.pk, "query": batch.query_id})
    at, signed = (part.partition("=")[2] for part in headers["Reeljudge-Signature"].split(","))
    assert abs(int(at) - timezone.now().timestamp()) < 60
    assert hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest() == signed
    assert all(each.delivered and each.status == 204 for each in Delivery.objects.all())
    assert secret not in str(list(Webhook.objects.values()))


@pytest.mark.django_db
def test_what_is_undone_is_not_told(batch: Batch, ada: Membership, bob: Membership, site: Site) -> None:
    from django.db import transaction

    hook(batch.query.campaign, site)
    before = transaction.savepoint()
    settle(batch, ada, bob)
    assert Delivery.objects.count() == 1
    transaction.savepoint_rollback(before)
    assert not Delivery.objects.exists()
    assert not Job.objects.filter(kind=webhooks.tell_webhook.code).exists()


@pytest.mark.django_db
def test_a_site_that_is_away_is_tried_again_for_a_day(campaign: Campaign, site: Site) -> None:
    webhook, _ = hook(campaign, site)
    delivery = webhooks.test(webhook)
    site.status = 503
    waits = []
    for _ in range(9):
        work_off(StringIO())
        job = Job.objects.get(kind=webhooks.tell_webhook.code)
        waits.append((job.due - timezone.now()).total_seconds())
        Job.objects.update(due=timezone.now() - timedelta(seconds=1))
    assert waits[0] < 40 < 2000 < waits[-1] < 4600  # seconds: longer each time, up to an hour and a quarter
    assert (job.attempts, job.state) == (0, Job.State.WAITING)
    delivery.refresh_from_db()
    assert (delivery.tries, delivery.status, delivery.delivered) == (9, 503, None)
    Delivery.objects.update(at=timezone.now() - timedelta(hours=25))
    work_off(StringIO())
    assert Job.objects.get(pk=job.pk).has_failed
    site.status = 200
    webhooks.tell_webhook.ask(delivery)
    work_off(StringIO())
    delivery.refresh_from_db()
    assert delivery.delivered


@pytest.mark.django_db
def test_a_redirect_leads_nowhere(campaign: Campaign, site: Site) -> None:
    inside = Site()
    site.status, site.location = 307, f"{inside.address}/metrics"
    webhooks.test(hook(campaign, site)[0])
    work_off(StringIO())
    inside.close()
    assert (len(site.requests), inside.requests) == (1, [])
    assert Delivery.objects.get().status == 307


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example.org/",
        "http://hooks.example.org/",
        "https://hooks.example.org:8443/",
        "https://hooks.example.org@evil.example.org/",
        "https://u:p@hooks.example.org/",
        "https://hooks.example.org.evil.example.org/",
        "https://hooks.example.org\\@evil.example.org/",
        "https://hooks.example.org/a\r\nX: y",
        "file:///etc/passwd",
        "//hooks.example.org/",
        "https://[::1/",
        "https://hooks.example.org:99999/",
        "",
    ],
)
def test_no_address_but_those_of_the_settings(address: str, settings: Any) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    assert destination("https://HOOKS.example.org/told").host == "hooks.example.org"
    with pytest.raises(BadValue, match="with one of these hosts"):
        destination(address)


@pytest.mark.parametrize(
    "found",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "::1",
        "::ffff:192.168.0.1",
        "fe80::1%eth0",
        "0.0.0.0",
        "224.0.0.1",
        "64:ff9b::127.0.0.1",  # NAT64
        "64:ff9b::a01:203",
        "64:ff9b:1::8.8.8.8",  # NAT64 of a network of one's own
        "2002:7f00:1::",  # 6to4
        "2001:0:7f00:1::",  # Teredo
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "fec0::1",
        "4000::1",
    ],
)
def test_a_name_that_leads_inside_is_refused(found: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if another address of the name is a public one."""
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    addresses = ["93.184.215.14", found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (each, 443)) for each in addresses])
    with pytest.raises(NotAllowed):
        reachable(destination("https://hooks.example.org/"))
    addresses.pop()
    assert reachable(destination("https://hooks.example.org/")) == "93.184.215.14"


@pytest.mark.parametrize("found", ["93.184.215.14", "2606:2800:220::1", "64:ff9b::5db8:d70e", "2002:5db8:d70e::1"])
def test_a_name_that_leads_outside_is_taken(found: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (found, 443))])
    assert reachable(destination("https://hooks.example.org/")) == found


@pytest.mark.django_db
def test_what_the_settings_no_longer_allow_is_not_sent(campaign: Campaign, site: Site, settings: Any) -> None:
    webhook, _ = hook(campaign, site)
    settings.WEBHOOK_NETWORKS = []
    webhooks.test(webhook)
    work_off(StringIO())
    assert site.requests == []
    assert "private network" in Delivery.objects.get().error
    assert Job.objects.get(kind=webhooks.tell_webhook.code).has_failed


@pytest.mark.django_db
def test_a_lead_makes_one_and_tests_it(leo: Membership, campaign: Campaign, site: Site) -> None:
    lead, address = Program(leo), "campaigns/films/webhooks"
    body = {"address": f"{site.address}/", "events": ["run.scored"]}
    made = lead.post(address, body, idempotency_key="k")
    assert lead.post(address, body, idempotency_key="k").json() == made.json()
    assert "secret" not in lead.get(address).json()["results"][0]
    own = f"{address}/{made.json()['id']}"
    assert lead.post(f"{own}/test").status_code == 202
    work_off(StringIO())
    [sent] = lead.get(f"{own}/deliveries").json()["results"]
    assert (sent["event"], sent["status"], sent["tries"]) == ("test", 204, 1)
    assert lead.ask("PATCH", own, {"enabled": False}).json()["enabled"] is False
    problem_in(lead.post(f"{own}/test"), 409)
    assert lead.ask("DELETE", own).status_code == 204
    assert not Delivery.objects.exists()
    refused = lead.post(address, {"address": "https://evil.example.org/", "events": ["run.scored"]})
    assert problem_in(refused, 422)["fields"].keys() == {"address"}


@pytest.mark.django_db
def test_the_page_makes_tries_disables_and_removes_one(leo: Membership, campaign: Campaign, site: Site) -> None:
    client, address = browser(leo), reverse("webhook-make", args=["films"])
    page = reverse("campaign-settings", args=["films"]) + "?tab=webhooks"
    form = {"address": f"{site.address}/", "events": ["run.scored"]}
    assert client.post(address, form | {"address": "https://evil.example.org/"}).status_code == 400
    assert client.post(address, form | {"events": []}).status_code == 400
    text = client.post(address, form).content.decode()
    webhook = Webhook.objects.get()
    secret = webhooks.secret_of(webhook)
    assert (webhook.by, webhook.events) == (leo, ["run.scored"])
    assert secret in text
    assert secret not in client.get(page).content.decode()
    own, change = f"{page}&webhook={webhook.pk}", reverse("webhook-change", args=["films", webhook.pk])
    client.post(change, {"action": "test"})
    site.status = 503
    work_off(StringIO())
    assert "status 503; expected 200 to 299" in client.get(own).content.decode()
    client.post(change, {"action": "disable"})
    assert "is disabled" in client.post(change, {"action": "test"}, follow=True).content.decode()
    webhooks.announce(campaign.pk, Happened.RUN_SCORED, {})
    Job.objects.update(due=timezone.now())
    work_off(StringIO())
    assert len(site.requests) == Delivery.objects.count() == 1
    site.status = 204
    client.post(change, {"action": "enable"})
    client.post(reverse("webhook-again", args=["films", webhook.pk, Delivery.objects.get().pk]))
    work_off(StringIO())
    assert "taken, answer 204" in client.get(own).content.decode()
    assert client.post(change, {"action": "forget"}).status_code == 400
    client.post(change, {"action": "remove"})
    assert not Delivery.objects.exists()


@pytest.mark.django_db
def test_old_deliveries_are_forgotten_with_their_jobs(campaign: Campaign, site: Site) -> None:
    webhooks.test(hook(campaign, site)[0])
    work_off(StringIO())
    Delivery.objects.update(at=timezone.now() - timedelta(days=31))
    webhooks.forget_deliveries()
    assert not Delivery.objects.exists()
    assert not Job.objects.filter(kind=webhooks.tell_webhook.code).exists()


def test_a_site_that_answers_by_drops_is_given_up(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drop comes in time, and the answer never."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings.WEBHOOK_HOSTS, settings.WEBHOOK_NETWORKS = [address], ["127.0.0.0/8"]
        monkeypatch.setattr(webhooks, "DEADLINE", 0.3)

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                while True:
                    connection.sendall(b"H")
                    Event().wait(0.05)

        Thread(target=drip, daemon=True).start()
        began = monotonic()
        with pytest.raises(webhooks.FAULTS):
            webhooks.send(f"{address}/", "secret", "test", "{}")
        assert 0.2 < monotonic() - began < 5


@pytest.mark.django_db
def test_a_secret_outlives_a_new_key_that_is_renewed(campaign: Campaign, site: Site, settings: Any) -> None:
    kept, secret = hook(campaign, site)
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another key of this site, as long as keys are"
    lost = webhooks.test(kept)
    work_off(StringIO())
    lost.refresh_from_db()
    assert "new key" in lost.error
    settings.SECRET_KEY_FALLBACKS = [former]
    call_command("renew_secrets", stdout=StringIO())
    settings.SECRET_KEY_FALLBACKS = []
    kept.refresh_from_db()
    assert webhooks.secret_of(kept) == secret
