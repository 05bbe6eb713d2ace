"""Encrypting secrets that the database stores, by keys that are derived from SECRET_KEY."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext

from base.errors import WrongState

PURPOSE = b"reeljudge secrets of the second factor"


def encrypt(text: str) -> str:
    return _keys().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Return the text. Raises WrongState if neither SECRET_KEY nor one of SECRET_KEY_FALLBACKS encrypted it."""
    try:
        return _keys().decrypt(encrypted.encode()).decode()
    except InvalidToken as fault:
        raise WrongState(
            gettext("Your second factor cannot be read, because this site has a new key. Ask your operator.")
        ) from fault


def renewed(encrypted: str) -> str:
    """Return the same text encrypted by the present SECRET_KEY."""
    return encrypt(decrypt(encrypted))


def _keys() -> MultiFernet:
    return MultiFernet([_key(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _key(secret: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(secret.encode())
    return Fernet(urlsafe_b64encode(derived))
