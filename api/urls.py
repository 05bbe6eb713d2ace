"""The addresses of the API, below /api/v1/. Each resource states its own."""

from importlib import import_module
from pkgutil import iter_modules

from django.urls import path

from api import resources
from api.document import schema
from api.resource import ROUTES

for module in iter_modules(resources.__path__):
    import_module(f"{resources.__name__}.{module.name}")

urlpatterns = [path("openapi.json", schema, name="api-schema"), *ROUTES]
