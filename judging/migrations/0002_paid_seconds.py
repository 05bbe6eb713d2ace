"""What a press may count is fixed when a batch is claimed, and what the browser measured is kept beside what counts."""

from django.db import migrations, models


def limit_open_assignments(apps, editor):
    """Give the assignments that are being judged the limits that they would have got when they were claimed."""
    Assignment, Candidate = apps.get_model('judging', 'Assignment'), apps.get_model('judging', 'Candidate')
    for held in Assignment.objects.filter(state='live').select_related('batch__query__campaign'):
        campaign = held.batch.query.campaign
        moments = {pair.pk: pair.moment for pair in Candidate.objects.filter(pk__in=held.places).select_related('moment')}
        lengths = [moments[place].end - moments[place].start + 2 * campaign.padding for place in held.places]
        limits = [campaign.paid_plays * length + campaign.paid_beyond for length in lengths]
        Assignment.objects.filter(pk=held.pk).update(limits=limits)


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0001_initial'),
        ('campaigns', '0002_pay_webhooks_cache'),
    ]

    operations = [
        migrations.AddField(
            model_name='assignment',
            name='limits',
            field=models.JSONField(default=list, help_text='the active seconds that one press may count, for each place'),
        ),
        migrations.AddField(
            model_name='flag',
            name='reported',
            field=models.FloatField(help_text='active seconds that the browser measured', null=True),
        ),
        migrations.AlterField(
            model_name='flag',
            name='seconds',
            field=models.FloatField(help_text='those of them that count: within the limit of a press and the clock', null=True),
        ),
        migrations.AddField(
            model_name='revision',
            name='reported',
            field=models.FloatField(help_text='active seconds that the browser measured', null=True),
        ),
        migrations.AlterField(
            model_name='revision',
            name='seconds',
            field=models.FloatField(help_text='those of them that count: within the limit of a press and the clock', null=True),
        ),
        migrations.RunPython(limit_open_assignments, migrations.RunPython.noop),
    ]
