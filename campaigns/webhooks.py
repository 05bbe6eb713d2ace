"""Webhooks of a campaign: making one, telling it what happened, and to which hosts it may go."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import secrets
import socket
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from threading import Timer
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from base.database import decrypt, encrypt
from base.errors import BadValue, ReeljudgeError, WrongState
from base.middleware import is_within, networks
from base.text import abbreviated
from base.transactions import locked
from campaigns.events import About, Happened, listens
from campaigns.models import Campaign, Delivery, LogEntry, Membership, Webhook, log
from jobs.errors import JobError, JobPostponed
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind

LONGEST = Webhook._meta.get_field("address").max_length or 0  # characters of an address
PORTS = {"https": 443, "http": 80}
HOLDING_IPV4 = (ip_network("64:ff9b::/96"), ip_network("::/96"))  # NAT64 (RFC 6052), and compatible addresses
PATIENCE = 10.0  # seconds of silence
DEADLINE = 20.0  # seconds for the whole answer
SIGNATURE = "Reeljudge-Signature"
# The last is what a connection raises that was ended while it was read.
FAULTS = (OSError, http.client.HTTPException, ValueError)
TEST = "test"
MOST = 10  # webhooks of a campaign
KEPT = timedelta(days=30)
GIVE_UP = timedelta(hours=24)  # after it happened


class NotAllowed(ReeljudgeError):
    """A host's name leads to an address that no webhook may go to."""


class Destination(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str


def destination(address: str) -> Destination:
    """Return the parts of an address that the settings allow.

    Raises BadValue if they do not, or the text is no such address.
    """
    found = _parts(address)
    allowed = [_parts(host if "://" in host else f"https://{host}") for host in settings.WEBHOOK_HOSTS]
    if len(address) > LONGEST or found is None or found[:3] not in [each[:3] for each in allowed if each]:
        hosts = ", ".join(settings.WEBHOOK_HOSTS) or "none: the operator has to set WEBHOOK_HOSTS"
        raise BadValue("address", abbreviated(address), f"https://HOST/PATH with one of these hosts: {hosts}")
    return found


def _parts(address: str) -> Destination | None:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    plain = address.isascii() and address.isprintable() and " " not in address
    if not plain or not host or parts.scheme not in PORTS or parts.username is not None or parts.fragment:
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(parts.scheme, host, port or PORTS[parts.scheme], path)


def reachable(where: Destination) -> str:
    """Return an address of the host, as the name's service tells it now, to which a connection may go.

    Raises NotAllowed if any address of the host is in a private network that the settings do not name; OSError if the
    host's name is not known now.
    """
    found = {str(each[4][0]) for each in socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)}
    for each in found:
        if not _is_open(each):
            raise NotAllowed(f"{where.host} leads into a private network; expected one in WEBHOOK_NETWORKS")
    return min(found)


def _is_open(address: str) -> bool:
    plain = _plain(ip_address(address.partition("%")[0]))
    public = plain.is_global and not (plain.is_multicast or plain.is_reserved)
    if isinstance(plain, IPv6Address):
        public = public and not plain.is_site_local
    return public or is_within(str(plain), networks(settings.WEBHOOK_NETWORKS))


