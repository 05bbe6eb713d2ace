"""Queries and batches keep numbers of their candidates, for lists that sort and filter by them."""

from itertools import groupby

from django.db import migrations, models
from django.db.models import Max

QUERIES_AT_A_TIME = 500
LAST = 5
CLAIMED = ('pool', 'study')
COUNTS = ('pairs', 'settled', 'contested', 'discarded', 'flagged')
COLUMNS = ('query', 'batch__number', 'rank', 'similarity', 'outcome', 'escalated', 'grade')


def summarize(apps, editor):
    """Compute the numbers from the candidates, some queries at a time."""
    Query, Batch = apps.get_model('judging', 'Query'), apps.get_model('judging', 'Batch')
    Candidate = apps.get_model('judging', 'Candidate')
    keys = list(Query.objects.filter(kind__in=CLAIMED).order_by('pk').values_list('pk', flat=True))
    for first in range(0, len(keys), QUERIES_AT_A_TIME):
        some = keys[first : first + QUERIES_AT_A_TIME]
        batches = list(Batch.objects.filter(query__in=some).defer('free'))
        last = dict(
            Batch.objects.filter(query__in=some).order_by().values_list('query').annotate(last=Max('assignments__submitted'))
        )
        rows = Candidate.objects.filter(query__in=some).order_by('query', 'rank').values_list(*COLUMNS)
        of_query = {query: list(rows) for query, rows in groupby(rows, lambda row: row[0])}
        batches.sort(key=lambda batch: (batch.query_id, batch.number))
        batches_of = {query: list(own) for query, own in groupby(batches, lambda batch: batch.query_id)}
        queries = list(Query.objects.filter(pk__in=some))
        for query in queries:
            pairs = of_query.get(query.pk, [])
            own = batches_of.get(query.pk, [])
            for batch in own:
                fill(batch, [pair for pair in pairs if pair[1] == batch.number])
            fill(query, [pair for pair in pairs if pair[1] is not None])
            query.last_mean = next((each.last_mean for each in reversed(own) if each.last_mean is not None), None)
            query.ranked = max((pair[2] for pair in pairs if pair[3] is not None), default=0)
            query.similarity = next((pair[3] for pair in pairs), None)
            query.changed = last.get(query.pk)
        Query.objects.bulk_update(queries, [*COUNTS, 'last_mean', 'ranked', 'similarity', 'changed'])
        Batch.objects.bulk_update(batches, [*COUNTS, 'last_mean'])


def fill(row, pairs):
    grades = [grade for *_, outcome, _, grade in pairs[-LAST:] if outcome == 'settled']
    row.pairs, row.contested = len(pairs), sum(escalated for *_, escalated, _ in pairs)
    for outcome in ('settled', 'discarded', 'flagged'):
        setattr(row, outcome, sum(pair[4] == outcome for pair in pairs))
    row.last_mean = sum(grades) / len(grades) if grades else None


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0007_no_owner_of_a_query'),
    ]

    operations = [
        migrations.AddField(
            model_name='batch',
            name='contested',
            field=models.PositiveSmallIntegerField(default=0, help_text='those that went to round two'),
        ),
        migrations.AddField(
            model_name='batch',
            name='discarded',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='batch',
            name='flagged',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='batch',
            name='last_mean',
            field=models.FloatField(help_text='of the final grades among the last five', null=True),
        ),
        migrations.AddField(
            model_name='batch',
            name='pairs',
            field=models.PositiveSmallIntegerField(default=0, help_text='candidates'),
        ),
        migrations.AddField(
            model_name='batch',
            name='settled',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='query',
            name='changed',
            field=models.DateTimeField(help_text='when somebody last submitted a batch of it', null=True),
        ),
        migrations.AddField(
            model_name='query',
            name='contested',
            field=models.PositiveSmallIntegerField(default=0, help_text='those that went to round two'),
        ),
        migrations.AddField(
            model_name='query',
            name='discarded',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='query',
            name='flagged',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='query',
            name='last_mean',
            field=models.FloatField(help_text='of the last five of its last batch with grades', null=True),
        ),
        migrations.AddField(
            model_name='query',
            name='pairs',
            field=models.PositiveSmallIntegerField(default=0, help_text='candidates in batches'),
        ),
        migrations.AddField(
            model_name='query',
            name='ranked',
            field=models.PositiveIntegerField(default=0, help_text='the last rank of its ranking'),
        ),
        migrations.AddField(
            model_name='query',
            name='settled',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='query',
            name='similarity',
            field=models.FloatField(help_text='of rank 1', null=True),
        ),
        migrations.RunPython(summarize, migrations.RunPython.noop),
    ]
