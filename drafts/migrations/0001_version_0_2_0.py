"""Drafts and uploads were models of campaigns. Their tables stay as they are."""

import campaigns.models.draft
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('campaigns', '0003_drafts'),  # has let go of them
        ('corpus', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Draft',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('token', models.CharField(default=campaigns.models.draft.token, max_length=32, unique=True)),
                        ('corpus_name', models.CharField(blank=True, max_length=100)),
                        ('format', models.CharField(blank=True, max_length=20)),
                        ('kind', models.CharField(blank=True, help_text='of the descriptions to import', max_length=20)),
                        ('columns', models.JSONField(default=dict, help_text='which column of a CSV holds a field')),
                        ('leaves_out_unusable', models.BooleanField(db_default=False, default=False, help_text='moments of the file')),
                        ('media', models.CharField(choices=[('none', 'No films for now: everything works, but clips are missing'), ('upload', 'Films that I upload here'), ('folder', 'A folder on the server, or in its S3 store')], default='none', max_length=10)),
                        ('media_folder', models.CharField(blank=True, max_length=500)),
                        ('frame_rate', models.FloatField(help_text='frames a second, in folders of frames', null=True)),
                        ('split', models.CharField(blank=True, max_length=20)),
                        ('selection', models.JSONField(default=dict, help_text='how many queries are drawn, and how; empty if none are')),
                        ('drawn', models.JSONField(default=dict, help_text='what was drawn to be looked at')),
                        ('pool_depth', models.PositiveSmallIntegerField(help_text='ranks of each run that become candidates; null unless a leaderboard is judged again', null=True)),
                        ('name', models.CharField(blank=True, max_length=100)),
                        ('settings', models.JSONField(default=dict, help_text='columns of the campaign')),
                        ('people', models.JSONField(default=list, help_text='names and roles of further members')),
                        ('findings', models.JSONField(default=dict, help_text='of the last check; empty if something changed since')),
                        ('created', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                        ('touched', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                        ('campaign', models.OneToOneField(help_text='what was made of it', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='draft', to='campaigns.campaign')),
                        ('corpus', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='corpus.corpus')),
                        ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='drafts', to=settings.AUTH_USER_MODEL)),
                        ('reuses', models.ForeignKey(help_text='whose grades are reused', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='campaigns.campaign')),
                    ],
                    options={
                        'db_table': 'campaigns_draft',
                    },
                ),
                migrations.CreateModel(
                    name='Upload',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(help_text='as the browser calls the file; never a path', max_length=255)),
                        ('token', models.CharField(default=campaigns.models.draft.token, max_length=32, unique=True)),
                        ('size', models.BigIntegerField(help_text='bytes of the whole file')),
                        ('received', models.BigIntegerField(default=0, help_text='bytes that are on the disk')),
                        ('touched', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                        ('purpose', models.CharField(choices=[('moments', 'Moments'), ('durations', 'Durations'), ('queries', 'Queries'), ('film', 'Film'), ('benchmark', 'Benchmark'), ('run', 'Run')], max_length=10)),
                        ('sha256', models.CharField(blank=True, help_text='of the whole file, once it was read', max_length=64)),
                        ('draft', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uploads', to='drafts.draft')),
                    ],
                    options={
                        'db_table': 'campaigns_upload',
                        'constraints': [models.CheckConstraint(condition=models.Q(('received__gte', 0), ('received__lte', models.F('size'))), name='no_more_arrives_than_was_announced')],
                    },
                ),
            ],
        ),
    ]
