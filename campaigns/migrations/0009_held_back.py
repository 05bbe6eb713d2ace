"""How many runs a day, who sees the leaderboard, and the split of which researchers see no grades."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0008_log'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='held_back',
            field=models.CharField(blank=True, help_text='split whose grades only leads see; empty if none is held back', max_length=20),
        ),
        migrations.AddField(
            model_name='campaign',
            name='public_board',
            field=models.BooleanField(default=False, help_text='whether everybody may see the leaderboard'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='runs_a_day',
            field=models.PositiveSmallIntegerField(blank=True, help_text='runs of one researcher on a day, at most; empty for no limit', null=True),
        ),
    ]
