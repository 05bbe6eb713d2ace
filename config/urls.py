"""Every address, each app's below its own."""

from django.urls import include, path

urlpatterns = [
    path("", include("judging.urls")),
    path("", include("annotate.urls")),
]
handler404 = "judging.problems.not_found"
