"""Grades that are reused from an earlier campaign: rows of their own, and an outcome of their own."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from base.database import DELETE, UPDATE, refuse


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0010_reuse'),
        ('judging', '0012_undone_reopenings'),
    ]

    operations = [
        migrations.AlterField(
            model_name='candidate',
            name='outcome',
            field=models.CharField(choices=[('open', 'Open'), ('contested', 'Contested'), ('settled', 'Settled'), ('discarded', 'Discarded'), ('flagged', 'Flagged'), ('adjudicated', 'Adjudicated'), ('reused', 'Reused')], default='open', max_length=20),
        ),
        migrations.RemoveConstraint(
            model_name='candidate',
            name='final_grade_exactly_when_settled',
        ),
        migrations.AddConstraint(
            model_name='candidate',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('grade__isnull', False), ('grade__lte', 4), ('outcome__in', ('settled', 'reused', 'adjudicated'))), models.Q(models.Q(('outcome__in', ('settled', 'reused', 'adjudicated')), _negated=True), ('grade__isnull', True)), _connector='OR'), name='final_grade_exactly_when_settled'),
        ),
        migrations.CreateModel(
            name='ReusedGrade',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('overlap', models.FloatField(help_text='intersection over union of the two moments')),
                ('grade', models.PositiveSmallIntegerField(help_text='the consensus')),
                ('grades', models.JSONField(help_text='of the judgements that it rests on')),
                ('rule', models.CharField(help_text='the version of the consensus', max_length=40)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('candidate', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='reuse', to='judging.candidate')),
                ('source', models.ForeignKey(help_text='the candidate that was judged', on_delete=django.db.models.deletion.PROTECT, related_name='reused_by', to='judging.candidate')),
            ],
            options={
                'ordering': ['candidate'],
                'constraints': [models.CheckConstraint(condition=models.Q(('grade__in', [0, 1, 2, 3, 4])), name='reused_grade_from_0_to_4'), models.CheckConstraint(condition=models.Q(('overlap__gte', 0.9), ('overlap__lte', 1)), name='reused_of_nearly_the_same_moment'), models.CheckConstraint(condition=models.Q(('candidate', models.F('source')), _negated=True), name='reused_of_another_candidate')],
            },
        ),
        refuse('judging_reusedgrade', UPDATE, DELETE),
    ]
