"""Scores on a split that is held back, and what the owner of a run says of it: a citation, and since when others see."""

import django.db.models.deletion
from django.db import migrations, models

from base.database import DELETE, UPDATE, refuse, refuse_no_longer

# An anonymous run gets its name once; its file, whose it is and what was found in it stay even then.
STAYING = ('campaign_id', 'number', 'token', 'by_id', 'at', 'file', 'sha256', 'size', 'table', 'queries', 'predictions')
KEPT = " OR ".join(["OLD.veiled = '{}'", *(f'NEW."{name}" <> OLD."{name}"' for name in STAYING)])


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0004_predictors'),
    ]

    operations = [
        refuse_no_longer('runs_run', UPDATE, DELETE),
        migrations.AddField(
            model_name='run',
            name='anonymous_until',
            field=models.DateField(blank=True, help_text='the day on which others see who and what made it; empty for at once', null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='citation',
            field=models.TextField(blank=True, help_text='how to cite the run, as text or BibTeX', max_length=2000),
        ),
        migrations.AddField(
            model_name='run',
            name='veiled',
            field=models.JSONField(default=dict, help_text='its details and the name of its file, while it is anonymous'),
        ),
        migrations.AddField(
            model_name='submission',
            name='anonymous_until',
            field=models.DateField(blank=True, help_text='the day on which others see who and what made it; empty for at once', null=True),
        ),
        migrations.AddField(
            model_name='submission',
            name='citation',
            field=models.TextField(blank=True, help_text='how to cite the run, as text or BibTeX', max_length=2000),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='held',
            field=models.FileField(blank=True, default='', help_text='its judged moments as arrays', upload_to=''),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='held_back',
            field=models.CharField(blank=True, default='', help_text='its name; empty if there is none', max_length=20),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='held_on',
            field=models.DateField(help_text='the last day on which runs were scored on it', null=True),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='opened',
            field=models.DateTimeField(help_text='since when members see the scores on it', null=True),
        ),
        migrations.AlterField(
            model_name='run',
            name='visibility',
            field=models.CharField(choices=[('private', 'Only I'), ('shared', "The campaign's leads and researchers"), ('public', 'Whoever has its link'), ('listed', 'Everybody, with its file, on the public leaderboard')], default='shared', max_length=10),
        ),
        migrations.AlterField(
            model_name='submission',
            name='visibility',
            field=models.CharField(choices=[('private', 'Only I'), ('shared', "The campaign's leads and researchers"), ('public', 'Whoever has its link'), ('listed', 'Everybody, with its file, on the public leaderboard')], default='shared', max_length=10),
        ),
        migrations.CreateModel(
            name='HeldScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('convention', models.CharField(max_length=20)),
                ('measure', models.CharField(max_length=80)),
                ('value', models.FloatField(help_text='null if no query counts', null=True)),
                ('low', models.FloatField(help_text='lower end of the 95 % bootstrap interval over queries', null=True)),
                ('high', models.FloatField(help_text='its upper end', null=True)),
                ('on', models.DateField(help_text='the day on which it was computed')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='held_scores', to='runs.run')),
                ('yardstick', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='held_scores', to='runs.yardstick')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('yardstick', 'run', 'convention', 'measure'), name='one_held_score')],
            },
        ),
        refuse('runs_run', UPDATE, DELETE, but=['visibility'], when=KEPT),
    ]
