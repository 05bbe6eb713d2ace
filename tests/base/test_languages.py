"""The annotator's side in another language: nothing forgotten in the catalogues, on the pages, or in what is kept."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import translation

from campaigns.access import let_create
from campaigns.models import Campaign, Membership, Message
from jobs.running import work_off
from judging.models import Assignment, Batch
from judging.quality.checks import WARNING
from judging.work import grading
from releases.freezing import freeze
from tests.cast import browser, claim, judge_all, settle
from tools import translations

CODES = [code for code, _ in settings.LANGUAGES if code != "en"]
FOREIGN = re.compile(r"[\u0900-\u097f\u4e00-\u9fff]")  # letters of the languages that there are
PLACE = re.compile(r"%\(\w+\)\d*[a-z]|\{\w+\}")
# Names, and what a keyboard has on its keys.
KEPT = {"Reeljudge", "English", "films", "ada", "bob", "oda", "Esc", "Enter", "Shift", "person", "sits", "down", "EUR"}


@pytest.fixture(params=translations.languages(), ids=lambda folder: folder.name)
def language(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture(params=CODES)
def code(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def asking(code: str) -> dict[str, Any]:
    """What a test's client is told, so that it asks for the language."""
    return {"HTTP_ACCEPT_LANGUAGE": code}


def words(code: str, text: str) -> str:
    with translation.override(code):
        return translation.gettext(text)


def test_a_language_is_a_file() -> None:
    assert sorted(translation.to_language(folder.name) for folder in translations.languages()) == CODES


def test_every_text_is_translated_and_none_is_left_over(language: Path) -> None:
    words, source = translations.translated(language), translations.in_source()
    assert {(each.id, each.context) for each in words} == {(each.id, each.context) for each in source}
    assert not words.obsolete
    for each in words:
        if not each.id:
            continue
        texts = each.string if isinstance(each.string, tuple) else (each.string,)
        wanted = PLACE.findall(str(each.id if isinstance(each.id, str) else each.id[-1]))
        assert all(texts), each.id
        assert not each.fuzzy, each.id
        for text in texts:
            assert sorted(PLACE.findall(str(text))) == sorted(wanted), each.id


def test_the_words_of_scripts_and_of_forms_are_found_in_the_source() -> None:
    found = translations.in_source()
    for text in ["{n} today", "Sign in", "partly", "Others are writing to the same place."]:
        assert any(text in str(each.id) for each in found), text


def english(answer: Any) -> set[str]:
    """The Latin words that a person reads or hears on the page, without names."""
    page = answer.content.decode()
    scripts = re.findall(r'<script id="words"[^>]*>(.*?)</script>', page, re.S)
    heard = re.findall(r'(?:aria-label|title|alt|placeholder)="([^"]*)"', page)
    kept = r'<script.*?</script>|<kbd>.*?</kbd>|<code>.*?</code>|<span lang="en">.*?</span>'
    visible = re.sub(kept, " ", page, flags=re.S)
    texts = [re.sub(r"<[^>]*>", " ", visible), *heard]
    texts += [PLACE.sub(" ", each) for script in scripts for each in json.loads(script).values()]
    return set(re.findall(r"[A-Za-z]{2,}", html.unescape(" ".join(texts)))) - KEPT


@pytest.mark.parametrize("step", range(1, 7))
def test_the_tutorial_is_translated(batch: Batch, ada: Membership, code: str, asking: Any, step: int) -> None:
    answer = browser(ada).get(reverse("tutorial", args=["films"]), {"step": step}, **asking)
    assert f'<html lang="{code}">' in answer.content.decode()
    assert english(answer) == set()


@pytest.mark.parametrize("name", ["work", "account", "account_change_password", "mfa_index", "tokens", "problem"])
def test_an_annotators_pages_are_translated(batch: Batch, ada: Membership, code: str, asking: Any, name: str) -> None:
    address = "/nowhere" if name == "problem" else reverse(name)
    answer = browser(ada).get(address, **asking)
    assert f'<html lang="{code}">' in answer.content.decode()
    left = english(answer)
    assert left - set(re.findall(r"[A-Z2-7]{2,}", " ".join(left))) == set()  # but for the secret of an app


def test_signing_in_again_and_setting_up_an_app_or_a_passkey_are_translated(
    batch: Batch, ada: Membership, asking: Any
) -> None:
    ada.user.set_password("a-long-word-7")
    ada.user.save()
    client = Client()
    client.post(reverse("sign-in"), {"username": "ada", "password": "a-long-word-7"}, **asking)
    for name in ("mfa_activate_totp", "mfa_add_webauthn", "mfa_generate_recovery_codes", "account_reauthenticate"):
        left = english(client.get(reverse(name), **asking))
        # But for an app's secret.
        assert left - set(re.findall(r"[A-Z2-7]{2,}", " ".join(left))) == set(), name
    for name in ("account_reset_password", "account_reset_password_done"):
        assert english(client.get(reverse(name), **asking)) == set(), name


def test_work_and_ones_own_page_are_translated(
    batch: Batch, ada: Membership, bob: Membership, code: str, asking: Any
) -> None:
    Message.objects.create(to=ada, text=WARNING)
    Campaign.objects.update(hourly_rate="12.50", currency="EUR")
    settle(batch, ada, bob)
    for name, arguments in (("work", []), ("mine", ["films"])):
        answer = browser(ada).get(reverse(name, args=arguments), **asking)
        assert words(code, "Mark as read") in answer.content.decode()
        assert english(answer) == set()


