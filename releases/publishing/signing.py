"""Detached signatures of releases, as minisign writes and checks them, with the key that the setting names.

The file is Ed25519 over the BLAKE2b checksum of the zip: https://jedisct1.github.io/minisign/#signature-format. Anybody
checks it with `minisign -Vm release.zip -P KEY`, or with `verify_release --key KEY`.

The trusted comment, which is signed too, is one line that says which release the zip is. Its fields are in this order,
with a tab between them: `file:NAME`, `hashed`, `campaign:NAME`, `version:NUMBER`, `sha256:HEX` of the zip, and
`previous:HEX`, the SHA-256 of the newest release before it, which is empty if there is none.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from base.errors import ReeljudgeError

SUFFIX = ".minisig"
PLAIN, HASHED = b"Ed", b"ED"  # kinds of keys, and of signatures over a checksum
NO_PASSWORD = b"\0\0"
CHECKSUM = b"B2"
UNTRUSTED, TRUSTED = "untrusted comment: ", "trusted comment: "
LONGEST = 4096  # bytes of a key or a signature
SECRET_KEY, PUBLIC_KEY, SIGNATURE = 158, 42, 74  # bytes, once decoded
EXPECTED = "expected a secret key that minisign -G -W makes, without a password"


class SignedRelease(NamedTuple):
    """Which release a signature is for. The fields are empty if the signature does not say it."""

    campaign: str
    version: str
    sha256: str
    previous: str  # SHA-256 of the newest release before it; empty if there is none

    @property
    def comment(self) -> str:
        """The trusted comment."""
        fields = (f"{name}:{value}" for name, value in self._asdict().items())
        return "\t".join((f"file:{self.campaign}-v{self.version}.zip", "hashed", *fields))

    @staticmethod
    def of_comment(comment: str) -> SignedRelease:
        found = dict(field.partition(":")[::2] for field in comment.split("\t"))
        return SignedRelease(*(found.get(name, "") for name in SignedRelease._fields))


def key_is_set() -> bool:
    return bool(settings.RELEASE_KEY)


def signature_of(file: Path, release: SignedRelease) -> str:
    """Return the signature of a release's file by the configured key. Raise ReeljudgeError if that is no key."""
    number, key = _secret_key(Path(settings.RELEASE_KEY))
    signature, comment = key.sign(_digest(file)), release.comment
    whole = key.sign(signature + comment.encode())
    first = _encoded(HASHED + number + signature)
    return f"{UNTRUSTED}signature of a Reeljudge release\n{first}\n{TRUSTED}{comment}\n{_encoded(whole)}\n"


def public_key() -> str:
    """Return the public key that belongs to the configured one, as `minisign -P` takes it."""
    number, key = _secret_key(Path(settings.RELEASE_KEY))
    return _encoded(PLAIN + number + key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def checked_comment(file: Path, signature: Path, key: str) -> tuple[str, str]:
    """Return the trusted comment of a signature, and what is wrong: nothing if it is the key's, and the file's.

    Raise ReeljudgeError if the signature or the key cannot be read.
    """
    number, verifier = _public_key(key)
    try:
        lines = signature.read_text(encoding="utf-8")[:LONGEST].splitlines()
        first, whole = _decoded(lines[1], SIGNATURE), _decoded(lines[3], 64)
        comment = lines[2].removeprefix(TRUSTED)
    except (OSError, ValueError, IndexError) as fault:
        raise ReeljudgeError(f"{signature}: cannot be read ({fault}); expected a signature of minisign") from fault
    if first[:2] != HASHED:
        raise ReeljudgeError(f"{signature}: is not over a checksum; expected a signature of minisign 0.10 or newer")
    if first[2:10] != number:
        return comment, f"the signature is by the key {_name(first[2:10])}, not by {_name(number)}"
    try:
        verifier.verify(first[10:], _digest(file))
    except InvalidSignature:
        return comment, "the signature is not that of this file"
    try:
        verifier.verify(whole, first[10:] + comment.encode())
    except InvalidSignature:
        return comment, "the trusted comment of the signature was changed"
    return comment, ""


def _secret_key(file: Path) -> tuple[bytes, Ed25519PrivateKey]:
    try:
        raw = _decoded(file.read_text(encoding="utf-8")[:LONGEST].splitlines()[1], SECRET_KEY)
    except (OSError, ValueError, IndexError) as fault:
        raise ReeljudgeError(f"RELEASE_KEY: {file}: cannot be read ({fault}); {EXPECTED}") from fault
    kind, password, checksum = raw[:2], raw[2:4], raw[4:6]
    number, seed, public, stored = raw[54:62], raw[62:94], raw[94:126], raw[126:]
    right = hashlib.blake2b(PLAIN + number + seed + public, digest_size=32).digest()
    if (kind, password, checksum) != (PLAIN, NO_PASSWORD, CHECKSUM) or not hmac.compare_digest(right, stored):
        raise ReeljudgeError(f"RELEASE_KEY: {file}: is no such key; {EXPECTED}")
    return number, Ed25519PrivateKey.from_private_bytes(seed)


def _public_key(key: str) -> tuple[bytes, Ed25519PublicKey]:
    try:
        raw = _decoded(key, PUBLIC_KEY)
    except ValueError as fault:
        raise ReeljudgeError(f"key: {key[:60]!r} ({fault}); expected a public key of minisign") from fault
    return raw[2:10], Ed25519PublicKey.from_public_bytes(raw[10:])


def _digest(file: Path) -> bytes:
    with file.open("rb") as content:
        return hashlib.file_digest(content, hashlib.blake2b).digest()


def _decoded(text: str, size: int) -> bytes:
    try:
        found = base64.b64decode(text.strip(), validate=True)
    except binascii.Error as fault:
        raise ValueError("is not base64") from fault
    if len(found) != size:
        raise ValueError(f"has {len(found)} bytes, not {size}")
    return found


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _name(number: bytes) -> str:
    return number[::-1].hex().upper()
