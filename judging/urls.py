"""The addresses of signing in, of the lead's pages and of clips."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from judging.views import batches, campaigns, clips, exports

urlpatterns = [
    path("", campaigns.home, name="home"),
    path("sign-in/", login_not_required(LoginView.as_view(redirect_authenticated_user=True)), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("clips/<slug:token>", clips.clip, name="clip"),
    path("campaigns/", campaigns.listed, name="campaigns"),
    path("campaigns/<slug:name>/", campaigns.one, name="campaign"),
    path("campaigns/<slug:name>/jobs", campaigns.jobs, name="campaign-jobs"),
    path("campaigns/<slug:name>/batches/<int:pk>/", batches.one, name="batch"),
    path("campaigns/<slug:name>/batches/<int:pk>/review", batches.review, name="review"),
    path("campaigns/<slug:name>/exports/", exports.listed, name="exports"),
    path("campaigns/<slug:name>/exports/<str:file>", exports.one, name="export"),
]
