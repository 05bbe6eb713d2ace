"""Indexes: an annotator's judgements in their order, and submitted assignments with hidden places."""

import django.db.models.deletion
from django.db import migrations, models

from base.database import DELETE, refuse, refuse_no_longer


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0011_pool_depth'),
        ('judging', '0013_reused_grades'),
    ]

    operations = [
        # On SQLite a field is changed by copying its table, without its triggers.
        refuse_no_longer('judging_judgement', DELETE),
        migrations.AlterField(
            model_name='judgement',
            name='annotator',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgements', to='campaigns.membership'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('hidden__gt', 0), ('state', 'submitted')), fields=['annotator', 'submitted'], name='submitted_with_hidden_places'),
        ),
        migrations.AddIndex(
            model_name='judgement',
            index=models.Index(fields=['annotator', 'id'], name='judgements_newest_last'),
        ),
        refuse('judging_judgement', DELETE),
    ]
