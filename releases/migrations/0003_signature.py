"""A release keeps its signature."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('releases', '0002_sample'),
    ]

    operations = [
        migrations.AddField(
            model_name='release',
            name='signature',
            field=models.TextField(blank=True, help_text='as minisign checks it; empty if it was frozen without a key'),
        ),
    ]
