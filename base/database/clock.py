"""The database's clock, in SQL that Django does not write. `{lease_end}` is `%(lease)s` seconds from now."""

from functools import cache

from django.db import connection

CLOCKS = {
    "postgresql": {
        "now": "STATEMENT_TIMESTAMP()",
        "lease_end": "STATEMENT_TIMESTAMP() + %(lease)s * INTERVAL '1 second'",
        "since_began": "EXTRACT(EPOCH FROM STATEMENT_TIMESTAMP() - began)",
    },
    "sqlite": {
        "now": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "lease_end": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', %(lease)s || ' seconds')",
        "since_began": "(JULIANDAY('NOW') - JULIANDAY(began)) * 86400",
    },
}


@cache
def with_clock(statement: str) -> str:
    """Return the statement with {now}, {lease_end} and {since_began} as this database says them."""
    return statement.format(**CLOCKS[connection.vendor])
