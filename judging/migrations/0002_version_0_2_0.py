"""What 0.2.0 adds to judging: an order and numbers of queries, hidden checks, questions, actions, reused grades."""

import hashlib
from itertools import groupby

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models
from django.db.models import Exists, Max, OuterRef, Q, Subquery

from base.database import DELETE, UPDATE, refuse, refuse_no_longer

CLAIMED = ('pool', 'study')
QUERIES_AT_A_TIME = 500
LAST = 5
COUNTS = ('pairs', 'settled', 'contested', 'discarded', 'flagged')
COLUMNS = ('query', 'batch__number', 'rank', 'similarity', 'outcome', 'escalated', 'grade')


def move(apps, editor):
    """Fill the new columns, and check the keys of their rows: PostgreSQL alters no table while that is put off."""
    for fill_some in (limit_open_assignments, count_hidden, draw_places, mark_begun, tell_withdrawn_apart, summarize):
        fill_some(apps)
    editor.connection.check_constraints()


def limit_open_assignments(apps):
    """Give the assignments that are being judged the limits that they would have got when they were claimed."""
    Assignment, Candidate = apps.get_model('judging', 'Assignment'), apps.get_model('judging', 'Candidate')
    for held in Assignment.objects.filter(state='live').select_related('batch__query__campaign'):
        campaign = held.batch.query.campaign
        moments = {pair.pk: pair.moment for pair in Candidate.objects.filter(pk__in=held.places).select_related('moment')}
        lengths = [moments[place].end - moments[place].start + 2 * campaign.padding for place in held.places]
        limits = [campaign.paid_plays * length + campaign.paid_beyond for length in lengths]
        Assignment.objects.filter(pk=held.pk).update(limits=limits)


def count_hidden(apps):
    """Of a check that was a batch of its own, all places held copies."""
    Assignment = apps.get_model('judging', 'Assignment')
    checks = Assignment.objects.filter(batch__kind='check').only('places')
    for assignment in checks.iterator(chunk_size=2000):
        Assignment.objects.filter(pk=assignment.pk).update(hidden=len(assignment.places))


def draw_places(apps):
    """Draw a place for each query, and give it to its batches."""
    Query, Batch = apps.get_model('judging', 'Query'), apps.get_model('judging', 'Batch')
    queries = Query.objects.filter(kind__in=CLAIMED).only('query_id', 'campaign')
    seeds = dict(apps.get_model('campaigns', 'Campaign').objects.values_list('pk', 'order_seed'))
    keys = list(queries.order_by('pk').values_list('pk', flat=True))
    for first in range(0, len(keys), QUERIES_AT_A_TIME):
        some = list(queries.filter(pk__in=keys[first : first + QUERIES_AT_A_TIME]))
        for query in some:
            query.place = place(seeds[query.campaign_id], query.query_id)
        Query.objects.bulk_update(some, ['place'])
    of_query = Query.objects.filter(pk=OuterRef('query')).values('place')
    Batch.objects.filter(kind__in=CLAIMED).update(place=Subquery(of_query))


def place(seed, query_id):
    digest = hashlib.sha256(f'{seed} {query_id}'.encode()).digest()
    return (int.from_bytes(digest[:8]) >> 11) / 2**53


def mark_begun(apps):
    """Mark the batches of queries of which a batch was ever handed out."""
    Batch, Assignment = apps.get_model('judging', 'Batch'), apps.get_model('judging', 'Assignment')
    begun = Assignment.objects.filter(batch__query=OuterRef('query'))
    Batch.objects.filter(Q(Exists(begun)) | Q(taken__gt=0) | Q(round=2)).update(begun=True)


def tell_withdrawn_apart(apps):
    """Withdrawn queries that somebody had judged count as withdrawn for what judging them showed."""
    Query, Judgement = apps.get_model('judging', 'Query'), apps.get_model('judging', 'Judgement')
    judged = Exists(Judgement.objects.filter(candidate__query=OuterRef('pk')))
    withdrawn = Query.objects.filter(withdrawn__isnull=False)
    withdrawn.filter(judged).update(withdrawn_for='judged')
    withdrawn.filter(withdrawn_for='').update(withdrawn_for='query')


