"""How PostgreSQL finds the rows that a claim, a save, a submission and the lead's pages ask for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

LARGE = 100_000  # rows; tables with more must not be read from end to end


def whole_tables_read(name: str) -> dict[str, Any]:
    """Do each thing once, and return the number of statements and those that read a large table as a whole."""
    from django.conf import settings
    from django.db import connection

    settings.ALLOWED_HOSTS = ["testserver"]
    settings.SECURE_SSL_REDIRECT = False
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples > %s", [LARGE])
        large = {row[0] for row in cursor.fetchall()}
        cursor.execute("LOAD 'auto_explain'")
        cursor.execute("SET auto_explain.log_min_duration = 0")
        cursor.execute("SET auto_explain.log_format = json")
        cursor.execute("SET client_min_messages = log")
    found: list[tuple[str, str]] = []
    doing = [""]
    connection.connection.add_notice_handler(lambda notice: found.append((doing[0], notice.message_primary)))
    for what in _everything(name):
        doing[0] = what
    explained = [(what, json.loads(text.partition("plan:")[2])) for what, text in found if "plan:" in text]
    read = {
        (what, table, plan["Query Text"][:300])
        for what, plan in explained
        for table in _scanned(plan["Plan"])
        if table in large
    }
    return {"statements": len(explained), "large": sorted(large), "read": sorted(read)}


def _scanned(node: dict[str, Any]) -> Iterator[str]:
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for below in node.get("Plans", []):
        yield from _scanned(below)


def _everything(name: str) -> Iterator[str]:
    """Yield the name of each thing before it is done."""
    from django.test import Client

    from benchmarks.inside import addresses
    from campaigns.models import Campaign, Membership

    campaign = Campaign.objects.get(name=name)
    annotator = campaign.memberships.annotators().order_by("-pk").first()
    assert annotator is not None
    client = Client(headers={"accept": "application/json"})
    client.force_login(annotator.user)
    yield from _judging(client, name)
    client = Client()
    client.force_login(Membership.objects.leads().filter(campaign=campaign).earliest("pk").user)
    for what, address in addresses(name).items():
        yield what
        client.get(address)


def _judging(client: Any, name: str) -> Iterator[str]:
    yield "home page"
    client.get("/judge/")
    yield "claim"
    handed = client.post(f"/judge/{name}/claim").json()["assignment"]
    base, fence = f"/judge/assignments/{handed['token']}", {"fence": handed["fence"]}
    yield "workplace"
    client.get(f"{base}/")
    for place in range(1, len(handed["places"]) + 1):
        yield "save"
        body = fence | {"grade": 2, "key": str(uuid4()), "press": place, "seconds": 5}
        client.put(f"{base}/judgements/{place}", body, content_type="application/json")
    yield "submission"
    client.post(f"{base}/submit", fence, content_type="application/json")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    print(json.dumps(whole_tables_read(sys.argv[1])))


if __name__ == "__main__":
    main()
