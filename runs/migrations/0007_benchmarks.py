"""The benchmark of a leaderboard that is judged again, and the scores of runs on it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0011_pool_depth'),
        ('runs', '0006_trainings'),
    ]

    operations = [
        migrations.AddField(
            model_name='scoring',
            name='on_benchmark',
            field=models.JSONField(default=dict, help_text='score and interval by each measure of the benchmark that is judged again; empty: none'),
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
    ]
