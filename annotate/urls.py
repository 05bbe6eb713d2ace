"""The addresses of the annotator's pages."""

from django.urls import path

from annotate import views

urlpatterns = [
    path("work/", views.work, name="work"),
    path("work/<slug:name>/claim", views.claim, name="claim"),
    path("work/assignments/<str:token>/", views.workplace, name="workplace"),
    path("work/assignments/<str:token>/judgements/<int:position>", views.judge, name="judge"),
    path("work/assignments/<str:token>/flags/<int:position>", views.flag, name="flag"),
    path("work/assignments/<str:token>/submit", views.submit, name="submit"),
]
