"""The demo's accounts, whose password everybody knows, and the check that warns of them."""

from typing import Any

from django.apps import AppConfig
from django.core.checks import Tags, Warning, register

PASSWORD = "reeljudge-demo"  # noqa: S105 - printed for everybody
LEAD = "lead"
RESEARCHER = "researcher"
ANNOTATORS = ("asha", "ben", "chen", "devi")
ACCOUNTS = (LEAD, RESEARCHER, *ANNOTATORS)


class DemoConfig(AppConfig):
    name = "demo"


@register("reachable", Tags.database, deploy=True)
def demo_accounts(databases: Any = None, **options: Any) -> list[Warning]:
    """Warn of active accounts that still have the demo's password (a check of Django)."""
    from django.contrib.auth.models import User

    users = User.objects.filter(username__in=ACCOUNTS, is_active=True) if databases else ()
    public = [user.get_username() for user in users if user.check_password(PASSWORD)]
    if not public:
        return []
    message = f"The password of {', '.join(public)} is that of the demo, which everybody knows. Change it."
    return [Warning(message, id="demo.W001")]
