"""What estimates need: the ranked queries of a release, and what runs are predicted to score on them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0002_notices'),
    ]

    operations = [
        migrations.AddField(
            model_name='yardstick',
            name='ranked',
            field=models.JSONField(
                default=list,
                help_text='[place among the judged ones or null, in the sample, stratum] of each ranked query',
            ),
        ),
        migrations.AddField(
            model_name='yardstick',
            name='flaw',
            field=models.TextField(blank=True, default='', help_text='why the sample is not random'),
        ),
        migrations.AddField(
            model_name='score',
            name='predicted',
            field=models.BinaryField(null=True, help_text='of each ranked query by predicted grades: float32, packed'),
        ),
    ]
