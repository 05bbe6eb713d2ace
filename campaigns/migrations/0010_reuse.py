"""The earlier campaign whose grades a campaign reuses."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0009_held_back'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='reuses',
            field=models.ForeignKey(blank=True, help_text='the earlier campaign over the corpus whose grades it reuses', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.campaign'),
        ),
        migrations.AddField(
            model_name='draft',
            name='reuses',
            field=models.ForeignKey(help_text='whose grades are reused', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='campaigns.campaign'),
        ),
    ]
