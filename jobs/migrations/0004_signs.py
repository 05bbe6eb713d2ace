"""A worker leaves a sign of life for each lane. Those that were there say nothing of lanes."""

from django.db import migrations, models

LANES = [('quick', 'Quick'), ('judging', 'Judging'), ('long', 'Long')]


class Migration(migrations.Migration):

    dependencies = [('jobs', '0003_lanes_and_parts')]

    operations = [
        migrations.RunSQL('DELETE FROM jobs_sign', migrations.RunSQL.noop),
        migrations.AlterField('sign', 'worker', models.CharField(max_length=100)),
        migrations.AddField(
            'sign', 'lane', models.CharField(choices=LANES, default='long', max_length=10), preserve_default=False
        ),
        migrations.AddConstraint(
            'sign', models.UniqueConstraint(fields=['worker', 'lane'], name='one_sign_per_worker_and_lane')
        ),
    ]
