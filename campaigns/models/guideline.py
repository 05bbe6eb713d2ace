"""Guidelines: the numbered versions of what a campaign tells its annotators."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from base.text import rendered


class Guideline(models.Model):
    """One version of a campaign's guideline. Versions are never changed."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown")
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["campaign", "version"]
        constraints = [models.UniqueConstraint(fields=["campaign", "version"], name="one_guideline_per_version")]

    def __str__(self) -> str:
        return f"guideline {self.version}"

    @property
    def html(self) -> SafeString:
        """The text as HTML. The built-in version is translated into the page's language, those of leads are not."""
        return rendered(self.text if self.version else gettext(self.text))

    @property
    def author(self) -> str:
        return self.by.user.get_username() if self.by else "Reeljudge"
