"""Each query has a place in a random order. What has begun is marked, and goes on before anything else begins."""

import hashlib

from django.db import migrations, models
from django.db.models import Exists, OuterRef, Q, Subquery

CLAIMED = ('pool', 'study')
AT_A_TIME = 1000


def draw_places(apps, editor):
    """Draw a place for each query, and give it to its batches."""
    Query, Batch = apps.get_model('judging', 'Query'), apps.get_model('judging', 'Batch')
    queries = Query.objects.filter(kind__in=CLAIMED).only('query_id', 'campaign')
    seeds = dict(apps.get_model('campaigns', 'Campaign').objects.values_list('pk', 'order_seed'))
    keys = list(queries.order_by('pk').values_list('pk', flat=True))
    for first in range(0, len(keys), AT_A_TIME):
        some = list(queries.filter(pk__in=keys[first : first + AT_A_TIME]))
        for query in some:
            query.place = place(seeds[query.campaign_id], query.query_id)
        Query.objects.bulk_update(some, ['place'])
    of_query = Query.objects.filter(pk=OuterRef('query')).values('place')
    Batch.objects.filter(kind__in=CLAIMED).update(place=Subquery(of_query))


def place(seed, query_id):
    digest = hashlib.sha256(f'{seed} {query_id}'.encode()).digest()
    return (int.from_bytes(digest[:8]) >> 11) / 2**53


def mark_begun(apps, editor):
    """Mark the batches of queries of which a batch was ever handed out."""
    Batch, Assignment = apps.get_model('judging', 'Batch'), apps.get_model('judging', 'Assignment')
    begun = Assignment.objects.filter(batch__query=OuterRef('query'))
    Batch.objects.filter(Q(Exists(begun)) | Q(taken__gt=0) | Q(round=2)).update(begun=True)


def tell_withdrawn_apart(apps, editor):
    """Withdrawn queries that somebody had judged count as withdrawn for what judging them showed."""
    Query, Judgement = apps.get_model('judging', 'Query'), apps.get_model('judging', 'Judgement')
    judged = Exists(Judgement.objects.filter(candidate__query=OuterRef('pk')))
    withdrawn = Query.objects.filter(withdrawn__isnull=False)
    withdrawn.filter(judged).update(withdrawn_for='judged')
    withdrawn.filter(withdrawn_for='').update(withdrawn_for='query')


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0002_pay_webhooks_cache'),
        ('judging', '0002_paid_seconds'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='batch',
            name='batches_in_order',
        ),
        migrations.AddField(
            model_name='batch',
            name='begun',
            field=models.BooleanField(default=False, help_text='whether it was handed out, or follows a batch of its query that was'),
        ),
        migrations.AddField(
            model_name='batch',
            name='place',
            field=models.FloatField(help_text='of its query', null=True),
        ),
        migrations.AddField(
            model_name='query',
            name='place',
            field=models.FloatField(help_text='in the random order in which queries are judged; null if annotators claim none', null=True),
        ),
        migrations.AddField(
            model_name='query',
            name='stratum',
            field=models.CharField(blank=True, help_text='the part of the captions that it was drawn from', max_length=200),
        ),
        migrations.AddField(
            model_name='query',
            name='withdrawn_for',
            field=models.CharField(blank=True, choices=[('query', 'what the query is'), ('judged', 'what judging it showed')], max_length=10),
        ),
        migrations.RunPython(draw_places, migrations.RunPython.noop),
        migrations.RunPython(mark_begun, migrations.RunPython.noop),
        migrations.RunPython(tell_withdrawn_apart, migrations.RunPython.noop),
    ]
