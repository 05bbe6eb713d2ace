"""The addresses of the API, below /api/v1/. Each resource states its own."""

from importlib import import_module
from pkgutil import iter_modules

from django.http import HttpResponse
from rest_framework.request import Request

from api import resources
from api.document import document
from api.resource import ROUTES, Resource

for module in iter_modules(resources.__path__):
    import_module(f"{resources.__name__}.{module.name}")


class Document(Resource, at="openapi.json", name="schema"):
    """The OpenAPI document. It is no operation in itself, and needs no scope."""

    schema = None

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(document(), content_type="application/json")


urlpatterns = ROUTES
