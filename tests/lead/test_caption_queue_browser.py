"""A lead decides what waits by keys alone."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, expect

from tests.browsing import signed_in
from tests.installation import Installation

PASSWORD = "a-long-word-7"
TEXTS = ["Olga opens the door.", "Karel waves at Zora.", "Then Zora sits down.", "He sees Zora and Kim."]


def test_captions_are_accepted_by_keys(server: Installation, chromium: Browser) -> None:
    moments, cast = server.home / "named.jsonl", server.home / "named.csv"
    rows = [
        {"vid_name": "v", "duration": 60, "ts": [number, number + 1], "desc": text, "type": "v", "desc_id": number}
        for number, text in enumerate(TEXTS)
    ]
    moments.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    cast.write_text("name,phrase\nOlga,woman\nKarel,man\n")
    server.manage("import_corpus", "named", str(moments), "--format", "tvr", "--type", "v")
    assert "3 wait for a lead" in server.manage("reword", "named", "--cast", str(cast))
    server.shell(
        "from django.contrib.auth.models import User\n"
        "from campaigns.models import Campaign\n"
        "from corpus.models import Corpus\n"
        "campaign = Campaign.objects.create(name='named', corpus=Corpus.objects.get(name='named'))\n"
        f"user = User.objects.create_user('queue-lead', password={PASSWORD!r})\n"
        "campaign.add_member(user, 'lead')"
    )
    with signed_in(server, chromium, "queue-lead", PASSWORD) as lead:
        page = lead.page
        page.goto(f"{server.address}/campaigns/")
        page.locator("table").last.get_by_role("link", name="named").click()
        page.get_by_role("link", name="Captions").click()
        page.click("text=To decide >> nth=0")
        waiting = page.locator(".waiting > li")
        expect(waiting).to_have_count(3)
        expect(waiting.nth(0)).to_be_focused()
        for key, place in (("j", 1), ("j", 2), ("j", 2), ("k", 1)):
            page.keyboard.press(key)
            expect(waiting.nth(place)).to_be_focused()
        page.keyboard.press("e")
        page.keyboard.press("Control+A")
        page.keyboard.type("A man waves at a girl with keys.")
        page.keyboard.press("Enter")
        expect(page.locator(".message")).to_contain_text("Accepted. 2 still wait.")
        expect(waiting.nth(1)).to_be_focused()
        expect(waiting.nth(1)).to_contain_text("Then Zora sits down.")
        page.keyboard.press("e")
        expect(waiting.nth(1).locator("textarea")).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        expect(page.locator(".message")).to_contain_text("Accepted. 1 still wait.")
        expect(waiting.nth(0)).to_be_focused()
    output = server.shell(
        "from retrieval.models import Rewording\n"
        "rows = Rewording.objects.filter(state='accepted').order_by('pk')\n"
        "print([(row.after, row.by.username) for row in rows])"
    )
    assert "('A man waves at a girl with keys.', 'queue-lead')" in output
    assert "('Then Zora sits down.', 'queue-lead')" in output
