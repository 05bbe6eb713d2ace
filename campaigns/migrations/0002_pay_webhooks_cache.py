"""The limits of paid seconds; the tables of webhooks, which were the API's; and a cache without pickles."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


def empty_cache(apps, editor):
    """Delete the counts of attempts and the used codes, which were pickles. `upgrade` has noted its backup as JSON."""
    apps.get_model('campaigns', 'CacheEntry').objects.exclude(cache_key__endswith=':newest-backup').delete()


def moved(table):
    """Return the operation that takes over a table of the API."""
    return migrations.RunSQL(
        f'ALTER TABLE api_{table} RENAME TO campaigns_{table}', f'ALTER TABLE campaigns_{table} RENAME TO api_{table}'
    )


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0001_initial'),
        ('api', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='paid_plays',
            field=models.PositiveSmallIntegerField(default=3, help_text='plays of the clip that one press may count'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='paid_beyond',
            field=models.PositiveSmallIntegerField(default=60, help_text='seconds beyond these plays that one press may count'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('paid_beyond__lte', 120), ('paid_plays__gte', 1), ('paid_plays__lte', 20)), name='a_press_counts_minutes_at_most'),
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[moved('webhook'), moved('delivery')],
            state_operations=[
                migrations.CreateModel(
                    name='Webhook',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('address', models.CharField(max_length=500)),
                        ('events', models.JSONField(default=list, help_text='names of the events that are sent')),
                        ('secret', models.TextField(help_text='signs what is sent; encrypted by SECRET_KEY')),
                        ('made', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                        ('enabled', models.BooleanField(default=True, help_text='whether it is told anything')),
                        ('by', models.ForeignKey(help_text='empty if it was made in the terminal', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
                        ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='campaigns.campaign')),
                    ],
                ),
                migrations.CreateModel(
                    name='Delivery',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('event', models.CharField(help_text='what happened, or a test', max_length=20)),
                        ('body', models.TextField(help_text='JSON as it is sent and signed')),
                        ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
                        ('tries', models.PositiveSmallIntegerField(default=0)),
                        ('status', models.PositiveSmallIntegerField(help_text='of the last answer', null=True)),
                        ('error', models.CharField(blank=True, help_text='why the last attempt came to nothing', max_length=300)),
                        ('delivered', models.DateTimeField(null=True)),
                        ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='campaigns.webhook')),
                    ],
                    options={
                        'verbose_name_plural': 'deliveries',
                        'ordering': ['-pk'],
                    },
                ),
            ],
        ),
        migrations.RunPython(empty_cache, migrations.RunPython.noop),
    ]
