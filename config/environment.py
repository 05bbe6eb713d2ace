"""Reading the environment for the settings: what is wrong there is named, and ends the start.

Also what follows of MEDIA_STORE, where clips are stored, and of OIDC_…, where people sign in.
"""

import os
import re
from collections.abc import Sequence
from email.utils import parseaddr
from ipaddress import ip_network
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo

import environ
from django.core.exceptions import ImproperlyConfigured

FALSE = ("false", "off", "no", "n", "0", "")
NAME = r"(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?)"
HOST = re.compile(rf"\*|\.?{NAME}", re.IGNORECASE)
ORIGIN = re.compile(rf"https?://(\*\.)?{NAME}(:[0-9]+)?", re.IGNORECASE)
SITE = re.compile(rf"(https?://({NAME})(:[0-9]+)?)/?", re.IGNORECASE)
WEBHOOK_HOST = re.compile(rf"(https?://)?{NAME}(:[0-9]+)?", re.IGNORECASE)
RATE = re.compile(r"[1-9][0-9]*/([1-9][0-9]*)?[smhd]")
SHORTEST_SECRET = 32  # characters
WEB = ("https", "http")


class Environment(environ.Env):  # type: ignore[misc]
    """The environment; errors name the variable. `known` has the names of all variables that were looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.known = set[str]()

    def get_value(self, var: str, cast: Any = None, default: Any = None, **options: Any) -> Any:
        """Return a value without white space at its ends; the default where the variable is not set."""
        self.known.add(var)
        written = os.environ.get(var, "").strip()
        if var not in os.environ:
            return default
        if cast is bool:
            if written.lower() not in (*self.BOOLEAN_TRUE_STRINGS, *FALSE):
                raise wrong(var, "on or off")
            return written.lower() in self.BOOLEAN_TRUE_STRINGS
        if cast is list:
            return [each.strip() for each in written.split(",") if each.strip()]
        if cast in (int, float):
            try:
                number = cast(written)
            except ValueError:
                number = None
            if number is None or not isfinite(number):
                raise wrong(var, "a whole number" if cast is int else "a number")
            return number
        return written

    def whole(self, var: str, default: int, least: int = 1) -> int:
        """Return a whole number that is not below `least`."""
        number: int = self.int(var, default=default)
        if number < least:
            raise wrong(var, f"a whole number of at least {least}")
        return number

    def seconds(self, var: str, default: float) -> float:
        """Return a number of seconds, more than 0."""
        number: float = self.float(var, default=default)
        if number <= 0:
            raise wrong(var, "seconds, more than 0")
        return number

    def price(self, var: str) -> float:
        """Return a price, which is 0 where none is set."""
        number: float = self.float(var, default=0.0)
        if number < 0:
            raise wrong(var, "a price of at least 0")
        return number

    def choice(self, var: str, options: Sequence[str], default: str) -> str:
        """Return one of these texts, however its letters are written."""
        written = self.str(var, default=default).lower()
        for option in options:
            if option.lower() == written:
                return option
        raise wrong(var, f"{', '.join(options[:-1])} or {options[-1]}")

    def address(self, var: str, expected: str, schemes: Sequence[str] = WEB) -> str:
        """Return an address with one of these schemes, or nothing. No message quotes it: it may hold a password."""
        address: str = self.str(var, default="")
        try:
            parts = urlsplit(address)
            is_right = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_right = False
        if address and not is_right:
            raise ImproperlyConfigured(f"{var}: no such address; expected {expected}")
        return address

    def site(self, var: str) -> tuple[str, tuple[str, ...]]:
        """Return the address of this site without a slash at its end, and its host in a tuple; nothing if unset."""
        address: str = self.str(var, default="").lower()
        found = SITE.fullmatch(address)
        if address and not found:
            raise wrong(var, "https:// and a host name, without a path, such as https://judge.example.org")
        return (found[1], (found[2],)) if found else ("", ())

    def matching(self, var: str, pattern: re.Pattern[str], expected: str, default: Sequence[str] = ()) -> list[str]:
        """Return a list of texts, all of which match the pattern."""
        found: list[str] = self.list(var, default=list(default))
        for each in found:
            if not pattern.fullmatch(each):
                raise ImproperlyConfigured(f"{var}: {each!r}; expected {expected}")
        return found

    def networks(self, var: str) -> list[str]:
        """Return a list of addresses and networks."""
        found: list[str] = self.list(var, default=[])
        for each in found:
            try:
                ip_network(each, strict=False)
            except ValueError as fault:
                raise ImproperlyConfigured(f"{var}: {each!r}; expected addresses or networks of IP") from fault
        return found

    def folder(self, var: str, default: Path) -> Path:
        """Return the path of a folder, which need not be there yet."""
        folder = Path(self.str(var, default="") or default).expanduser()
        if folder.exists() and not folder.is_dir():
            raise wrong(var, "a folder")
        return folder

    def rate(self, var: str, default: str) -> str:
        """Return a number of requests in a time; empty: no limit."""
        rate: str = self.str(var, default=default)
        if rate and not RATE.fullmatch(rate):
            raise wrong(var, "a number and /s, /m, /h or /d, such as 600/m")
        return rate

    def secret(self, var: str) -> str:
        """Return a secret that is long enough, or nothing."""
        secret: str = self.str(var, default="")
        if secret and len(secret) < SHORTEST_SECRET:
            raise ImproperlyConfigured(f"{var}: {len(secret)} characters; expected at least {SHORTEST_SECRET}")
        return secret

    def sender(self, var: str, default: str) -> str:
        """Return an address of mail, which a name may precede."""
        sender: str = self.str(var, default=default)
        before, at, after = parseaddr(sender)[1].partition("@")
        if not (before and at and after):
            raise wrong(var, "an address of mail, such as reeljudge@example.org")
        return sender

    def time_zone(self, var: str, default: str) -> str:
        """Return the name of a time zone."""
        name: str = self.str(var, default=default)
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError) as fault:
            raise wrong(var, "the name of a time zone, such as Asia/Singapore") from fault
        return name


def wrong(var: str, expected: str) -> ImproperlyConfigured:
    """Return the error of a variable's value."""
    return ImproperlyConfigured(f"{var}: {os.environ.get(var, '')!r}; expected {expected}")


