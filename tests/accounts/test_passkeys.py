"""Passkeys that are not what they should be: of somebody else, of another challenge, or not unlocked."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import Any

import pytest
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

from campaigns.models import Membership
from tests.accounts.test_second_factor import PASSWORD

SITE = "testserver"
PRESENT, VERIFIED, ATTESTED = AuthenticatorData.FLAG.UP, AuthenticatorData.FLAG.UV, AuthenticatorData.FLAG.AT
pytestmark = pytest.mark.django_db


class Key:
    """A key as browsers use it, which says what the test wants."""

    def __init__(self) -> None:
        self.id, self.private = os.urandom(16), ec.generate_private_key(ec.SECP256R1())

    def made(self, user: User) -> Key:
        """Have it stored as the person's passkey."""
        public = ES256.from_cryptography_key(self.private.public_key())  # type: ignore[no-untyped-call]
        attested = AttestedCredentialData.create(Aaguid.NONE, self.id, public)
        flags = PRESENT | VERIFIED | ATTESTED
        content = AuthenticatorData.create(sha256(SITE.encode()).digest(), flags, 0, attested)
        response = {"attestationObject": websafe_encode(AttestationObject.create("none", content, {}))}
        response["clientDataJSON"] = websafe_encode(_client_data(CollectedClientData.TYPE.CREATE, "AA"))
        credential = self._named(response) | {"clientExtensionResults": {"credProps": {"rk": True}}}
        Authenticator.objects.create(user=user, type="webauthn", data={"name": "key", "credential": credential})
        return self

    def signs(self, client: Client, user: User, *, verified: bool = True) -> str:
        """The answer to the challenge of the client's session."""
        challenge = client.session["mfa.webauthn.state"]["challenge"]
        flags = PRESENT | VERIFIED if verified else PRESENT
        content = AuthenticatorData.create(sha256(SITE.encode()).digest(), flags, 1)
        data = _client_data(CollectedClientData.TYPE.GET, challenge)
        signature = self.private.sign(content + sha256(data).digest(), ec.ECDSA(SHA256()))
        response = {"authenticatorData": websafe_encode(content), "signature": websafe_encode(signature)}
        response |= {"clientDataJSON": websafe_encode(data)}
        response |= {"userHandle": websafe_encode(user_pk_to_url_str(user).encode())}
        return json.dumps(self._named(response))

    def _named(self, response: dict[str, Any]) -> dict[str, Any]:
        name = websafe_encode(self.id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response}


def _client_data(kind: str, challenge: str) -> bytes:
    return json.dumps({"type": kind, "challenge": challenge, "origin": f"https://{SITE}"}).encode()


@pytest.fixture
def leos(leo: Membership) -> User:
    leo.user.set_password(PASSWORD)
    leo.user.save()
    return leo.user


@pytest.fixture
def adas(ada: Membership) -> User:
    ada.user.set_password(PASSWORD)
    ada.user.save()
    return ada.user


def challenged() -> Client:
    """A stranger's browser, which wants to sign in with a passkey alone."""
    client = Client()
    client.get(reverse("mfa_login_webauthn"), headers={"accept": "application/json"}, secure=True)
    return client


def waiting(user: User) -> Client:
    """A browser in which the password was given, and a second factor is asked for."""
    client = Client()
    client.post("/sign-in/", {"username": user.username, "password": PASSWORD}, secure=True)
    client.get("/sign-in/code", secure=True)
    return client


def signs_in(client: Client, credential: str) -> bool:
    client.post(reverse("mfa_login_webauthn"), {"credential": credential}, secure=True)
    return "_auth_user_id" in client.session


def gets_past(client: Client, credential: str) -> bool:
    client.post("/sign-in/code", {"credential": credential}, secure=True)
    return "_auth_user_id" in client.session


def test_a_passkey_signs_in_once_for_each_challenge(leos: User) -> None:
    key, client = Key().made(leos), challenged()
    credential = key.signs(client, leos)
    assert signs_in(client, credential)
    assert not signs_in(challenged(), credential)


def test_a_passkey_opens_no_account_but_its_own(leos: User, adas: User) -> None:
    Key().made(leos)
    of_ada, client = Key().made(adas), challenged()
    assert not signs_in(client, of_ada.signs(client, leos))
    client = waiting(leos)
    assert not gets_past(client, of_ada.signs(client, leos))
    assert not gets_past(client, of_ada.signs(client, adas))


def test_a_key_that_is_not_unlocked_is_a_second_factor_and_no_first(leos: User, adas: User) -> None:
    """Whoever finds a key has no PIN of it. The challenge of a second factor of one's own does not ask for one."""
    found = Key().made(leos)
    Key().made(adas)
    client = challenged()
    assert not signs_in(client, found.signs(client, leos, verified=False))
    client = waiting(adas)
    expire(client)
    assert not signs_in(client, found.signs(client, leos, verified=False))
    client = waiting(leos)
    assert gets_past(client, found.signs(client, leos, verified=False))


def expire(client: Client) -> None:
    """The password was given too long ago; the challenge stays in the session."""
    session = client.session
    session["account_login"] = session["account_login"] | {"initiated_at": 0}
    session.save()


def test_wrong_passkeys_lock_a_person_out_as_wrong_codes_do(leos: User) -> None:
    key, client = Key().made(leos), waiting(leos)
    for _ in range(10):
        assert not gets_past(client, Key().signs(client, leos))
    assert not gets_past(client, key.signs(client, leos))
