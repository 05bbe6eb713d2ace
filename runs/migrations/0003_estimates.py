"""What estimates need: the ranked queries of a release, and what runs are predicted to score on them."""

import django.db.models.deletion
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
        migrations.CreateModel(
            name='Watch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('measure', models.CharField(max_length=80)),
                ('looks', models.JSONField(default=list, help_text='what each look found, the newest last')),
                ('looked', models.DateTimeField(null=True)),
                (
                    'run',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run'
                    ),
                ),
                (
                    'other',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run'
                    ),
                ),
            ],
            options={
                'verbose_name_plural': 'watches',
                'constraints': [
                    models.UniqueConstraint(
                        fields=('run', 'other', 'measure'), name='one_watch_of_a_difference'
                    )
                ],
            },
        ),
    ]