def storage(store: str, endpoint: str) -> dict[str, Any]:
    """Return Django's storage for clips: the folder MEDIA_ROOT, or an S3-compatible store."""
    if not store:
        return {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    from botocore.config import Config

    address = _parts(store)
    options = {
        "bucket_name": address.netloc,
        "location": address.path.strip("/"),
        "endpoint_url": endpoint or None,
        "client_config": Config(**client(endpoint)),
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def client(endpoint: str) -> dict[str, Any]:
    """Return how requests to the store are made, as the arguments of botocore's Config."""
    return {
        "signature_version": "s3v4",
        "s3": {"addressing_style": "path" if endpoint else "auto"},
        # Together shorter than a job's lease, so that a store that does not answer leads to an error that says so.
        "connect_timeout": 5,
        "read_timeout": 20,
        "retries": {"max_attempts": 2},
        # Stores other than Amazon's do not support the newer checksums.
        "request_checksum_calculation": "when_required",
        "response_checksum_validation": "when_required",
    }


def _parts(store: str) -> SplitResult:
    address = urlsplit(store)
    if address.scheme != "s3" or not address.netloc:
        raise ImproperlyConfigured(f"MEDIA_STORE: {store!r}; expected s3://bucket or s3://bucket/prefix")
    return address


def providers(name: str, issuer: str, client_id: str, secret: str) -> dict[str, Any]:
    """Return allauth's setting of providers: the one of that issuer, or none."""
    if len({bool(each) for each in (issuer, client_id, secret)}) > 1:
        raise ImproperlyConfigured("OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: expected all three, or none")
    if not issuer:
        return {"openid_connect": {"APPS": []}}
    app = {"provider_id": "sso", "name": name, "client_id": client_id, "secret": secret}
    app_settings = {"server_url": issuer, "oauth_pkce_enabled": True}
    return {"openid_connect": {"APPS": [app | {"settings": app_settings}]}}


def origins(issuer: str) -> list[str]:
    """Return the provider's origin, to which the form of signing in may lead, for the content security policy."""
    address = urlsplit(issuer)
    return [f"{address.scheme}://{address.netloc}"] if issuer else []
