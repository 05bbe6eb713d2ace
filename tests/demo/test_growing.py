"""The copies that the benchmark of growth loads keep every rule that the audit knows."""

import os
from pathlib import Path

import pytest

from tests import made_once
from tests.installation import Installation, sql

COPIES = 12  # more than share a campaign


@pytest.mark.skipif("TEST_POSTGRES_URL" not in os.environ, reason="PostgreSQL's own")
def test_copies_of_a_campaign_pass_the_audit(tmp_path: Path) -> None:
    server, name = (
        os.environ["TEST_POSTGRES_URL"],
        f"reeljudge_{tmp_path.parent.name}_growing".replace("-", "_"),
    )
    place = Installation(tmp_path, made_once.migrated_postgres(server, name))
    try:
        place.manage("generate_campaign", "bench", "--queries", "3", "--annotators", "4")
        (judgements,) = sql(place, "SELECT count(*) FROM judging_judgement")[0]
        place.run("-m", "benchmarks.growing", str(COPIES * judgements))
        assert sql(place, "SELECT count(*) FROM judging_judgement") == [(COPIES * judgements,)]
        assert sql(place, "SELECT name FROM campaigns_campaign ORDER BY 1") == [("bench",), ("bench-1",)]
        assert "BROKEN" not in place.manage("audit", "bench")
        assert "BROKEN" not in place.manage("audit", "bench-1")
        place.manage("generate_campaign", "another", "--queries", "1")  # no primary key is taken
    finally:
        place.stop()
        made_once.drop(server, name)
