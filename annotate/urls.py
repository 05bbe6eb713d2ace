"""The addresses of the annotator's pages."""

from django.urls import path

from annotate import views

urlpatterns = [
    path("judge/", views.work, name="work"),
    path("judge/<slug:name>/claim", views.claim, name="claim"),
    path("judge/assignments/<str:token>/", views.workplace, name="workplace"),
    path("judge/assignments/<str:token>/judgements/<int:position>", views.judge, name="judge"),
    path("judge/assignments/<str:token>/flags/<int:position>", views.flag, name="flag"),
    path("judge/assignments/<str:token>/submit", views.submit, name="submit"),
]
