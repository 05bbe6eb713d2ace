"""Servers are exchanged while people judge: the page notices, goes on, and loses no key press."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, Route, expect

from tests.browsing import SAVING, make_campaign, press, signed_in, wait_until_open
from tests.installation import Installation


def test_a_page_goes_on_with_servers_of_another_version(server: Installation, chromium: Browser) -> None:
    """One that stores what the page says, then one that cannot read it, and the new page that sends it again."""
    make_campaign(server, "versions")
    wait_until_open(server, "versions", 1)
    password = server.accounts("versions", "annotator", "quinn")["quinn"]
    with signed_in(server, chromium, "quinn", password) as quinn:
        page = quinn.claim()
        press(page, "1")
        expect(page.locator("#saved")).to_have_text("saved ✓")
        expect(page.locator("#renewed")).to_be_hidden()

        def newer(route: Route) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, headers={**answer.headers, "reeljudge-version": "another"})

        page.route(SAVING, newer)
        press(page, "2")
        expect(page.locator("#renewed")).to_be_visible()
        expect(page.locator("#saved")).to_have_text("saved ✓")
        page.unroute(SAVING)

        def cannot_read(route: Route) -> None:
            problem = {"status": 400, "code": "badvalue", "detail": "grade: in words; expected a number"}
            headers = {"reeljudge-version": "another"}
            route.fulfill(status=400, headers=headers, content_type="application/json", body=json.dumps(problem))

        page.route(SAVING, cannot_read)
        press(page, "3")
        expect(page.locator("#saved")).to_have_text("kept here (1): load this page again to send it")
        expect(page.locator("#position")).to_contain_text("4 /")
        page.unroute(SAVING)
        page.reload()
        expect(page.locator("#saved")).to_have_text("saved ✓")
        expect(page.locator("#position")).to_contain_text("4 /")
        # The console tells of the answer that was refused, which is what this test is about.
        quinn.faults[:] = [fault for fault in quinn.faults if "400" not in fault]
    assert stored(server) == [1, 2, 3]


def stored(server: Installation) -> list[int]:
    code = (
        "from judging.models import Judgement\n"
        "rows = Judgement.objects.filter(annotator__user__username='quinn').order_by('pk')\n"
        "print(list(rows.values_list('grade', flat=True)))"
    )
    found: list[int] = json.loads(server.shell(code).splitlines()[-1])
    return found
