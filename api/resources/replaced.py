"""Addresses whose act has another address now. For one release they answer 410, with the new address."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from api.resource import CAMPAIGN, Resource
from base.errors import Replaced

REPLACED = {
    f"{CAMPAIGN}/batches/acceptance": "campaigns/NAME/actions, with the verb accept",
    f"{CAMPAIGN}/batches/<int:pk>/open": "campaigns/NAME/batches/open, with the batch in its body",
    f"{CAMPAIGN}/jobs/<int:pk>/again": "jobs/NUMBER/again",
    f"{CAMPAIGN}/jobs/<int:pk>/cancel": "jobs/NUMBER/cancel",
}


def replace(number: int, old: str, new: str) -> None:
    """Have an address answer with the one that replaced it, to whoever is signed in."""

    class Old(Resource, at=old, name=f"replaced-{number}"):
        schema = None

        def post(self, request: Request, **_: Any) -> Any:
            raise Replaced(f"This address was replaced by /api/v1/{new}.")


for number, (old, new) in enumerate(REPLACED.items(), 1):
    replace(number, old, new)