def summarize(apps):
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
        ('judging', '0001_initial'),
        ('campaigns', '0002_version_0_2_0'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='query',
            name='gold_and_repeats',
        ),
        migrations.RemoveField(
            model_name='query',
            name='owner',
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
            name='group',
            field=models.CharField(blank=True, help_text='whose annotators judge it in round one; empty: everybody', max_length=40),
        ),
        migrations.AddField(
            model_name='query',
            name='priority',
            field=models.PositiveSmallIntegerField(choices=[(1, 'first'), (2, 'as usual'), (3, 'last')], default=2, help_text='one for all queries of its split and stratum'),
        ),
        migrations.AddField(
            model_name='query',
            name='withdrawn_for',
            field=models.CharField(blank=True, choices=[('query', 'what the query is'), ('judged', 'what judging it showed')], max_length=10),
        ),
        migrations.AddField(
            model_name='query',
            name='pairs',
            field=models.PositiveSmallIntegerField(default=0, help_text='candidates in batches'),
        ),
        migrations.AddField(
            model_name='query',
            name='settled',
            field=models.PositiveSmallIntegerField(default=0),
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
            name='ranked',
            field=models.PositiveIntegerField(default=0, help_text='the last rank of its ranking'),
        ),
        migrations.AddField(
            model_name='query',
            name='similarity',
            field=models.FloatField(help_text='of rank 1', null=True),
        ),
        migrations.AddField(
            model_name='query',
            name='changed',
            field=models.DateTimeField(help_text='when somebody last submitted a batch of it', null=True),
        ),
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
            model_name='batch',
            name='group',
            field=models.CharField(blank=True, help_text='of its query', max_length=40),
        ),
        migrations.AddField(
            model_name='batch',
            name='priority',
            field=models.PositiveSmallIntegerField(default=2, help_text='of its query'),
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
            model_name='assignment',
            name='limits',
            field=models.JSONField(default=list, help_text='the active seconds that one press may count, for each place'),
        ),
        migrations.AddField(
            model_name='assignment',
            name='hidden',
            field=models.PositiveSmallIntegerField(default=0, help_text='places with copies or distractors, which count for no consensus'),
        ),
        migrations.AddField(
            model_name='assignment',
            name='turn',
            field=models.PositiveSmallIntegerField(default=0, help_text='0: the batch in hand; from 1 on, those loaded ahead, in their order'),
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
            constraint=models.UniqueConstraint(condition=models.Q(('joined_to', None), ('state', 'live')), fields=('annotator', 'turn'), name='one_live_assignment_per_annotator_and_turn'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(('turn__lte', 3)), name='few_assignments_are_loaded_ahead'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='slot',
            field=models.PositiveSmallIntegerField(help_text='1 or 2; none in exams, which any number of annotators may take', null=True),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('hidden__gt', 0), ('state', 'submitted')), fields=['annotator', 'submitted'], name='submitted_with_hidden_places'),
        ),
        migrations.RunPython(move, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='query',
            index=models.Index(fields=['campaign', 'kind', 'place'], name='queries_in_order'),
        ),
        migrations.AddConstraint(
            model_name='query',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ('pool', 'study')), ('place__gte', 0), ('place__isnull', False), ('place__lte', 1)), models.Q(models.Q(('kind__in', ('pool', 'study')), _negated=True), ('place__isnull', True)), _connector='OR'), name='claimed_queries_have_a_place'),
        ),
        migrations.AddConstraint(
            model_name='query',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('withdrawn__isnull', True), ('withdrawn_for', '')), models.Q(('withdrawn__isnull', False), ('withdrawn_for__in', ['query', 'judged'])), _connector='OR'), name='withdrawn_for_something'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['campaign', 'free', 'priority', '-begun', 'place', 'id'], name='batches_in_order'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ('pool', 'study')), ('place__isnull', False)), models.Q(models.Q(('kind__in', ('pool', 'study')), _negated=True), ('place__isnull', True)), _connector='OR'), name='claimed_batches_have_a_place'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('begun', True), models.Q(('round', 1), ('taken', 0)), _connector='OR'), name='what_is_taken_has_begun'),
        ),
        migrations.AlterField(
            model_name='candidate',
            name='repeats',
            field=models.ForeignKey(help_text='the pair of which this is a copy, in a check', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.candidate'),
        ),
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
        migrations.AddField(
            model_name='revision',
            name='reported',
            field=models.FloatField(help_text='active seconds that the browser measured', null=True),
        ),
        migrations.AlterField(
            model_name='revision',
            name='seconds',
            field=models.FloatField(help_text='those of them that count: within the limit of a press and the clock', null=True),
        ),
        migrations.AddField(
            model_name='flag',
            name='reopening',
            field=models.ForeignKey(help_text='the reopening that handled it', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='flags', to='judging.reopening'),
        ),
        migrations.AddField(
            model_name='flag',
            name='reported',
            field=models.FloatField(help_text='active seconds that the browser measured', null=True),
        ),
        migrations.AlterField(
            model_name='flag',
            name='seconds',
            field=models.FloatField(help_text='those of them that count: within the limit of a press and the clock', null=True),
        ),
        migrations.AddField(
            model_name='adjudication',
            name='reopening',
            field=models.ForeignKey(help_text='the reopening that undid it', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to='judging.reopening'),
        ),
        migrations.AddField(
            model_name='review',
            name='reopening',
            field=models.ForeignKey(help_text='the reopening that undid it', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='judging.reopening'),
        ),
        # SQLite copies these three tables, and the copies have no triggers: they are made anew.
        refuse_no_longer('judging_judgement', DELETE),
        migrations.AlterField(
            model_name='judgement',
            name='annotator',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgements', to='campaigns.membership'),
        ),
        migrations.AddIndex(
            model_name='judgement',
            index=models.Index(fields=['annotator', 'id'], name='judgements_newest_last'),
        ),
        migrations.AddField(
            model_name='judgement',
            name='is_doubtful',
            field=models.BooleanField(db_default=False, default=False, help_text='as in the last revision'),
        ),
        refuse('judging_judgement', DELETE),
        refuse_no_longer('judging_revision', UPDATE, DELETE),
        migrations.AddField(
            model_name='revision',
            name='is_doubtful',
            field=models.BooleanField(db_default=False, default=False, help_text='whether the annotator hesitated between two grades; it counts nowhere'),
        ),
        refuse('judging_revision', UPDATE, DELETE),
        refuse_no_longer('judging_reopening', UPDATE, DELETE),
        migrations.AddField(
            model_name='reopening',
            name='beside',
            field=models.ForeignKey(help_text='the co-judge, if it was the work beside one', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership'),
        ),
        migrations.AddField(
            model_name='reopening',
            name='off',
            field=models.BooleanField(default=False, help_text='whether it was only what differs much from the consensus'),
        ),
        migrations.AddField(
            model_name='reopening',
            name='week',
            field=models.CharField(blank=True, help_text='as 2026-W05, if it was the work of one week', max_length=8),
        ),
        migrations.AlterField(
            model_name='reopening',
            name='annotator',
            field=models.ForeignKey(help_text='the annotator, if their work was reopened', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership'),
        ),
        refuse('judging_reopening', UPDATE, DELETE),
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
        migrations.CreateModel(
            name='Practice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('began', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='when its clock began')),
                ('grade', models.PositiveSmallIntegerField(help_text='null until it is answered', null=True)),
                ('at', models.DateTimeField(help_text='when it was answered', null=True)),
                ('reported', models.FloatField(help_text='active seconds that the browser measured', null=True)),
                ('seconds', models.FloatField(help_text='those of them that count: within the limit of a press and the clock', null=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='practices', to='campaigns.membership')),
                ('candidate', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.candidate')),
                ('example', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='judging.example')),
            ],
            options={
                'ordering': ['pk'],
                'indexes': [models.Index(fields=['annotator', 'at'], name='practice_in_its_time')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('at__isnull', True)), fields=('annotator',), name='one_clip_is_practised_at_a_time'), models.CheckConstraint(condition=models.Q(models.Q(('at__isnull', True), ('grade__isnull', True), ('seconds__isnull', True)), models.Q(('at__isnull', False), ('grade__in', [0, 1, 2, 3, 4])), _connector='OR'), name='practised_grade_from_0_to_4'), models.CheckConstraint(condition=models.Q(('seconds__isnull', True), ('seconds__gte', 0), _connector='OR'), name='practised_seconds_are_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(max_length=1000)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('handled', models.DateTimeField(help_text='when a lead answered it or put it aside', null=True)),
                ('key', models.UUIDField(help_text="the browser's idempotency key", unique=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='campaigns.membership')),
                ('answer', models.ForeignKey(help_text="a lead's answer", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='campaigns.message')),
                ('candidate', models.ForeignKey(help_text='the pair that it is about', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='judging.candidate')),
                ('assignment', models.ForeignKey(help_text='in which it was asked', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='judging.assignment')),
                ('place', models.ForeignKey(help_text='the pair, or the copy of it, in whose place it was asked', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.candidate')),
                ('handled_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
                ('letter', models.ForeignKey(help_text='the message that it answers', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replies', to='campaigns.message')),
                ('query', models.ForeignKey(help_text='that it is about', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='judging.query')),
            ],
            options={
                'ordering': ['at', 'pk'],
                'indexes': [models.Index(condition=models.Q(('handled__isnull', True)), fields=['annotator'], name='questions_that_wait')],
                'constraints': [models.CheckConstraint(condition=models.Q(('candidate__isnull', True), ('query__isnull', False), _connector='OR'), name='a_pair_has_a_query'), models.CheckConstraint(condition=models.Q(('answer__isnull', True), ('handled__isnull', False), _connector='OR'), name='what_is_answered_is_handled')],
            },
        ),
        migrations.AddField(
            model_name='sitting',
            name='is_paid',
            field=models.BooleanField(default=False, help_text='as the annotator read before the round began'),
        ),
        migrations.CreateModel(
            name='ListTime',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('reported', models.FloatField(help_text='active seconds that the browser measured')),
                ('seconds', models.FloatField(help_text='those of them that count: within the limit of a press and the clock')),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='list_times', to='judging.assignment')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('seconds__gte', 0)), name='seconds_in_the_list_are_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.TextField(help_text="in the lead's words", max_length=1000)),
                ('answer', models.TextField(max_length=2000)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('taken_back', models.DateTimeField(null=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='kept_answers', to='campaigns.campaign')),
                ('source', models.ForeignKey(help_text='as an annotator wrote it, for leads only', on_delete=django.db.models.deletion.PROTECT, related_name='kept', to='judging.question')),
                ('taken_back_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
            ],
            options={
                'ordering': ['at', 'pk'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('taken_back__isnull', True)), fields=('source',), name='a_question_is_kept_once')],
            },
        ),
        migrations.CreateModel(
            name='Action',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('verb', models.CharField(max_length=20)),
                ('argument', models.CharField(blank=True, help_text="what some verbs need, such as a group's name", max_length=100)),
                ('chosen', models.CharField(blank=True, help_text='the filters that chose the rows, in words', max_length=500)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='when it was prepared')),
                ('begun', models.DateTimeField(help_text='when the lead said to go on; nothing happens before', null=True)),
                ('ended', models.DateTimeField(null=True)),
                ('undone', models.DateTimeField(help_text='when a lead said to undo it', null=True)),
                ('undone_ended', models.DateTimeField(null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='actions', to='campaigns.campaign')),
                ('reopening', models.OneToOneField(help_text='what it reopens, if it does', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='action', to='judging.reopening')),
                ('lead', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='actions', to='campaigns.membership')),
                ('undone_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('ended', None), ('begun__isnull', False), _connector='OR'), name='what_has_ended_was_begun'), models.CheckConstraint(condition=models.Q(('undone', None), ('ended__isnull', False), _connector='OR'), name='what_is_undone_has_ended')],
            },
        ),
        migrations.CreateModel(
            name='ActionRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('row', models.BigIntegerField(help_text='the primary key of a query, or of a membership')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('left', 'left as it was'), ('undone', 'Undone'), ('kept', 'not undone')], default='waiting', max_length=10)),
                ('made', models.BigIntegerField(help_text='the primary key of what the verb made, such as a review', null=True)),
                ('before', models.JSONField(help_text='what the verb replaced, by which it is undone', null=True)),
                ('why', models.CharField(blank=True, help_text='why it was left, or not undone', max_length=500)),
                ('action', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='judging.action')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('action', 'row'), name='a_row_is_in_an_action_once')],
            },
        ),
    ]
