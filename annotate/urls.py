"""The addresses of the annotator's pages."""

from django.urls import path

from annotate import app, views
from annotate.learning import exam_result, practice, practice_clip, practise, tutorial

urlpatterns = [
    path("clips/<slug:token>", views.clip, name="clip"),
    path("judge/", views.work, name="work"),
    path("judge/preferences", views.preferences, name="preferences"),
    path("judge/preferences/breaks", views.suggest_no_breaks, name="suggest-no-breaks"),
    path("judge/service-worker.js", app.service_worker, name="service-worker"),
    path("app/<slug:language>/manifest", app.manifest, name="manifest"),
    path("app/<slug:language>/offline", app.offline, name="offline"),
    path("judge/<slug:name>/tutorial", tutorial, name="tutorial"),
    path("judge/<slug:name>/practice", practice, name="practice"),
    path("judge/<slug:name>/practice/<int:pk>", practice_clip, name="practice-clip"),
    path("judge/<slug:name>/practice/<int:pk>/answer", practise, name="practise"),
    path("judge/<slug:name>/exam", exam_result, name="exam-result"),
    path("judge/<slug:name>/claim", views.claim, name="claim"),
    path("judge/<slug:name>/claim/ahead", views.load_ahead, name="load-ahead"),
    path("judge/<slug:name>/wait", views.wait, name="wait"),
    path("judge/<slug:name>/news", views.news, name="news"),
    path("judge/<slug:name>/mine", views.my_page, name="mine"),
    path("judge/<slug:name>/questions", views.ask, name="ask"),
    path("judge/<slug:name>/messages/<int:pk>/read", views.read_message, name="read-message"),
    path("judge/assignments/<slug:token>/", views.workplace, name="workplace"),
    path("judge/assignments/<slug:token>/judgements/<int:position>", views.judge, name="judge"),
    path("judge/assignments/<slug:token>/flags/<int:position>", views.flag, name="flag"),
    path("judge/assignments/<slug:token>/clips/<slug:key>", views.place, name="place"),
    path("judge/assignments/<slug:token>/questions", views.questions, name="own-questions"),
    path("judge/assignments/<slug:token>/questions/<int:position>", views.ask_at, name="ask-at"),
    path("judge/assignments/<slug:token>/resume", views.resume, name="resume"),
    path("judge/assignments/<slug:token>/submit", views.submit, name="submit"),
]
