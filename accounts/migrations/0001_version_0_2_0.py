"""First links, tokens and preferences were models of campaigns, and keep their tables. Sessions go on."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations, models

BACKEND = 'accounts.second_factor.Backend'


def move_sessions(apps, editor):
    """Let each session name the class that finds its person by the path of now; with another, nobody is signed in."""
    store = SessionStore()
    for row in list(apps.get_model('sessions', 'Session').objects.all()):
        data = store.decode(row.session_data)
        if data.get(BACKEND_SESSION_KEY) == f'campaigns.{BACKEND}':
            row.session_data = store.encode(data | {BACKEND_SESSION_KEY: BACKEND})
            row.save(update_fields=['session_data'])


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('campaigns', '0002_version_0_2_0'),  # has let go of them
        ('sessions', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='FirstLink',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('hash', models.CharField(help_text="SHA-256 of the link's secret", max_length=64, unique=True)),
                        ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ],
                    options={'db_table': 'campaigns_firstlink'},
                ),
                migrations.CreateModel(
                    name='Token',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(help_text="what it is for, in the person's words", max_length=100)),
                        ('scopes', models.JSONField(default=list, help_text='names of scopes')),
                        ('hash', models.CharField(help_text='SHA-256 of the secret', max_length=64, unique=True)),
                        ('ending', models.CharField(help_text="the secret's last characters, to tell tokens apart", max_length=4)),
                        ('password', models.CharField(help_text='follows from the password that the person had when it was made', max_length=128)),
                        ('made', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                        ('expires', models.DateTimeField()),
                        ('used', models.DateTimeField(help_text='about when it was last used', null=True)),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={'db_table': 'campaigns_token'},
                ),
                migrations.CreateModel(
                    name='Preferences',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('changed_keys', models.JSONField(default=dict, help_text='keys that are not the usual ones, by what they do')),
                        ('goal', models.PositiveSmallIntegerField(help_text='clips that the person wants to judge in a day', null=True)),
                        ('suggests_breaks', models.BooleanField(default=True)),
                        ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='preferences', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'verbose_name_plural': 'preferences',
                        'db_table': 'campaigns_preferences',
                        'constraints': [models.CheckConstraint(condition=models.Q(('goal__range', (1, 5000))), name='goal_of_one_clip_to_thousands')],
                    },
                ),
            ],
        ),
        migrations.RunPython(move_sessions, migrations.RunPython.noop),
    ]