def test_the_workplace_is_translated(batch: Batch, ada: Membership, code: str, asking: Any) -> None:
    answer = browser(ada).get(reverse("workplace", args=[claim(ada).token]), **asking)
    assert words(code, "perfect") in answer.content.decode()
    assert english(answer) == set()


def test_keys_and_pace_are_translated(ada: Membership, code: str, asking: Any) -> None:
    for form in ({}, {"flag": "r", "later": "xx", "help": "?", "rest": "?", "goal": "0"}):
        answer = browser(ada).post(reverse("preferences"), form, **asking)
        assert words(code, "Keys and pace") in answer.content.decode()
        assert english(answer) == set()


def test_signing_in_and_joining_are_translated(campaign: Campaign, code: str, asking: Any) -> None:
    stranger = Client()
    answer = stranger.post(reverse("sign-in"), {"username": "ada", "password": "no"}, **asking)
    assert english(answer) == set()
    _, secret = campaign.invite("annotator", None, timedelta(days=7))
    answer = stranger.get(reverse("invitation", args=[secret]), follow=True, **asking)
    assert words(code, "Annotator") in answer.content.decode()
    assert english(answer) == set()
    form = {"username": "oda", "password1": "short", "password2": "shorter"}
    answer = stranger.post(reverse("join"), form, **asking)
    assert "alert" in answer.content.decode()
    assert english(answer) == set()


def test_faults_are_told_in_the_language_of_who_made_them(
    batch: Batch, ada: Membership, code: str, asking: Any
) -> None:
    held = claim(ada)
    address = reverse("submit", args=[held.token])
    answer = browser(ada).post(address, json.dumps({"fence": held.fence}), content_type="application/json", **asking)
    assert answer.status_code == 409
    document = answer.json()
    assert (document["title"], document["code"]) == (words(code, "Not in this state"), "wrongstate")
    places = words(code, "Not judged yet: {places}. Grade or flag each, then submit.")
    assert document["detail"].startswith(places.partition("{")[0] + "1, 2")


def test_a_language_is_chosen_by_the_switch_and_kept(batch: Batch, ada: Membership) -> None:
    for client, name in ((Client(), "sign-in"), (browser(ada), "work")):
        answer = client.post(reverse("language"), {"language": "zh-hans", "next": reverse(name)})
        assert (answer.status_code, answer["Location"]) == (302, reverse(name))
        cookie = client.cookies["django_language"]
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
        page = client.get(reverse(name))
        text = page.content.decode()
        assert re.findall(r'name="language" value="([-a-z]+)"', text) == [code for code, _ in settings.LANGUAGES]
        assert '<span lang="en">Simplified Chinese</span> 简体中文</button>' in text  # also where no font has Chinese
        assert "Accept-Language" in page["Vary"]
        assert "Cookie" in page["Vary"]
        client.post(reverse("language"), {"language": "en", "next": reverse(name)})
        answer = client.get(reverse(name), HTTP_ACCEPT_LANGUAGE="zh-CN")
        assert '<html lang="en">' in answer.content.decode()


def test_the_switch_leads_to_no_other_site_and_only_by_a_form(db: None) -> None:
    answer = Client().post(reverse("language"), {"language": "zh-hans", "next": "https://example.org/"})
    assert answer["Location"] == "/"
    assert Client().get(reverse("language")).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(reverse("language"), {"language": "zh-hans"}).status_code == 403


def test_a_leads_pages_are_in_english_whatever_the_browser_asks_for(
    batch: Batch, leo: Membership, code: str, asking: Any
) -> None:
    corpus = leo.campaign.corpus
    pages: dict[str, list[Any]] = {
        "campaign": ["films"],
        "corpus": [corpus.name],
        "captions": [corpus.pk],
        "site-work": [],
    }
    let_create(leo.user)  # who may reword captions
    for name, arguments in pages.items():
        page = browser(leo).get(reverse(name, args=arguments), **asking).content.decode()
        assert '<html lang="en">' in page, name
        assert not FOREIGN.search(page), name
    assert browser(leo).get(reverse("work"), **asking).content.decode().count(f'lang="{code}"') > 1


def test_a_campaigns_own_guideline_stays_as_it_is_written(batch: Batch, leo: Membership) -> None:
    with translation.override("zh-hans"):
        assert "三个问题" in leo.campaign.guideline.html
        leo.campaign.write_guideline(leo, "Three questions.\n", 0)
        assert "Three questions." in leo.campaign.guideline.html


def test_what_is_exported_and_checked_does_not_depend_on_the_language(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership, tmp_path: Path
) -> None:
    held: Assignment = claim(ada)
    grading.flag(held, 1, "query", "odd", fence=held.fence, key=uuid4())
    judge_all(held, lambda candidate: 4)
    judge_all(claim(bob), lambda candidate: 4)
    outputs = {}
    for code in ("en", *CODES):
        with translation.override(code):
            assert code == translation.get_language()
            out = io.StringIO()
            call_command("audit", "films", stdout=out)
            call_command("export_qrels", "films", out=tmp_path / code, stdout=io.StringIO())
            outputs[code] = [out.getvalue(), *_contents(tmp_path / code)]
            release = freeze(leo.campaign, leo, "CC0-1.0", with_unfinished=True)
            assert work_off(io.StringIO()) == []
        release.refresh_from_db()
        with zipfile.ZipFile(release.file.path) as archive:
            for name in archive.namelist():
                assert not FOREIGN.search(archive.read(name).decode(errors="replace")), name
    assert all(outputs[code] == outputs["en"] for code in CODES)


def _contents(folder: Path) -> list[str]:
    return [file.read_text() for file in sorted(folder.rglob("*")) if file.suffix not in (".json",)]
