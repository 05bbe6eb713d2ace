"""Strata have a priority, and queries may be for a group."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0009_actions'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='batch',
            name='batches_in_order',
        ),
        migrations.AddField(
            model_name='batch',
            name='group',
            field=models.CharField(blank=True, help_text='of its query', max_length=40),
        ),
        migrations.AddField(
            model_name='batch',
            name='priority',
            field=models.PositiveSmallIntegerField(default=2, help_text='of its query'),
        ),
        migrations.AddField(
            model_name='query',
            name='group',
            field=models.CharField(blank=True, help_text='whose annotators judge it in round one; empty: everybody', max_length=40),
        ),
        migrations.AddField(
            model_name='query',
            name='priority',
            field=models.PositiveSmallIntegerField(choices=[(1, 'first'), (2, 'as usual'), (3, 'last')], default=2, help_text='one for all queries of its split and stratum'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['campaign', 'free', 'priority', '-begun', 'place', 'id'], name='batches_in_order'),
        ),
    ]
