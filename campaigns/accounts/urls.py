"""The addresses of signing in, of a person's account and of invitations."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from campaigns.accounts import invitations, views
from campaigns.accounts.second_factor import code_not_required

urlpatterns = [
    path(
        "sign-in/",
        login_not_required(
            views.page_or_form(
                LoginView.as_view(template_name="accounts/login.html", redirect_authenticated_user=True)
            )
        ),
        name="sign-in",
    ),
    path("sign-in/code", views.code, name="code"),
    path("sign-out/", code_not_required(require_POST(LogoutView.as_view())), name="sign-out"),
    path("language", login_not_required(code_not_required(require_POST(set_language))), name="language"),
    path("account/", views.account, name="account"),
    path("account/password", views.page_or_form(views.ChangePassword.as_view()), name="password"),
    path("account/second-factor", views.set_up, name="second-factor"),
    path("account/second-factor/off", views.turn_off, name="second-factor-off"),
    path("account/backup-codes", views.backup_codes, name="backup-codes"),
    path("invitations/<str:secret>", invitations.opened, name="invitation"),
    path("invitation/", invitations.join, name="join"),
]
