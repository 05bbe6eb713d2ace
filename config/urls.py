"""All addresses, included from the apps."""

from django.urls import include, path

urlpatterns = [
    path("", include("campaigns.accounts.urls")),
    path("", include("lead.urls")),
    path("", include("annotate.urls")),
]
handler404 = "base.problem_documents.not_found"
handler500 = "base.problem_documents.server_error"
handler429 = "base.problem_documents.too_many_requests"  # of allauth
