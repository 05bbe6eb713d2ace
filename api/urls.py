"""The addresses of the API, below /api/v1/. Each resource states its own; those that were replaced are here."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from api import resources
from api.document import document
from api.resource import CAMPAIGN, ROUTES, Resource
from base.errors import Replaced

# Their acts have other addresses now. For one release these answer 410, with the new address.
REPLACED = {
    f"{CAMPAIGN}/batches/acceptance": "campaigns/NAME/actions, with the verb accept",
    f"{CAMPAIGN}/batches/<int:pk>/open": "campaigns/NAME/batches/open, with the batch in its body",
    f"{CAMPAIGN}/jobs/<int:pk>/again": "jobs/NUMBER/again",
    f"{CAMPAIGN}/jobs/<int:pk>/cancel": "jobs/NUMBER/cancel",
}

for module in iter_modules(resources.__path__):
    import_module(f"{resources.__name__}.{module.name}")


def replace(number: int, old: str, new: str) -> None:
    """Have an address answer with the one that replaced it, to whoever is signed in."""

    class Old(Resource, at=old, name=f"replaced-{number}"):
        schema = None

        def post(self, request: Request, **_: Any) -> Any:
            raise Replaced(f"This address was replaced by /api/v1/{new}.")


for number, (old, new) in enumerate(REPLACED.items(), 1):
    replace(number, old, new)


class Document(Resource, at="openapi.json", name="schema"):
    """The OpenAPI document. It is no operation in itself, and needs no scope."""

    schema = None

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(document(), content_type="application/json")


urlpatterns = ROUTES
