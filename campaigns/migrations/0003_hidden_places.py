"""Checks stand in a fixed number of hidden places of each batch, instead of being a share of all batches."""

from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Greatest, Round


def places_of_rate(apps, editor):
    """Let each campaign with checks keep about as many of them."""
    with_checks = apps.get_model('campaigns', 'Campaign').objects.filter(check_rate__gt=0)
    of_batch = Greatest(Round(F("check_rate") * F("batch_size")), 1.0)
    with_checks.update(hidden_places=of_batch)


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0002_pay_webhooks_cache'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='hidden_places',
            field=models.PositiveSmallIntegerField(default=0, help_text='places of each batch that hold quiet checks; 0 for no checks'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='mixes_queries',
            field=models.BooleanField(default=False, help_text='whether contested pairs of several queries make one batch of round two'),
        ),
        migrations.RunPython(places_of_rate, migrations.RunPython.noop),
        migrations.RemoveConstraint(
            model_name='campaign',
            name='checks_are_few_or_none',
        ),
        migrations.RemoveField(
            model_name='campaign',
            name='check_rate',
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('hidden_places__lte', 10)), name='hidden_places_are_few'),
        ),
    ]
