"""Trainings have a lane of their own; those that wait already stay in the lane of long jobs."""

from django.db import migrations, models

LANES = [('quick', 'Quick'), ('judging', 'Judging'), ('long', 'Long'), ('training', 'Training')]


class Migration(migrations.Migration):

    dependencies = [('jobs', '0005_versions_of_workers')]

    operations = [
        migrations.AlterField(
            'job', 'lane', models.CharField(choices=LANES, db_default='long', default='long', max_length=10)
        ),
        migrations.AlterField('sign', 'lane', models.CharField(choices=LANES, max_length=10)),
    ]