def _plain(given: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the address of IPv4 to which one of IPv6 leads that holds it, or else the address itself."""
    if isinstance(given, IPv4Address):
        return given
    if any(given in network for network in HOLDING_IPV4):
        return IPv4Address(int(given) % 2**32)
    return given.ipv4_mapped or given.sixtofour or given


def signature(secret: str, body: str, at: int) -> str:
    """Return what the header says: the time, and the HMAC-SHA256 of the time and the body."""
    signed = hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def send(address: str, secret: str, event: str, body: str) -> int:
    """Post the body, and return the status of the answer. A redirect is an answer like any other.

    Raises BadValue or NotAllowed if the settings do not allow the address; one of FAULTS if the site does not answer in
    time.
    """
    where = destination(address)
    connection = _Connection(where, reachable(where))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Reeljudge",
        "Reeljudge-Event": event,
        SIGNATURE: signature(secret, body, int(time.time())),
    }
    overdue = Timer(DEADLINE, connection.give_up)
    overdue.start()
    try:
        connection.request("POST", where.path, body.encode(), headers)
        return connection.getresponse().status  # nothing more of the answer is read
    finally:
        overdue.cancel()
        connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection to the address that was checked, whatever the host's name leads to a moment later."""

    def __init__(self, where: Destination, address: str) -> None:
        super().__init__(where.host, where.port, timeout=PATIENCE)
        self.where, self.address = where, address
        self.default_port = {"https": 443, "http": 80}[where.scheme]

    def connect(self) -> None:
        self.sock = socket.create_connection((self.address, self.where.port), PATIENCE)
        if self.where.scheme == "https":
            tls = ssl.create_default_context()
            secure = tls.wrap_socket(self.sock, do_handshake_on_connect=False, server_hostname=self.where.host)
            self.sock = secure
            secure.do_handshake()  # by now this can be ended, too

    def give_up(self) -> None:
        """End the connection, so that whoever reads from it stops."""
        with suppress(OSError):
            if self.sock:
                self.sock.shutdown(socket.SHUT_RDWR)


@transaction.atomic
def make(campaign: Campaign, address: str, events: Iterable[str], by: Membership | None) -> tuple[Webhook, str]:
    """Make a webhook. Return it with the secret that signs what it is sent, which is told this once.

    Raises BadValue if the settings do not allow the address; WrongState if the campaign has as many webhooks as it can
    have.
    """
    destination(address)
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    if campaign.webhooks.count() >= MOST:
        raise WrongState(f"The campaign has {MOST} webhooks. Remove one first.")
    secret = secrets.token_urlsafe(32)
    made = campaign.webhooks.create(address=address, events=sorted(events), secret=encrypt(secret), by=by)
    log(by, LogEntry.Kind.WEBHOOK, address, after=", ".join(made.events))
    return made, secret


@transaction.atomic
def remove(webhook: Webhook, by: Membership | None) -> None:
    """Remove a webhook, with what it was sent."""
    log(by, LogEntry.Kind.WEBHOOK, webhook.address, ", ".join(webhook.events), "removed")
    webhook.delete()


def secret_of(webhook: Webhook) -> str:
    """Return the secret that signs what the webhook is sent.

    Raises WrongState if it was encrypted by a key that this site has no more.
    """
    try:
        return decrypt(webhook.secret)
    except WrongState as fault:
        raise WrongState("its secret cannot be read, because this site has a new key; make a new webhook") from fault


def renew_secrets() -> int:
    """Encrypt the secrets that can be read by the present key, and return how many there are."""
    rows = list(locked(Webhook.objects.order_by("pk")))
    for row in rows:
        with suppress(WrongState):
            row.secret = encrypt(secret_of(row))
            row.save(update_fields=["secret"])
    return len(rows)


@listens
def announce(campaign: int, what: Happened, about: About) -> None:
    """Have each webhook told that wants to know."""
    for webhook in Webhook.objects.filter(campaign=campaign, enabled=True).select_related("campaign"):
        if what in webhook.events:
            deliver(webhook, what, about)


@transaction.atomic
def deliver(webhook: Webhook, event: str, about: About) -> Delivery:
    """Make a delivery, and ask for the job that sends it."""
    payload = {
        "id": str(uuid4()),  # by which the other site knows one that comes twice
        "event": event,
        "campaign": webhook.campaign.name,
        "at": timezone.now().isoformat(),
        "about": about,
    }
    delivery = webhook.deliveries.create(event=event, body=json.dumps(payload))
    tell_webhook.ask(delivery)
    return delivery


@kind(
    "tell-webhook",
    "Tell a webhook",
    lane=Lane.QUICK,
    of=Delivery,
    owner="webhook.campaign",
    subject="{0.event} to {0.webhook}",
    page=("campaign-settings", "webhook.campaign.name"),
    for_leads=True,
)
def tell_webhook(delivery: Delivery, report: Report) -> None:
    """Send one delivery. If it is not taken, wait longer each time, up to an hour, and give up after a day."""
    if delivery.delivered or not delivery.webhook.enabled:
        return
    report(0, 1, "sending")
    status, fault, is_final = _sent(delivery)
    taken = status is not None and 200 <= status < 300
    Delivery.objects.filter(pk=delivery.pk).update(
        tries=F("tries") + 1, status=status, error=fault[:300], delivered=timezone.now() if taken else None
    )
    if not taken and (is_final or timezone.now() > delivery.at + GIVE_UP):
        raise JobError(fault)
    if not taken:
        raise JobPostponed(fault)
    report(1, 1)


def _sent(delivery: Delivery) -> tuple[int | None, str, bool]:
    """Return the status of the answer, what was wrong, and whether trying again is of no use."""
    webhook = delivery.webhook
    try:
        status = send(webhook.address, secret_of(webhook), delivery.event, delivery.body)
    except ReeljudgeError as refusal:
        return None, str(refusal), True
    except FAULTS as fault:
        return None, f"no answer ({type(fault).__name__})", False
    return status, "" if 200 <= status < 300 else f"status {status}; expected 200 to 299", False


def test(webhook: Webhook) -> Delivery:
    """Have the webhook told something that did not happen. Raises WrongState if it is disabled."""
    _must_be_enabled(webhook)
    return deliver(webhook, TEST, {})


def send_again(delivery: Delivery) -> None:
    """Send a delivery again, unless it was taken. Raises WrongState if its webhook is disabled."""
    _must_be_enabled(delivery.webhook)
    if delivery.delivered is None:
        tell_webhook.ask(delivery)


def _must_be_enabled(webhook: Webhook) -> None:
    if not webhook.enabled:
        raise WrongState("The webhook is disabled. Enable it first.")


@each_hour
def forget_deliveries() -> None:
    """Delete deliveries of more than 30 days ago, with their jobs."""
    old = Delivery.objects.filter(at__lt=Now() - KEPT)
    tell_webhook.jobs(old).exclude(state=Job.State.RUNNING).delete()
    old.delete()
