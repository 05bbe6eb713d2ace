"""Errors to Sentry: where in the program they arose, and nothing about persons or of what a corpus says."""

from __future__ import annotations

from typing import Any

import sentry_sdk

from config.operations.logs import request_id

KEPT = ("event_id", "level", "logger", "platform", "timestamp", "environment", "release", "sdk", "server_name")
KEPT_OF_A_FRAME = ("filename", "abs_path", "function", "module", "lineno", "in_app")


def start(dsn: str) -> None:
    sentry_sdk.init(
        dsn,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        before_send=without_words,  # type: ignore[arg-type]
    )


def without_words(event: dict[str, Any], hint: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with those parts of an event that cannot hold a name, an address, a caption or a query.

    The message of an error may quote any of them, so it stays in the log of the machine; `request` is its number there.
    """
    kept = {name: event[name] for name in KEPT if name in event}
    kept["tags"] = {"request": request_id.get()}
    if template := (event.get("logentry") or {}).get("message"):
        kept["logentry"] = {"message": template}  # without what is filled in
    values = (event.get("exception") or {}).get("values") or []
    kept["exception"] = {"values": [_without_words(each) for each in values]}
    return kept


def _without_words(fault: dict[str, Any]) -> dict[str, Any]:
    frames = (fault.get("stacktrace") or {}).get("frames") or []
    return {
        "type": fault.get("type"),
        "module": fault.get("module"),
        "stacktrace": {"frames": [{name: frame.get(name) for name in KEPT_OF_A_FRAME} for frame in frames]},
    }
