"""An assignment says how many of its places hold copies, whose judgements count for no consensus."""

import django.db.models.deletion
from django.db import migrations, models


def count_hidden(apps, editor):
    """Of a check that was a batch of its own, all places held copies."""
    Assignment = apps.get_model('judging', 'Assignment')
    checks = Assignment.objects.filter(batch__kind='check').only('places')
    for assignment in checks.iterator(chunk_size=2000):
        Assignment.objects.filter(pk=assignment.pk).update(hidden=len(assignment.places))


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0004_order_is_kept'),
        ('campaigns', '0003_hidden_places'),
    ]

    operations = [
        migrations.AddField(
            model_name='assignment',
            name='hidden',
            field=models.PositiveSmallIntegerField(default=0, help_text='places with copies, which count for no consensus'),
        ),
        migrations.AddField(
            model_name='assignment',
            name='joined_to',
            field=models.ForeignKey(help_text='that in whose places it is judged', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='joined', to='judging.assignment'),
        ),
        migrations.RemoveConstraint(
            model_name='assignment',
            name='one_live_assignment_per_annotator',
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('joined_to', None), ('state', 'live')), fields=('annotator',), name='one_live_assignment_per_annotator'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='slot',
            field=models.PositiveSmallIntegerField(help_text='1 or 2; none in exams, which any number of annotators may take', null=True),
        ),
        migrations.AlterField(
            model_name='candidate',
            name='repeats',
            field=models.ForeignKey(help_text='the pair of which this is a copy, in a check', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.candidate'),
        ),
        migrations.RunPython(count_hidden, migrations.RunPython.noop),
    ]
