"""Mails with links: invitations in bulk, a forgotten password, an address to confirm; a real server takes them."""

from __future__ import annotations

import re
import smtplib
import socket
from collections.abc import Iterator
from datetime import datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from io import StringIO
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign, Invitation, Membership
from jobs.models import Job
from jobs.running import work_off
from judging.work.grading import ask
from reports import digest
from tests.cast import browser, text_between_tags
from tests.terminal import printed, refused

PASSWORD = "a-long-word-7"
LIST = "nora@example.org, Nora Nilsson\n\nEmil@Example.org\n"
FORM = {"people": LIST, "way": "mail", "role": "annotator", "hours": "168", "language": "en"}


class MailServer(ThreadingTCPServer):
    """As much of SMTP as a client needs to give mails away. It refuses nobody@example.org."""

    daemon_threads = allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.mails: list[EmailMessage] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Conversation(StreamRequestHandler):
    def handle(self) -> None:
        self._say("220 here")
        while line := self.rfile.readline().strip():
            verb = line[:4].upper()
            if verb == b"DATA":
                self._take()
            elif verb == b"RCPT" and b"nobody@" in line:
                self._say("550 no such mailbox")
            else:
                self._say("221 bye" if verb == b"QUIT" else "250 yes")

    def _take(self) -> None:
        self._say("354 go on")
        lines = b""
        while (line := self.rfile.readline()) != b".\r\n":
            lines += line.removeprefix(b".")
        assert isinstance(self.server, MailServer)
        mail = message_from_bytes(lines, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.server.mails.append(mail)
        self._say("250 taken")

    def _say(self, words: str) -> None:
        self.wfile.write(f"{words}\r\n".encode())


@pytest.fixture
def post(settings: Any) -> Iterator[MailServer]:
    with MailServer() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.MAILS, settings.EMAIL_HOST, settings.EMAIL_PORT = True, "127.0.0.1", server.port
        yield server
        server.shutdown()


def words(mail: EmailMessage) -> str:
    body = mail.get_body()
    assert body
    return str(body.get_content())


def link_in(mail: EmailMessage) -> str:
    [link] = re.findall(r"http://testserver(/\S+)", words(mail))
    return str(link)


def delivered(post: MailServer) -> list[EmailMessage]:
    work_off(StringIO())
    return post.mails


def invite(leo: Membership, **other: str) -> Any:
    return browser(leo).post(reverse("invite-people", args=["films"]), FORM | other, follow=True)


def people_page(leo: Membership) -> str:
    return browser(leo).get(reverse("annotators", args=["films"]), {"drawer": "invitations"}).content.decode()


class TestInvitations:
    def test_each_person_gets_a_mail_with_a_link_of_their_own(self, leo: Membership, post: MailServer) -> None:
        assert "Invited: 2" in invite(leo).content.decode()
        assert "Being sent" in people_page(leo)
        nora, emil = sorted(delivered(post), key=lambda mail: mail["To"], reverse=True)
        assert (nora["To"], emil["To"]) == ("nora@example.org", "emil@example.org")
        assert "Hello Nora Nilsson" in words(nora)
        assert link_in(nora) != link_in(emil)
        page = people_page(leo)
        assert "Being sent" not in page
        assert "Nora Nilsson" in page
        client = Client()
        joining = client.get(link_in(nora), follow=True).content.decode()
        assert 'value="nora.nilsson"' in joining
        form = {"username": "nora", "password1": PASSWORD, "password2": PASSWORD}
        assert "Welcome" in client.post(reverse("join"), form, follow=True).content.decode()
        assert EmailAddress.objects.get(user__username="nora", verified=True).email == "nora@example.org"
        worker = leo.campaign.memberships.get(user__username="nora").worker
        page = browser(leo).get(reverse("annotator", args=["films", worker])).content.decode()
        assert "Invited as Nora Nilsson, nora@example.org" in page
        assert not Invitation.objects.filter(opened=None, used__isnull=False).exists()

    def test_no_table_holds_a_link(self, leo: Membership, post: MailServer) -> None:
        invite(leo)
        for mail in delivered(post):
            secret = link_in(mail).rsplit("/", 1)[1]
            assert secret not in repr([*Invitation.objects.values(), *Job.objects.values()])

    @pytest.mark.parametrize(
        ("people", "fault"),
        [
            ("nora@example.org\nnobody\n", "Line 2: &quot;nobody&quot;; expected a mail address"),
            ("a@example.org\n\nA@example.org", "Line 3: &quot;a@example.org&quot; is in line 1 already"),
            ("ada@example.org", "is ada, a member already"),
            ("waits@example.org", "has an open invitation"),
            ("", "Nobody is named"),
            ("\n".join(f"p{number}@example.org" for number in range(301)), "301 people; expected 1 to 300"),
            ("nul@example.org, a\0b", "Null characters"),
            ("long@example.org, " + "x" * 200, "a name of at most 150"),
        ],
    )
    def test_one_wrong_line_invites_nobody(
        self, people: str, fault: str, leo: Membership, ada: Membership, post: MailServer
    ) -> None:
        EmailAddress.objects.create(user=ada.user, email="ada@example.org", verified=True)
        leo.campaign.invite_person(
            "annotator", leo, timedelta(days=1), address="waits@example.org", name="", language="en"
        )
        answer = invite(leo, people=people)
        assert (answer.status_code, fault in answer.content.decode()) == (400, True)
        assert Invitation.objects.count() == 1
        assert delivered(post) == []

    def test_the_mail_is_in_the_language_that_the_lead_chose(self, leo: Membership, post: MailServer) -> None:
        invite(leo, language="zh-hans")
        for mail in delivered(post):
            assert "您" in words(mail)
            assert not re.search(r"[A-Z][a-z]+ [a-z]+ [a-z]+", words(mail))

    def test_a_refused_address_is_named_and_the_others_are_served(self, leo: Membership, post: MailServer) -> None:
        invite(leo, people="nobody@example.org\nnora@example.org")
        assert [mail["To"] for mail in delivered(post)] == ["nora@example.org"]
        assert "nobody@example.org: the mail server refuses it (550 no such mailbox)" in people_page(leo)

    def test_a_server_that_is_away_is_tried_again_and_the_link_stays_the_same(
        self, leo: Membership, post: MailServer, settings: Any
    ) -> None:
        invite(leo, people="nora@example.org")
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            settings.EMAIL_PORT = nobody.getsockname()[1]
            work_off(StringIO())
        job = Job.objects.get()
        assert "ConnectionRefusedError" in job.error
        assert job.state == Job.State.WAITING
        settings.EMAIL_PORT = post.port
        Job.objects.update(due="2020-01-01T00:00Z")
        [first] = delivered(post)
        pk = Invitation.objects.get().pk
        client = browser(leo)
        assert client.post(reverse("invitation-send", args=["films", pk])).status_code == 302
        _, second = delivered(post)
        assert link_in(first) == link_in(second)

    def test_a_withdrawn_invitation_is_not_sent(self, leo: Membership, post: MailServer) -> None:
        invite(leo)
        for invitation in Invitation.objects.all():
            invitation.withdraw()
        assert delivered(post) == []
        send = reverse("invitation-send", args=["films", Invitation.objects.all()[0].pk])
        assert browser(leo).post(send).status_code == 404

    def test_a_new_key_of_the_site_makes_no_mails_with_dead_links(
        self, leo: Membership, post: MailServer, settings: Any
    ) -> None:
        former = settings.SECRET_KEY
        invite(leo, people="nora@example.org")
        settings.SECRET_KEY = "another key of this site, as long as it should be"
        assert delivered(post) == []
        assert "Make a new one" in Job.objects.get().error
        settings.SECRET_KEY_FALLBACKS = [former]
        Job.objects.update(state=Job.State.WAITING, due="2020-01-01T00:00Z")
        [mail] = delivered(post)
        assert "invited to join" in Client().get(link_in(mail), follow=True).content.decode()

    def test_without_a_server_the_page_says_so(self, leo: Membership) -> None:
        assert "EMAIL_URL" in people_page(leo)
        assert invite(leo).status_code == 409


@pytest.fixture
def nora(campaign: Campaign) -> User:
    user = User.objects.create_user("nora", password=PASSWORD)
    EmailAddress.objects.create(user=user, email="nora@example.org", verified=True, primary=True)
    return user


def forget(address: str = "nora@example.org") -> str:
    answer = Client().post(reverse("account_reset_password"), {"email": address}, follow=True)
    return text_between_tags(answer.content.decode())


def choose(link: str, password: str, client: Client | None = None) -> str:
    client = client or Client()
    page = client.get(link, follow=True)
    if "form method" not in page.content.decode().split("<main>")[1]:
        return str(page.content.decode())
    form = {"password1": password, "password2": password}
    return str(client.post(page.request["PATH_INFO"], form, follow=True).content.decode())


class TestDigest:
    """A mail to leads who want it, once a day."""

    def wanted(self, leo: Membership) -> None:
        EmailAddress.objects.create(user=leo.user, email="leo@example.org", verified=True, primary=True)
        page = browser(leo).post(reverse("digest-mail", args=["films"]), {"wanted": "yes"}, follow=True)
        assert "leo@example.org" in page.content.decode()

    def hours_pass(self, monkeypatch: pytest.MonkeyPatch, hour: int, day: int = 3) -> None:
        now = datetime(2030, 5, day, hour, 30, tzinfo=ZoneInfo("Asia/Singapore"))
        monkeypatch.setattr("django.utils.timezone.now", lambda: now)
        digest.ask_for_digests()
        Job.objects.update(due="2020-01-01T00:00Z")

    def test_it_comes_once_each_morning_of_the_sites_time_zone(
        self, leo: Membership, ada: Membership, post: MailServer, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.TIME_ZONE = "Asia/Singapore"
        self.wanted(leo)
        ask(ada, "Is it?", UUID(int=1))
        for hour in (5, 6, 7, 23):
            self.hours_pass(monkeypatch, hour)
            mails = delivered(post)
            assert len(mails) == (hour > 5)
        text = words(mails[0]).replace("\r\n", "\n")
        assert "Since 2 May, 0:00" in text
        assert "1 question to answer\n  http://testserver/campaigns/films/inbox/" in text
        self.hours_pass(monkeypatch, 6, day=4)
        assert len(delivered(post)) == 2
        browser(leo).post(reverse("digest-mail", args=["films"]), {"wanted": "no"})
        self.hours_pass(monkeypatch, 6, day=5)
        assert len(delivered(post)) == 2
        monkeypatch.undo()

    def test_a_server_that_is_away_is_tried_again(
        self, leo: Membership, ada: Membership, post: MailServer, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.wanted(leo)
        ask(ada, "Is it?", UUID(int=1))
        settings.EMAIL_PORT = 1
        self.hours_pass(monkeypatch, 15)
        work_off(StringIO())
        assert "ConnectionRefusedError" in Job.objects.get().error
        settings.EMAIL_PORT = post.port
        Job.objects.update(due="2020-01-01T00:00Z")
        assert len(delivered(post)) == 1

    def test_nobody_gets_it_without_a_confirmed_address_or_where_no_mails_are_sent(
        self, leo: Membership, post: MailServer, settings: Any
    ) -> None:
        address = reverse("digest-mail", args=["films"])
        page = browser(leo).post(address, {"wanted": "yes"}, follow=True).content.decode()
        assert "Confirm a mail address first" in page
        settings.MAILS = False
        page = browser(leo).post(address, {"wanted": "yes"}, follow=True).content.decode()
        assert "sends no mails" in page
        leo.refresh_from_db()
        assert leo.digest_site == ""


class TestForgottenPassword:
    def test_a_link_works_once(self, nora: User, post: MailServer) -> None:
        elsewhere = browser(nora)
        page = forget("Nora@Example.org")
        [mail] = delivered(post)
        assert mail["To"] == "nora@example.org"
        assert "password is changed" in choose(link_in(mail), "another-word-8")
        nora.refresh_from_db()
        assert nora.check_password("another-word-8")
        assert elsewhere.get("/judge/").status_code == 302  # the old sessions have ended
        assert "was used already" in choose(link_in(mail), "a-third-word-9")
        assert page == forget("stranger@example.org")

    @pytest.mark.parametrize(("minutes", "words"), [(59, "is changed"), (61, "older than an hour")])
    def test_a_link_ends_after_an_hour(
        self, minutes: int, words: str, nora: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link = printed("reset_password", "nora").strip().removeprefix("http://127.0.0.1:8000")
        later = datetime.now() + timedelta(minutes=minutes)
        monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda self: later)
        assert words in choose(link, "another-word-8")

    def test_nobody_learns_who_has_an_account(self, nora: User, post: MailServer) -> None:
        EmailAddress.objects.create(user=nora, email="claimed@example.org")  # and never confirmed
        User.objects.filter(pk=nora.pk).update(email="field@example.org")
        pages = {forget(f"{name}@example.org") for name in ("nora", "claimed", "field", "stranger")}
        assert len(pages) == 1
        assert [mail["To"] for mail in delivered(post)] == ["nora@example.org"]

    def test_a_closed_account_gets_none(self, nora: User, post: MailServer) -> None:
        forget()
        User.objects.update(is_active=False)
        assert delivered(post) == []

    def test_the_job_holds_no_link(self, nora: User, post: MailServer) -> None:
        forget()
        assert set(Job.objects.get().arguments) == {"site", "language"}

    def test_many_requests_send_one_mail_and_then_none(self, nora: User, post: MailServer) -> None:
        statuses = [
            Client().post(reverse("account_reset_password"), {"email": "nora@example.org"}).status_code
            for _ in range(8)
        ]
        assert statuses == [302] * 5 + [429] * 3
        assert len(delivered(post)) == 1

    def test_the_terminal_prints_a_link_without_a_mail_server(self, nora: User) -> None:
        assert "This site sends no e-mail" in Client().get(reverse("account_reset_password")).content.decode()
        link = printed("reset_password", "nora", "--address", "https://judge.example.org/").strip()
        assert link.startswith("https://judge.example.org/sign-in/new-password/")
        assert "is changed" in choose(link.removeprefix("https://judge.example.org"), "another-word-8")
        assert "nobody" in refused("reset_password", "nobody")

    def test_the_second_factor_is_still_asked_for(self, nora: User) -> None:
        from tests.accounts.test_second_factor import code_of, turned_on

        key = turned_on(nora)
        choose(printed("reset_password", "nora").strip().removeprefix("http://127.0.0.1:8000"), "another-word-8")
        client = Client()
        client.post("/sign-in/", {"username": "nora", "password": "another-word-8"})
        assert client.get("/judge/").status_code == 302
        client.post("/sign-in/code", {"code": code_of(key)})
        assert client.get("/judge/").status_code == 200


class TestOwnAddress:
    def sign_in(self, name: str = "nora") -> Client:
        client = Client()
        client.post("/sign-in/", {"username": name, "password": PASSWORD})
        return client

    def test_a_new_address_replaces_the_old_one_once_it_is_confirmed(self, nora: User, post: MailServer) -> None:
        client = self.sign_in()
        form = {"email": "new@example.org", "action_add": "1"}
        page = client.post(reverse("account_email"), form, follow=True).content.decode()
        assert "new@example.org is not confirmed yet" in page
        [mail] = delivered(post)
        assert "nora@example.org" in client.get("/account/").content.decode()
        link = link_in(mail)
        assert "belongs to the account nora" in client.get(link).content.decode()
        client.post(link)
        assert [*EmailAddress.objects.values_list("email", "verified")] == [("new@example.org", True)]
        assert "was used already" in client.get(link).content.decode()

    def test_one_signs_in_by_it(self, nora: User) -> None:
        client = self.sign_in("nora@example.org")
        assert client.get("/judge/").status_code == 200

    def test_the_address_of_somebody_else_is_not_taken_over(
        self, nora: User, ada: Membership, post: MailServer
    ) -> None:
        ada.user.set_password(PASSWORD)
        ada.user.save()
        client = self.sign_in("ada")
        form = {"email": "nora@example.org", "action_add": "1"}
        client.post(reverse("account_email"), form)
        [mail] = delivered(post)  # to Nora, who can see that somebody tried
        answer = client.post(link_in(mail), follow=True)
        assert EmailAddress.objects.get(verified=True).user == nora
        assert "Somebody else has confirmed" in answer.content.decode()

    def test_it_needs_the_password_again_after_a_while(self, nora: User, post: MailServer) -> None:
        form = {"email": "new@example.org", "action_add": "1"}
        answer = browser(nora).post(reverse("account_email"), form)
        assert answer["Location"].startswith(reverse("account_reauthenticate"))
        assert delivered(post) == []


def test_the_mail_server_of_the_tests_is_spoken_to_by_smtp(post: MailServer) -> None:
    """A control: it takes no mail that it should refuse."""
    with smtplib.SMTP("127.0.0.1", post.port) as client, pytest.raises(smtplib.SMTPRecipientsRefused):
        client.sendmail("a@example.org", ["nobody@example.org"], b"hello")
    assert post.mails == []
