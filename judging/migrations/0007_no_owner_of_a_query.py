"""Repeats stand in hidden places, so that no query is one annotator's own any more."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0006_questions_and_practice'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='query',
            name='gold_and_repeats',
        ),
        migrations.RemoveField(
            model_name='query',
            name='owner',
        ),
    ]
