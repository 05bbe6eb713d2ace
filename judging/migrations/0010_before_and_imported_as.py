"""What adjudicated pairs were before, the ids of imported pairs, and when a lead last changed something."""

from django.db import migrations, models
from django.db.models import Count, Q
from django.db.models.functions import Now


def tell_flagged(apps, schema_editor):
    """A round with fewer grades than two ended in a flag."""
    Adjudication = apps.get_model("judging", "Adjudication")
    counted = Count("candidate__judgements", filter=Q(candidate__judgements__seat__isnull=False))
    rows = Adjudication.objects.order_by().annotate(n=counted)
    short = rows.filter(Q(n__lt=2) | Q(n__lt=4, candidate__escalated=True))
    Adjudication.objects.filter(pk__in=list(short.values_list("pk", flat=True))).update(before="flagged")


class Migration(migrations.Migration):
    dependencies = [("judging", "0009_desk_indexes")]

    operations = [
        migrations.AddField(
            "adjudication",
            "before",
            models.CharField(
                default="discarded", help_text="the outcome that annotators came to", max_length=20
            ),
            preserve_default=False,
        ),
        migrations.RunPython(tell_flagged, migrations.RunPython.noop),
        migrations.AddConstraint(
            "adjudication",
            models.CheckConstraint(
                condition=Q(before__in=["discarded", "flagged"]), name="adjudged_where_there_is_no_consensus"
            ),
        ),
        migrations.AddField(
            "candidate",
            "imported_as",
            models.TextField(blank=True, default="", help_text="the pair's id in the ratings that were imported"),
            preserve_default=False,
        ),
        migrations.AddField(
            "campaign",
            "touched",
            models.DateTimeField(
                blank=True, help_text="when a lead last changed what its numbers are counted from", null=True
            ),
        ),
        migrations.AlterField(
            "release",
            "at",
            models.DateTimeField(
                db_default=Now(),
                help_text="when it was asked for; once written, the instant whose state it holds",
            ),
        ),
    ]
