"""What 0.2.0 adds to runs: estimates, predictors, a split that is held back, benchmarks, and details of training."""

import campaigns.models.draft
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from base.database import DELETE, UPDATE, refuse, refuse_no_longer

# An anonymous run gets its name once; its file, whose it is and what was found in it stay even then.
STAYING = ('campaign_id', 'number', 'token', 'by_id', 'at', 'file', 'sha256', 'size', 'table', 'queries', 'predictions')
KEPT = " OR ".join(["OLD.veiled = '{}'", *(f'NEW."{name}" <> OLD."{name}"' for name in STAYING)])


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0001_initial'),
        ('campaigns', '0001_initial'),
        ('judging', '0001_initial'),
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
        migrations.AlterField(
            model_name='run',
            name='visibility',
            field=models.CharField(choices=[('private', 'Only I'), ('shared', "The campaign's leads and researchers"), ('public', 'Whoever has its link'), ('listed', 'Everybody, with its file, on the public leaderboard')], default='shared', max_length=10),
        ),
        migrations.AddField(
            model_name='run',
            name='entered',
            field=models.CharField(blank=True, default='', help_text='the held-back split on which its owner wants it scored', max_length=20),
        ),
        refuse('runs_run', UPDATE, DELETE, but=['visibility', 'entered'], when=KEPT),
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
        migrations.AlterField(
            model_name='submission',
            name='visibility',
            field=models.CharField(choices=[('private', 'Only I'), ('shared', "The campaign's leads and researchers"), ('public', 'Whoever has its link'), ('listed', 'Everybody, with its file, on the public leaderboard')], default='shared', max_length=10),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='ranked',
            field=models.JSONField(default=list, help_text='[place among the judged ones or null, in the sample, stratum] of each ranked query'),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='flaw',
            field=models.TextField(blank=True, default='', help_text='why the sample is not random'),
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
            name='held_queries',
            field=models.JSONField(default=list, help_text='ids of its queries, as they were in the release'),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='opened',
            field=models.DateTimeField(help_text='since when members see the scores on it', null=True),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='closed',
            field=models.DateTimeField(help_text='when they were first opened: no run is entered after that', null=True),
        ),
        migrations.AddField(
            model_name='score',
            name='predicted',
            field=models.BinaryField(null=True, help_text='of each ranked query by predicted grades: float32, packed'),
        ),
        migrations.AddField(
            model_name='scoring',
            name='on_benchmark',
            field=models.JSONField(default=dict, help_text='score and interval by each measure of the benchmark that is judged again; empty: none'),
        ),
        migrations.RenameField(model_name='systemsearch', old_name='asked', new_name='made'),
        migrations.AddField(
            model_name='trainedsystem',
            name='notice',
            field=models.TextField(blank=True, default='', help_text='what its features lack, in words'),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='trainedsystem',
            name='step_seconds',
            field=models.FloatField(help_text='mean time of a step when it was last trained', null=True),
        ),
        migrations.AddField(
            model_name='trainedsystem',
            name='fit',
            field=models.CharField(default='strict', help_text='What becomes of features that do not fit their videos: strict refuses them; cut leaves out a video that a set lacks, and ends one where its shortest set ends; pad takes zeros for what is missing.', max_length=10),
        ),
        migrations.AddField(
            model_name='trainedsystem',
            name='unit_rows',
            field=models.BooleanField(default=False, help_text='Bring each row of each set to length 1, before sets are joined.'),
        ),
        migrations.AddConstraint(
            model_name='trainedsystem',
            constraint=models.CheckConstraint(condition=models.Q(('fit__in', ('strict', 'cut', 'pad'))), name='features_fit_in_a_known_way'),
        ),
        migrations.CreateModel(
            name='HeldScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('measure', models.CharField(max_length=80)),
                ('value', models.FloatField(help_text='to two decimals; null if the run answers too few queries of the split', null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='held_scores', to='runs.run')),
                ('reference', models.ForeignKey(db_column='yardstick_id', db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='held_scores', to='runs.yardstick')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('reference', 'run', 'measure'), name='one_held_score')],
            },
        ),
        migrations.CreateModel(
            name='Benchmark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='of its file', max_length=255)),
                ('table', models.FileField(help_text='its moments as arrays', upload_to='')),
                ('depth', models.PositiveSmallIntegerField(help_text='ranks of each run that are candidates')),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='benchmark', to='campaigns.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='Predictor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('requests', models.PositiveIntegerField(default=0)),
                ('retries', models.PositiveIntegerField(default=0, help_text='requests that repeat or divide an earlier one')),
                ('input_tokens', models.PositiveBigIntegerField(default=0)),
                ('output_tokens', models.PositiveBigIntegerField(default=0)),
                ('input_price', models.FloatField(default=0, help_text='for a million tokens')),
                ('output_price', models.FloatField(default=0, help_text='for a million tokens')),
                ('name', models.CharField(max_length=100)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('source', models.CharField(choices=[('file', 'A file of predicted grades'), ('chat', 'The chat endpoint, which looks at pictures of each clip')], max_length=10)),
                ('model', models.CharField(blank=True, help_text='what predicts', max_length=200)),
                ('prompt', models.TextField(blank=True, help_text='what the chat endpoint is told before each clip')),
                ('frames', models.PositiveSmallIntegerField(default=0, help_text='pictures of each clip that the endpoint sees')),
                ('filename', models.CharField(blank=True, max_length=255)),
                ('sha256', models.CharField(blank=True, help_text='of the uploaded file', max_length=64)),
                ('fault', models.TextField(blank=True, help_text='what is wrong with the uploaded file')),
                ('ended', models.DateTimeField(help_text='when all grades were there', null=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='predictors', to='campaigns.campaign')),
            ],
            options={
                'ordering': ['campaign', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('campaign', 'name'), name='one_predictor_per_name')],
            },
        ),
        migrations.CreateModel(
            name='PredictionsFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='as the browser calls the file; never a path', max_length=255)),
                ('token', models.CharField(default=campaigns.models.draft.token, max_length=32, unique=True)),
                ('size', models.BigIntegerField(help_text='bytes of the whole file')),
                ('received', models.BigIntegerField(default=0, help_text='bytes that are on the disk')),
                ('touched', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('predictor', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='file', to='runs.predictor')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('received__gte', 0), ('received__lte', models.F('size'))), name='no_more_of_predictions_arrives')],
            },
        ),
        migrations.CreateModel(
            name='PredictedGrades',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('grades', models.JSONField(default=dict, help_text="from 0 to 4, by the candidate's key")),
                ('faults', models.JSONField(default=dict, help_text="why there is no grade, by the candidate's key")),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='predicted', to='judging.query')),
                ('predictor', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='predicted', to='runs.predictor')),
            ],
            options={
                'verbose_name_plural': 'predicted grades',
                'constraints': [models.UniqueConstraint(fields=('predictor', 'query'), name='predicted_once')],
            },
        ),
        migrations.CreateModel(
            name='Watch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('measure', models.CharField(max_length=80)),
                ('looks', models.JSONField(default=list, help_text='what each look found, the newest last')),
                ('looked', models.DateTimeField(null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
                ('other', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
                ('predictor', models.ForeignKey(help_text='null: the mean grade of a caption rank', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='watches', to='runs.predictor')),
            ],
            options={
                'verbose_name_plural': 'watches',
                'constraints': [models.UniqueConstraint(condition=models.Q(('predictor', None)), fields=('run', 'other', 'measure'), name='one_watch_of_a_difference'), models.UniqueConstraint(fields=('run', 'other', 'measure', 'predictor'), name='one_watch_by_a_predictor')],
            },
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel('Yardstick', 'ScoringReference'),
                migrations.AlterModelTable('ScoringReference', 'runs_yardstick'),
                migrations.AlterField(
                    model_name='scoringreference',
                    name='release',
                    field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='scoring_reference', to='releases.release'),
                ),
                migrations.AlterField(
                    model_name='score',
                    name='values',
                    field=models.BinaryField(help_text='of each query of the reference: float32, packed; NaN if it does not count'),
                ),
            ]
        ),
    ]
