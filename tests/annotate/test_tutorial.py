"""The tutorial: its steps, trying it with the lead's examples, and what it never tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse

from annotate.learning import STEPS, to_try
from campaigns.models import Campaign, Membership
from corpus.models import Clip, Moment
from judging.models import Batch, Example
from judging.quality.examples import add_own_example, levels
from tests.cast import browser, claim, content_of
from tests.installation import ROOT

VIDEO = re.compile(r"<video[^>]*>")


@pytest.fixture
def taught(campaign: Campaign, leo: Membership) -> list[Example]:
    """Two examples of each grade, their clips ready."""
    made = []
    moments = Moment.objects.filter(video__name="secret-video-5").order_by("start")
    for number, moment in enumerate(moments):
        grade = number // 2
        example = add_own_example(leo, f"Sentence {number}.", moment, grade, f"Because of {number}.")
        assert example.clip
        example.clip.state = Clip.State.READY
        example.clip.file.save(f"clips/{example.clip.token}.mp4", content=ContentFile(b"0123456789"))
        made.append(example)
    return made


def page(member: Membership, query: str = "") -> str:
    answer = browser(member).get(reverse("tutorial", args=["films"]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_every_step_has_an_address(taught: list[Example], ada: Membership) -> None:
    pages = [page(ada, f"?step={number}") for number in range(1, len(STEPS) + 1)]
    assert len(set(pages)) == len(STEPS)
    for number, (html, words) in enumerate(zip(pages, STEPS.values(), strict=True), 1):
        assert re.search(rf'aria-current="step">{number} <span>{words}', html)
        assert (f'href="?step={number + 1}" data-key="ArrowRight"' in html) == (number not in (4, 6))
    assert 'aria-current="step">1 ' in page(ada)


def test_no_clip_has_the_browsers_own_controls() -> None:
    folders = [ROOT / "templates" / name for name in ("annotate", "parts")]
    videos = [each for folder in folders for file in folder.rglob("*.html") for each in VIDEO.findall(file.read_text())]
    assert len(videos) >= 3
    assert [each for each in videos if "controls" in each] == []


@pytest.mark.parametrize(
    ("query", "step"), [("0", 1), ("7", 6), ("x", 1), ("-1", 1), ("²", 1), ("9" * 40, 1), ("%00", 1)]
)
def test_a_step_that_is_not_there_shows_another(taught: list[Example], ada: Membership, query: str, step: int) -> None:
    assert f'aria-current="step">{step} ' in page(ada, f"?step={query}")


def test_each_level_has_the_leads_first_example(taught: list[Example], ada: Membership) -> None:
    html = page(ada, "?step=3")
    for number in range(10):
        assert (f"Sentence {number}." in html) == (number % 2 == 0)
        assert (f"Because of {number}." in html) == (number % 2 == 0)


def test_one_tries_the_others_and_sees_at_once(taught: list[Example], ada: Membership) -> None:
    fresh = to_try(levels(taught[0].campaign))
    assert sorted(each.query for each in fresh) == [f"Sentence {number}." for number in (1, 3, 5, 7, 9)]
    assert [each.grade for each in fresh] not in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0])
    for number, example in enumerate(fresh, 1):
        html = page(ada, f"?step=4&example={number}")
        assert example.query in html
        assert example.why not in re.sub(r"<aside.*?</aside>", "", html, flags=re.S)
        answered = page(ada, f"?step=4&example={number}&answer={example.grade}")
        assert f"Your lead also gives grade {example.grade}." in answered
        assert example.why in answered
        assert 'aria-pressed="true"' in answered
    assert 'href="?step=5" data-key="ArrowRight"' in page(ada, "?step=4&example=5")


@pytest.mark.parametrize(("apart", "words"), [(0, "also gives"), (1, "close enough"), (2, "your lead gives 4.\n")])
def test_it_says_how_far_apart(taught: list[Example], ada: Membership, apart: int, words: str) -> None:
    best = [each.grade for each in to_try(levels(taught[0].campaign))].index(4) + 1
    html = page(ada, f"?step=4&example={best}&answer={4 - apart}")
    assert words in html


def test_a_flag_is_only_shown(taught: list[Example], ada: Membership) -> None:
    assert "Nothing is flagged here" in page(ada, "?step=4&answer=flag")
    assert "Nothing is stored here" in page(ada, "?step=4&answer=5")


def test_few_examples_are_all_tried(taught: list[Example], ada: Membership) -> None:
    Example.objects.exclude(pk__in=[taught[0].pk, taught[9].pk]).delete()
    assert {each.pk for each in to_try(levels(taught[0].campaign))} == {taught[0].pk, taught[9].pk}


def test_many_examples_are_six_to_try(taught: list[Example]) -> None:
    for example in taught:
        Example.objects.filter(pk=example.pk).update(grade=4)
    assert len(to_try(levels(taught[0].campaign))) == 6


def test_without_examples_the_words_are_enough(campaign: Campaign, ada: Membership) -> None:
    assert "not chosen examples yet" in page(ada)
    assert page(ada, "?step=3").count("not chosen an example of this grade yet") == 5
    assert "has not chosen any examples" in page(ada, "?step=4")


def test_the_end_leads_to_the_first_batch_or_to_the_exam(campaign: Campaign, ada: Membership, leo: Membership) -> None:
    for exam, address in ((False, reverse("claim", args=["films"])), (True, reverse("work"))):
        Campaign.objects.update(exam=exam)
        end = page(ada, "?step=6")
        assert f'action="{address}"' in end
        assert " autofocus>Start<" in end  # by the keyboard alone
    assert "<form method" not in page(leo, "?step=6").split("<main>")[1]


def test_who_is_new_is_offered_it_first_and_everybody_may_take_it(batch: Batch, ada: Membership) -> None:
    def home() -> str:
        return browser(ada).get(reverse("work")).content.decode()

    first = re.search(r'<button class="primary large"[^>]*>([^<]*)', home())
    assert first
    assert first[1] == "Take the tutorial (5 minutes)"
    assert "Give me a batch" in home()
    claim(ada)
    assert "5 minutes" not in home()
    assert reverse("tutorial", args=["films"]) in home()


def test_a_new_annotator_reads_how_long_a_batch_stays_hers(batch: Batch, ada: Membership, settings: Any) -> None:
    settings.ASSIGNMENT_LEASE = 45 * 60
    assert "It stays yours for 45 minutes" in browser(ada).get(reverse("work")).content.decode()


def test_who_is_paused_goes_on_learning_and_who_left_does_not(
    taught: list[Example], batch: Batch, ada: Membership, leo: Membership
) -> None:
    claim(ada)
    assert taught[0].clip
    tutorial, clip = reverse("tutorial", args=["films"]), reverse("clip", args=[taught[0].clip.token])
    ada.pause(leo, "Away in May.")
    assert tutorial in browser(ada).get(reverse("work")).content.decode()
    assert reverse("work") in page(ada)
    assert "Your work here is paused" in page(ada, "?step=6")
    assert content_of(browser(ada).get(clip)) == b"0123456789"
    Membership.objects.filter(pk=ada.pk).update(state=Membership.State.LEFT)
    assert tutorial not in browser(ada).get(reverse("work")).content.decode()
    for address in (tutorial, clip):
        assert browser(ada).get(address).status_code == 404


def test_it_names_no_film(taught: list[Example], ada: Membership, member: Callable[..., Membership]) -> None:
    hidden = ("secret", "similarity", "caption", "11.25", "14.5", "leo")
    queries = [f"?step={step}" for step in range(1, 7)] + [f"?step=4&example={n}&answer=2" for n in range(1, 6)]
    for query in queries:
        html = re.sub(r'value="\w{64}"', "", page(ada, query))  # without tokens, which are random
        assert not [each for each in hidden if each in html]
