"""The addresses of signing in, of a person's account and of invitations.

allauth's views are listed one by one, with our templates: it has more of them, such as an open sign-up. Their names
are those by which allauth finds them.
"""

from allauth.account import views as account
from allauth.mfa.base import views as codes
from allauth.mfa.recovery_codes import views as recovery
from allauth.mfa.totp import views as app
from allauth.mfa.webauthn import views as passkeys
from allauth.socialaccount.providers.openid_connect import views as oidc
from allauth.usersessions import views as sessions
from django.contrib.auth.decorators import login_not_required
from django.urls import path, re_path, reverse_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.i18n import set_language

from accounts import invitations, views

page_or_form = require_http_methods(["GET", "HEAD", "POST"])
sign_in = page_or_form(account.LoginView.as_view(template_name="accounts/login.html"))
forgotten = account.PasswordResetView.as_view(template_name="accounts/forgotten.html")
sent = account.PasswordResetDoneView.as_view(template_name="accounts/sent.html")
new_password = account.PasswordResetFromKeyView.as_view(
    template_name="accounts/new_password.html", success_url=reverse_lazy("account_login")
)
new = {"template_name": "accounts/password.html", "success_url": reverse_lazy("mfa_index")}
password = account.PasswordChangeView.as_view(**new)
first_password = account.PasswordSetView.as_view(**new)
own = page_or_form(views.Account.as_view(success_url=reverse_lazy("account")))
confirm_mail = account.ConfirmEmailView.as_view(template_name="accounts/confirm_mail.html")
confirm = account.ReauthenticateView.as_view(template_name="accounts/confirm.html")
code = codes.AuthenticateView.as_view(template_name="accounts/code.html")
confirm_code = codes.ReauthenticateView.as_view(template_name="accounts/confirm_code.html")
confirm_passkey = passkeys.ReauthenticateWebAuthnView.as_view(template_name="accounts/confirm_passkey.html")
app_off = app.DeactivateTOTPView.as_view(template_name="accounts/app_off.html")
recovery_codes = recovery.ViewRecoveryCodesView.as_view(template_name="accounts/recovery_codes.html")
new_codes = recovery.GenerateRecoveryCodesView.as_view(template_name="accounts/new_recovery_codes.html")
remove_passkey = passkeys.RemoveWebAuthnView.as_view(
    template_name="accounts/remove_passkey.html", success_url=reverse_lazy("mfa_index")
)
end_others = sessions.ListUserSessionsView.as_view(success_url=reverse_lazy("mfa_index"))
elsewhere = {"provider_id": "sso"}

urlpatterns = [
    path("sign-in/", sign_in, name="sign-in"),
    path("sign-in/", sign_in, name="account_login"),
    path("sign-in/code", page_or_form(code), name="mfa_authenticate"),
    path("sign-in/passkey", page_or_form(passkeys.login_webauthn), name="mfa_login_webauthn"),
    path("sign-in/sso", views.go_elsewhere, elsewhere, name="openid_connect_login"),
    path("sign-in/sso/back", require_safe(oidc.callback), elsewhere, name="openid_connect_callback"),
    path("sign-in/forgotten", page_or_form(forgotten), name="account_reset_password"),
    path("sign-in/forgotten/sent", require_safe(sent), name="account_reset_password_done"),
    re_path(
        r"^sign-in/new-password/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)$",
        page_or_form(new_password),
        name="account_reset_password_from_key",
    ),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("language", login_not_required(require_POST(set_language)), name="language"),
    path("account/", own, name="account"),
    path("account/", own, name="account_email"),
    path("account/password", page_or_form(password), name="account_change_password"),
    path("account/password/first", page_or_form(first_password), name="account_set_password"),
    path("account/mail/<str:key>", page_or_form(confirm_mail), name="account_confirm_email"),
    path("account/confirm", page_or_form(confirm), name="account_reauthenticate"),
    path("account/confirm/code", page_or_form(confirm_code), name="mfa_reauthenticate"),
    path("account/confirm/passkey", page_or_form(confirm_passkey), name="mfa_reauthenticate_webauthn"),
    path("account/security", views.security, name="mfa_index"),
    path("account/security/app", page_or_form(views.SetUpApp.as_view()), name="mfa_activate_totp"),
    path("account/security/app/off", page_or_form(app_off), name="mfa_deactivate_totp"),
    path("account/security/passkey", page_or_form(views.AddPasskey.as_view()), name="mfa_add_webauthn"),
    path("account/security/passkeys/<int:pk>/remove", page_or_form(remove_passkey), name="mfa_remove_webauthn"),
    path("account/security/codes", require_safe(recovery_codes), name="mfa_view_recovery_codes"),
    path("account/security/codes/new", page_or_form(new_codes), name="mfa_generate_recovery_codes"),
    path("account/sessions/end", require_POST(end_others), name="usersessions_list"),
    path("account/sessions/<int:pk>/end", views.end_session, name="session-end"),
    path("account/tokens", views.list_tokens, name="tokens"),
    path("account/tokens/<int:pk>/revoke", views.revoke_token, name="token-revoke"),
    path("account/sso/<int:pk>/disconnect", views.disconnect, name="sso-disconnect"),
    path("invitations/<str:secret>", invitations.opened, name="invitation"),
    path("invitation/", invitations.join, name="join"),
    path("first-account/<str:secret>", invitations.first_link_opened, name="first-link"),
    path("first-account/", invitations.make_first_account, name="first-account"),
]
