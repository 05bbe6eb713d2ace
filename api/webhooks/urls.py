"""The addresses of the pages of webhooks."""

from django.urls import path

from api.webhooks import pages

urlpatterns = [
    path("campaigns/<slug:name>/webhooks/", pages.index, name="webhooks"),
    path("campaigns/<slug:name>/webhooks/<int:pk>/", pages.detail, name="webhook"),
    path("campaigns/<slug:name>/webhooks/<int:pk>/change", pages.change, name="webhook-change"),
    path(
        "campaigns/<slug:name>/webhooks/<int:pk>/deliveries/<int:delivery>/again",
        pages.again,
        name="webhook-again",
    ),
]
