"""Where webhooks may go: to hosts that the settings name, and into no private network that they do not name."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings

from base.errors import BadValue, ReeljudgeError
from base.middleware import is_within, networks
from base.text import abbreviated

LONGEST = 500  # characters
PORTS = {"https": 443, "http": 80}
HOLDING_IPV4 = (ip_network("64:ff9b::/96"), ip_network("::/96"))  # NAT64 (RFC 6052), and compatible addresses


class NotAllowed(ReeljudgeError):
    """A host's name leads to an address that no webhook may go to."""


class Destination(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str


def destination(address: str) -> Destination:
    """Return the parts of an address that the settings allow.

    Raises
    ------
    BadValue
        If they do not, or the text is no such address.
    """
    found = _parts(address)
    allowed = [_parts(each if "://" in each else f"https://{each}") for each in settings.WEBHOOK_HOSTS]
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

    Raises
    ------
    NotAllowed
        If any address of the host is in a private network that the settings do not name.
    OSError
        If the host's name is not known now.
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
