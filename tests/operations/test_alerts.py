"""deploy/prometheus and deploy/grafana: figures that exist, alerts that fire, and sections of the runbook."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.cache import cache
from django.test import Client

from config.operations import backups
from jobs.models import Job, WorkerHeartbeat
from jobs.queue import Lane
from tests.installation import ROOT

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")


def alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return list(group["rules"])


def expressions() -> list[str]:
    panels = json.loads((DEPLOY / "grafana" / "reeljudge.json").read_text())["panels"]
    drawn = [target["expr"] for panel in panels for target in panel["targets"]]
    return [each["expr"] for each in alerts()] + [each.replace("$__rate_interval", "5m") for each in drawn]


@pytest.mark.django_db
def test_every_figure_that_is_watched_exists(settings: Any) -> None:
    settings.MONITORING_TOKEN = "let-me-see"
    WorkerHeartbeat.record("here:1", Lane.values)
    Job.objects.ask("rank")
    cache.set(backups.NEWEST, "2026-11-25T12:00:00+00:00", None)
    Client().get("/sign-in/")
    page = Client().get("/metrics", headers={"authorization": "Bearer let-me-see"}).content.decode()
    watched = {name for each in expressions() for name in re.findall(r"reeljudge_\w+", each)}
    assert {name for name in watched if not re.search(rf"^{name}\b", page, re.M)} == set()
    assert len(watched) >= 8


def test_each_alert_leads_to_a_section_of_the_runbook() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "docs" / "runbook.md").read_text(), re.M)
    anchors = {f"docs/runbook.md#{re.sub(r'[^a-z0-9 -]', '', each.lower()).replace(' ', '-')}" for each in headings}
    assert {each["annotations"]["runbook_url"] for each in alerts()} <= anchors


@needs_promtool
def test_the_alerts_fire_when_they_should(tmp_path: Path) -> None:
    """And what the dashboard asks can be read."""
    rules = [{"record": f"panel:{number}", "expr": each} for number, each in enumerate(expressions())]
    (panels := tmp_path / "dashboard.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    for command in (
        ["check", "rules", str(RULES), str(panels)],
        ["test", "rules", str(RULES.with_name("rules_test.yml"))],
    ):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
