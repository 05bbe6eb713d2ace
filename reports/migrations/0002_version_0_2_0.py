"""What 0.2.0 adds to reports: hours that are approved before they are paid, and views of lists that are kept."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from base.database import DELETE, UPDATE, refuse


def forget_counts(apps, editor):
    """Delete what is counted again when it is next looked at; what the verification of a release found stays."""
    apps.get_model('reports', 'Summary').objects.exclude(name__startswith='release ').delete()


class Migration(migrations.Migration):

    dependencies = [
        ('reports', '0001_initial'),
        ('campaigns', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApprovedPeriod',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.DateField(help_text='in the time zone of the pages, as the next')),
                ('last', models.DateField()),
                ('rates', models.JSONField(help_text='lists of a first day, a last day and the hourly rate between them')),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='approved_periods', to='campaigns.campaign')),
            ],
            options={
                'ordering': ['first'],
                'constraints': [models.CheckConstraint(condition=models.Q(('first__lte', models.F('last'))), name='a_period_begins_before_it_ends'), models.UniqueConstraint(fields=('campaign', 'first'), name='one_approved_period_from_a_day')],
            },
        ),
        migrations.CreateModel(
            name='ApprovedDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('seconds', models.DecimalField(decimal_places=3, help_text='active seconds that count', max_digits=9)),
                ('reported', models.DecimalField(decimal_places=3, help_text='active seconds of the browser', max_digits=9)),
                ('judgements', models.PositiveIntegerField()),
                ('batches', models.PositiveIntegerField()),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='approved_days', to='campaigns.membership')),
                ('period', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='days', to='reports.approvedperiod')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('member', 'day'), name='a_day_is_approved_once_for_each_member')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('listing', models.CharField(help_text='the kind of list', max_length=20)),
                ('name', models.CharField(max_length=60)),
                ('is_shared', models.BooleanField(default=False)),
                ('choices', models.CharField(help_text='as in the address of the list', max_length=1000)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to='campaigns.membership')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to='campaigns.campaign')),
            ],
            options={
                'ordering': ['name', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('by', 'listing', 'name'), name='one_view_of_a_name_for_each_person')],
            },
        ),
        migrations.RunPython(forget_counts, migrations.RunPython.noop),
        refuse('reports_approvedperiod', UPDATE, DELETE),
        refuse('reports_approvedday', UPDATE, DELETE),
    ]
