"""All addresses, included from the apps."""

from django.urls import include, path

urlpatterns = [
    # Addresses are tried in this order, and nothing is asked for as often as a save.
    path("", include("annotate.urls")),
    path("api/v1/", include("api.urls")),
    path("", include("accounts.urls")),
    path("", include("runs.urls")),
    path("", include("lead.urls")),
]
handler404 = "base.problem_documents.not_found"
handler500 = "base.problem_documents.server_error"
handler429 = "base.problem_documents.too_many_requests"  # of allauth
