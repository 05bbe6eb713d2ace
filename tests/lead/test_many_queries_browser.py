"""A lead with 5,000 queries in a browser: which are worst, what is done to many and undone, 30 reviews by keys,
a limit and a group, a week of one annotator's work judged again.

`LEAD_QUERIES` asks for fewer queries: generating 5,000 takes minutes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import key, signed_in
from tests.installation import Installation
from tests.waiting import wait_until

pytestmark = [pytest.mark.timeout(1800), pytest.mark.long]
QUERIES = int(os.environ.get("LEAD_QUERIES", "5000"))
REVIEWS = min(30, QUERIES // 60)
PASSWORD = """
from django.contrib.auth.models import User
lead = User.objects.get(username="many-lead")
lead.set_password("a-long-word-7")
lead.save()
"""
CLOSED = """
from judging.models import Review
print(Review.objects.in_force().filter(batch__campaign__name="many").count())
"""

COUNTED = """
from judging.models import Judgement
print(Judgement.objects.filter(seat__isnull=False, candidate__query__campaign__name="many").count())
"""


@pytest.fixture
def page(server: Installation, chromium: Browser) -> Iterator[Page]:
    server.manage("generate_campaign", "many", "--queries", str(QUERIES))
    server.shell(PASSWORD)
    with signed_in(server, chromium, "many-lead", "a-long-word-7") as lead:
        yield lead.page


def test_a_lead_with_many_queries(server: Installation, page: Page) -> None:
    campaign = f"{server.address}/campaigns/many"
    which_are_worst(page, campaign)
    done_to_many_and_undone(server, page, campaign)
    thirty_by_keys(server, page, campaign)
    a_limit_and_a_group(page, campaign)
    a_week_judged_again_and_undone(server, page, campaign)
    assert "BROKEN" not in server.manage("audit", "many")


def listed(page: Page) -> int:
    return int(page.locator(".chips strong").inner_text().replace(",", "").split()[-1])


def which_are_worst(page: Page, campaign: str) -> None:
    """Filters combine, a heading sorts, the columns are chosen; the address and a saved view have all of it."""
    page.goto(f"{campaign}/queries/")
    assert listed(page) == QUERIES
    page.click("text=Filters and columns")
    page.fill("[name=contested_from]", "30")
    page.fill("[name=mean_to]", "2")
    page.check("[name=discarded]")
    page.check("[name=column][value=similarity]")
    page.click(".choosing >> text=Show")
    expect(page.locator(".choosing")).to_have_count(0)
    found = listed(page)
    assert 0 < found < QUERIES
    expect(page.locator(".chip")).to_have_count(3)
    page.click("th >> text=Contested")
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Contested")
    shares = [int(each.split()[0]) for each in page.locator("td[data-label=Contested]").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) >= 30
    page.click("text=Save this view")
    page.fill("[name=name]", "Worst")
    page.click(".views >> text=Save >> nth=-1")
    expect(page.locator(".view")).to_contain_text("Worst")
    page.goto(f"{campaign}/queries/")
    page.click(".view >> text=Worst")
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Contested")
    assert listed(page) == found
    assert [int(each.split()[0]) for each in page.locator("td[data-label=Contested]").all_inner_texts()] == shares
    for name in ("j", "j", "x"):
        page.keyboard.press(name)
    expect(page.locator("tbody tr[aria-current] input")).to_be_checked()
    expect(page.locator("[data-ticked]")).to_have_text("The row ticked")
    text = page.locator("tbody tr a.plain").first.inner_text()
    page.keyboard.press("/")
    page.keyboard.type(text[:12])
    expect(page.locator("dialog .finds a").first).to_contain_text(text[:12])
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("k")
    expect(page.locator("h1")).to_have_text("Agreement")


def done_to_many_and_undone(server: Installation, page: Page, campaign: str) -> None:
    before = given(server)
    page.goto(f"{campaign}/queries/?show=review")
    waiting = listed(page)
    page.check("[name=which][value=all]")
    page.select_option("[name=verb]", "accept")
    page.click(".act >> text=Preview")
    expect(page.locator("main")).to_contain_text("Nothing has happened yet")
    expect(page.locator("main")).to_contain_text("Chosen: State: To review")
    page.click("button.primary")
    expect(page.locator("#action button", has_text="Undo")).to_be_visible(timeout=120_000)
    found = numbers(page)
    assert sum(found.values()) == waiting  # some are left: flagged pairs wait for a word first
    done = found["Followed"]
    assert given(server) == before + done
    page.click("#action button:has-text('Undo')")
    expect(page.locator("main")).to_contain_text("Undone by many-lead")
    expect(page.locator("#action[hx-get]")).to_have_count(0, timeout=120_000)
    kept = numbers(page).get("Not undone", 0)  # what was opened and is judged already
    assert numbers(page).get("Undone", 0) + kept == done
    assert given(server) == before + kept


def numbers(page: Page) -> dict[str, int]:
    """What became of the queries of an action."""
    names, values = (page.locator(f"#action {each}").all_inner_texts() for each in ("dt", "dd"))
    return {name: int(value.replace(",", "")) for name, value in zip(names, values, strict=True)}


def given(server: Installation) -> int:
    """Return how many verdicts hold."""
    return int(server.shell(CLOSED).split()[-1])


def thirty_by_keys(server: Installation, page: Page, campaign: str) -> None:
    before = given(server)
    page.goto(f"{campaign}/queries/?view=batches")
    key(page, "ArrowRight")
    expect(page).to_have_url(re.compile("/batches/"))
    for _ in range(REVIEWS):
        address = page.url
        key(page, "b" if page.locator("[data-key~=b]").count() else "c")
        expect(page).not_to_have_url(address)
    wait_until(lambda: given(server) == before + REVIEWS, lambda: "all verdicts are stored")
    for _ in range(3):
        key(page, "u")
        expect(page.locator("main")).to_contain_text("Undone: this batch is to be reviewed again")
        page.reload()
    wait_until(lambda: given(server) == before + REVIEWS - 3, lambda: "three are undone")


def a_limit_and_a_group(page: Page, campaign: str) -> None:
    """What they lead to is said before; the one is left, the other is set."""
    page.goto(f"{campaign}/steering/")
    fill(page, "How much annotators judge", "all", most_in_all="50")
    expect(page.locator(".once")).to_contain_text("would have nobody left who may judge")
    page.click("text=Leave it as it is")
    expect(page.locator(".once")).to_have_count(0)
    for number, worker in enumerate(("2", "3"), 1):
        fill(page, "Who is in a group", worker, group="east")
        page.click("text=Set it")
        expect(page.locator("tbody tr", has_text="east").first).to_contain_text(str(number))


def a_week_judged_again_and_undone(server: Installation, page: Page, campaign: str) -> None:
    """A week of one annotator's work: what it costs comes first, and the judgements count again before others begin."""
    before = int(server.shell(COUNTED).split()[-1])
    page.goto(f"{campaign}/annotators/2/?view=agreement")
    page.locator("a", has_text="Have this judged again").first.click(timeout=120_000)  # once the numbers are counted
    page.click("main button:has-text('Preview')")
    expect(page.locator("main")).to_contain_text("stay on record and no longer count")
    page.fill("[name=reason]", "Graded without sound.")
    page.click("main button.primary")
    page.goto(f"{campaign}/activity/?view=reopened")
    reopened = page.locator("#reopenings tr", has_text="Graded without sound.")
    expect(reopened).to_be_visible()
    expect(page.locator("#reopenings[hx-get]")).to_have_count(0, timeout=600_000)
    assert int(server.shell(COUNTED).split()[-1]) < before
    reopened.locator("button", has_text="Undo").click()
    expect(page.locator("#reopenings tr", has_text="Undone by many-lead")).to_be_visible(timeout=600_000)
    expect(page.locator("#reopenings[hx-get]")).to_have_count(0, timeout=600_000)
    assert int(server.shell(COUNTED).split()[-1]) == before


def fill(page: Page, title: str, who: str, **values: str) -> None:
    form = page.locator(f"form[aria-label='{title}']")
    form.locator("[name=who]").select_option(who)
    for name, value in values.items():
        form.locator(f"[name={name}]").fill(value)
    form.locator("button").click()
