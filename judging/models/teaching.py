"""What annotators are taught: the guideline in its versions, and worked examples."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from judging.markdown import rendered


class Guideline(models.Model):
    """A version of a campaign's guideline; versions are never changed."""

    campaign = models.ForeignKey("judging.Campaign", models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown")
    by = models.ForeignKey("judging.Membership", models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["campaign", "version"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "version"], name="one_guideline_per_version")
        ]

    def __str__(self) -> str:
        return f"guideline {self.version}"

    @property
    def html(self) -> SafeString:
        """In the page's language if it came with Reeljudge; what a lead wrote stays as it is."""
        return rendered(self.text if self.version else gettext(self.text))

    @property
    def author(self) -> str:
        return self.by.user.get_username() if self.by else "Reeljudge"


class Example(models.Model):
    """A clip beside a query that shows what a grade means, and why. Never a pair that is still to be judged."""

    campaign = models.ForeignKey("judging.Campaign", models.CASCADE, related_name="examples")
    query = models.TextField()
    moment = models.ForeignKey("corpus.Moment", models.PROTECT, related_name="+")
    clip = models.ForeignKey("corpus.Clip", models.SET_NULL, null=True, related_name="+")
    grade = models.PositiveSmallIntegerField()
    why = models.TextField()
    by = models.ForeignKey("judging.Membership", models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["campaign", "-grade", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "query", "moment"], name="one_example_per_pair"),
            models.CheckConstraint(condition=Q(grade__in=[0, 1, 2, 3, 4]), name="example_grade_from_0_to_4"),
        ]

    def __str__(self) -> str:
        return f"{self.grade}: {self.query}"
