"""The copies that the benchmark of growth loads keep every rule that the audit knows."""

import json
import os
from pathlib import Path

import pytest

from tests import made_once
from tests.installation import Installation

COPIES = 12  # more than share a campaign
# In one process, because starting another takes longer than each step. Prints what the audit finds of each campaign.
GROW = """
import json, os, sys
import django
django.setup()
from django.core.management import call_command
from benchmarks.growing import grow
from campaigns.models import Campaign
from judging.audit import audit
from judging.models import Assignment, Judgement

def found(name):
    return sum(audit(Campaign.objects.get(name=name)).values(), [])

call_command("generate_campaign", "bench", queries=3, annotators=4, stdout=sys.stderr)
first, copies = Judgement.objects.count(), int(sys.argv[1])
grow(os.environ["DATABASE_URL"], copies * first)
report = {"times": Judgement.objects.count() / first, "found": found("bench") + found("bench-1")}
of_another = Assignment.objects.earliest("pk").places
Assignment.objects.filter(pk=Assignment.objects.latest("pk").pk).update(places=of_another)
report["found_then"] = found("bench-1")
call_command("generate_campaign", "another", queries=1, annotators=4, stdout=sys.stderr)  # no primary key is taken
print(json.dumps(report))
"""


@pytest.mark.skipif("TEST_POSTGRES_URL" not in os.environ, reason="PostgreSQL's own")
def test_copies_of_a_campaign_pass_the_audit(tmp_path: Path) -> None:
    server, name = (os.environ["TEST_POSTGRES_URL"], f"reeljudge_{tmp_path.parent.name}_growing".replace("-", "_"))
    place = Installation(tmp_path, made_once.migrated_postgres(server, name))
    try:
        report = json.loads(place.run("-c", GROW, str(COPIES)))
        assert report["times"] == COPIES
        assert report["found"] == []
        assert "not of its query" in report["found_then"][0]
    finally:
        place.stop()
        made_once.drop(server, name)
