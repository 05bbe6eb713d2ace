"""The depth of the pools of a leaderboard that is judged again, and its files: the benchmark, and runs on it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0010_reuse'),
    ]

    operations = [
        migrations.AddField(
            model_name='draft',
            name='pool_depth',
            field=models.PositiveSmallIntegerField(help_text='ranks of each run that become candidates; null unless a leaderboard is judged again', null=True),
        ),
        migrations.AlterField(
            model_name='upload',
            name='purpose',
            field=models.CharField(choices=[('moments', 'Moments'), ('durations', 'Durations'), ('queries', 'Queries'), ('film', 'Film'), ('benchmark', 'Benchmark'), ('run', 'Run')], max_length=10),
        ),
    ]
