"""How a person likes to work: keys, suggestions of breaks, and a goal of the person's own."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0003_hidden_places'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
                'constraints': [models.CheckConstraint(condition=models.Q(('goal__range', (1, 5000))), name='goal_of_one_clip_to_thousands')],
            },
        ),
    ]
