"""What 0.2.0 adds to releases: the queries up to the frontier, of what they are a sample, a signature, and what its card says."""

from django.db import migrations, models


def keep_what_they_hold(apps, editor):
    """Releases of before there was an order hold all queries that were finished."""
    apps.get_model('releases', 'Release').objects.update(with_finished=True)


class Migration(migrations.Migration):

    dependencies = [
        ('releases', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='release',
            name='estimates',
            field=models.JSONField(default=dict, help_text='what its sample is and stands for; empty if it was made before there was an order'),
        ),
        migrations.AddField(
            model_name='release',
            name='with_finished',
            field=models.BooleanField(default=False, help_text='whether it holds queries that are finished beyond the frontier'),
        ),
        migrations.AddField(
            model_name='release',
            name='signature',
            field=models.TextField(blank=True, help_text='as minisign checks it; empty if it was frozen without a key'),
        ),
        migrations.AddField(
            model_name='release',
            name='date',
            field=models.DateField(help_text='the day on which it was asked for', null=True),
        ),
        migrations.AddField(
            model_name='release',
            name='contact',
            field=models.CharField(blank=True, help_text='whom readers ask: a name, an address or a page', max_length=200),
        ),
        migrations.AddField(
            model_name='release',
            name='language',
            field=models.CharField(blank=True, help_text='of queries and captions, such as en or zh-Hans', max_length=20),
        ),
        migrations.AddField(
            model_name='release',
            name='films',
            field=models.CharField(blank=True, help_text='where the films are from, and who may get them', max_length=500),
        ),
        migrations.AddField(
            model_name='release',
            name='baselines',
            field=models.JSONField(default=list, help_text='numbers of the runs whose scores its card shows'),
        ),
        migrations.AddField(
            model_name='release',
            name='contributions',
            field=models.JSONField(help_text='how many judgements of each annotator, by primary key, are behind its final grades; null if it was frozen before they were counted', null=True),
        ),
        migrations.RunPython(keep_what_they_hold, migrations.RunPython.noop),
    ]
