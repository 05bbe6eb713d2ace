"""Limits and groups of annotators, and a quota of all for a week."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0005_waiting'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='has_groups',
            field=models.BooleanField(default=False, help_text='whether queries are for groups of annotators'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='week_quota',
            field=models.PositiveIntegerField(blank=True, help_text='judgements of all annotators in a week, at most', null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='group',
            field=models.CharField(blank=True, help_text='of annotators; empty if in none', max_length=40),
        ),
        migrations.AddField(
            model_name='membership',
            name='most_a_day',
            field=models.PositiveIntegerField(help_text='judgements on a day, at most; null for no limit', null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='most_a_week',
            field=models.PositiveIntegerField(help_text='judgements in a week, at most; null for no limit', null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='most_in_all',
            field=models.PositiveIntegerField(help_text='judgements, at most; null for no limit', null=True),
        ),
        migrations.AlterField(
            model_name='event',
            name='kind',
            field=models.CharField(choices=[('joined', 'Joined'), ('qualified', 'Qualified'), ('failed', 'failed the exam'), ('warned', 'Warned'), ('paused', 'Paused'), ('resumed', 'Resumed'), ('left', 'Left'), ('handed over', 'work handed over'), ('role', 'role changed'), ('opened', 'batch opened without all clips'), ('steered', 'work steered')], max_length=20),
        ),
    ]
