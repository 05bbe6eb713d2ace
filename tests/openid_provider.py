"""A provider of OpenID Connect, allauth's own, as a small Django site in a process of its own.

python -m tests.openid_provider FOLDER PORT REDIRECT_URI serves it. Its people sign in by the password of the cast.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from tests.waiting import wait_until

ROOT = Path(__file__).parent.parent
CLIENT, SECRET, PASSWORD = "reeljudge", "told-by-the-provider", "a-long-word-7"
# Who has an account there, and whether the provider has confirmed the mail address.
PEOPLE = {"nora": True, "emil": True, "mallory": False}


@contextmanager
def provider(folder: Path, port: int, redirect: str) -> Iterator[str]:
    """The provider's address, while it runs."""
    address = f"http://localhost:{port}"
    command = [sys.executable, "-m", "tests.openid_provider", str(folder), str(port), redirect]
    with (folder / "provider.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def answers() -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{address}/.well-known/openid-configuration", timeout=5):
            return True
        return False

    try:
        wait_until(answers, lambda: f"the provider starts:\n{(folder / 'provider.log').read_text()}")
        yield address
    finally:
        process.terminate()
        process.wait(20)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


def serve(folder: str, port: str, redirect: str) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from django.conf import settings

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    apps = ["auth", "contenttypes", "sessions", "messages"]
    settings.configure(
        SECRET_KEY="a key of the provider, as long as it should be in public",
        ALLOWED_HOSTS=["localhost"],
        ROOT_URLCONF="tests.openid_provider",
        INSTALLED_APPS=[f"django.contrib.{app}" for app in apps] + ["allauth", "allauth.account", "allauth.idp.oidc"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/provider.sqlite3"}},
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "allauth.account.middleware.AccountMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
        SESSION_COOKIE_NAME="provider_session",
        CSRF_COOKIE_NAME="provider_csrf",
        ACCOUNT_EMAIL_VERIFICATION="none",
        IDP_OIDC_PRIVATE_KEY=pem.decode(),
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    import django

    django.setup()
    populate(redirect)
    from django.core.wsgi import get_wsgi_application

    with make_server("localhost", int(port), get_wsgi_application(), Server, Quiet) as server:
        server.serve_forever()


def populate(redirect: str) -> None:
    from allauth.account.models import EmailAddress
    from allauth.idp.oidc.models import Client
    from django.contrib.auth.hashers import make_password
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    for name, verified in PEOPLE.items():
        user = User.objects.create_user(name, password=PASSWORD)
        EmailAddress.objects.create(user=user, email=f"{name}@example.org", verified=verified, primary=True)
    Client.objects.create(
        id=CLIENT,
        secret=make_password(SECRET),
        name="Reeljudge",
        scopes="openid\nprofile\nemail",
        redirect_uris=redirect,
        skip_consent=True,
    )


if __name__ == "__main__":
    serve(*sys.argv[1:])
else:
    from django.conf import settings

    if settings.configured and __name__ == settings.ROOT_URLCONF:
        from django.urls import include, path

        urlpatterns = [path("", include("allauth.idp.urls")), path("accounts/", include("allauth.account.urls"))]
