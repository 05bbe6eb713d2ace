"""A worker's sign of life carries the version that it runs; an older version leaves signs without one."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('jobs', '0004_signs')]

    operations = [
        migrations.AddField(
            'sign',
            'version',
            models.CharField(
                db_default='', help_text='of Reeljudge that it runs; empty: an older one', max_length=40
            ),
        ),
    ]
