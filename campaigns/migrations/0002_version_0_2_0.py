"""What 0.2.0 adds to campaigns: settings, limits of members, links for several, and a log. Webhooks were the API's."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Greatest, Round

from base.database import DELETE, UPDATE, refuse

ROWS_AT_A_TIME = 2000
KINDS = {
    'qualified': 'waiver',
    'paused': 'member',
    'resumed': 'member',
    'left': 'member',
    'handed over': 'member',
    'role': 'member',
    'opened': 'opened',
    'steered': 'steering',
}  # of the events of members that leads made
VERDICTS = {'second': 'Open the second batch', 'close': 'Close the query'}


def move(apps, editor):
    """Fill what is new, and empty the cache."""
    places_of_rate(apps)
    fill_log(apps)
    empty_cache(apps)


def places_of_rate(apps):
    """Let each campaign with checks keep about as many of them."""
    with_checks = apps.get_model('campaigns', 'Campaign').objects.filter(check_rate__gt=0)
    of_batch = Greatest(Round(F("check_rate") * F("batch_size")), 1.0)
    with_checks.update(hidden_places=of_batch)


def fill_log(apps):
    """Make entries of what is on record."""
    models = {
        name: apps.get_model(label)
        for name, label in (
            ('event', 'campaigns.Event'),
            ('guideline', 'campaigns.Guideline'),
            ('invitation', 'campaigns.Invitation'),
            ('review', 'judging.Review'),
            ('reopening', 'judging.Reopening'),
            ('adjudication', 'judging.Adjudication'),
            ('release', 'releases.Release'),
        )
    }
    LogEntry = apps.get_model('campaigns', 'LogEntry')
    rows = sorted(found(models), key=lambda row: row[0])
    columns = ('at', 'campaign_id', 'by_id', 'kind', 'what', 'before', 'after')
    for first in range(0, len(rows), ROWS_AT_A_TIME):
        some = rows[first : first + ROWS_AT_A_TIME]
        entries = []
        for row in some:
            values = dict(zip(columns, row, strict=True))
            entries.append(LogEntry(**values | {'what': values['what'][:500], 'after': values['after'][:2000]}))
        LogEntry.objects.bulk_create(entries)


def found(models):
    events = models['event'].objects.filter(by__isnull=False, kind__in=KINDS).select_related('member')
    for each in events:
        what = f'{each.member.role} {each.member.worker}'
        yield each.at, each.member.campaign_id, each.by_id, KINDS[each.kind], what, '', f'{each.kind}: {each.reason}'
    for each in models['guideline'].objects.filter(by__isnull=False):
        before = f'version {each.version - 1}'
        yield each.at, each.campaign_id, each.by_id, 'guideline', 'the guideline', before, f'version {each.version}'
    for each in models['invitation'].objects.filter(by__isnull=False):
        whom = ' '.join(text for text in (each.name, each.address) if text)
        whom = whom or (f'a link for {each.places} people' if each.places else 'a link for one person')
        yield each.at, each.campaign_id, each.by_id, 'invitation', whom, '', each.role
    yield from reviews(models['review'])
    for each in models['reopening'].objects.all():
        yield each.at, each.campaign_id, each.lead_id, 'reopening', each.what, '', each.reason
    for each in models['adjudication'].objects.select_related('candidate__query'):
        candidate = each.candidate
        what, campaign = f'rank {candidate.rank} of “{candidate.query.text}”', candidate.query.campaign_id
        yield each.at, campaign, each.lead_id, 'adjudication', what, each.before, f'{each.grade}: {each.reason}'
        if each.undone and each.undone_by_id:
            yield each.undone, campaign, each.undone_by_id, 'adjudication-undone', what, str(each.grade), each.before
    for each in models['release'].objects.all():
        yield each.at, each.campaign_id, each.by_id, 'release', f'release {each.version}', '', each.licence


def reviews(model):
    for each in model.objects.select_related('batch__query'):
        batch, verdict = each.batch, VERDICTS[each.verdict]
        what = f'batch {batch.number} of “{batch.query.text}”'
        if each.lead_id:
            reason = f': {each.reason}' if each.reason else ''
            yield each.at, batch.campaign_id, each.lead_id, 'review', what, '', f'{verdict}{reason}'
        if each.undone and each.undone_by_id:
            yield each.undone, batch.campaign_id, each.undone_by_id, 'review-undone', what, verdict, ''


def empty_cache(apps):
    """Delete the counts of attempts and the used codes, which were pickles. `upgrade` has noted its backup as JSON."""
    apps.get_model('campaigns', 'CacheEntry').objects.exclude(cache_key__endswith=':newest-backup').delete()


def moved(table):
    """Return the operation that takes over a table of the API."""
    return migrations.RunSQL(
        f'ALTER TABLE api_{table} RENAME TO campaigns_{table}', f'ALTER TABLE campaigns_{table} RENAME TO api_{table}'
    )


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0001_initial'),
        ('api', '0001_initial'),
        ('judging', '0001_initial'),
        ('releases', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='paid_plays',
            field=models.PositiveSmallIntegerField(default=3, help_text='plays of the clip that one press may count'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='paid_beyond',
            field=models.PositiveSmallIntegerField(default=60, help_text='seconds beyond these plays that one press may count'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='hidden_places',
            field=models.PositiveSmallIntegerField(default=0, help_text='places of each batch that hold quiet checks; 0 for no checks'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='mixes_queries',
            field=models.BooleanField(default=False, help_text='whether contested pairs of several queries make one batch of round two'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='has_groups',
            field=models.BooleanField(default=False, help_text='whether queries are for groups of annotators'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='week_quota',
            field=models.PositiveIntegerField(blank=True, help_text='judgements of all annotators in a week, at most', null=True),
        ),
        migrations.AddField(
            model_name='campaign',
            name='held_back',
            field=models.CharField(blank=True, help_text='split whose grades only leads see; empty if none is held back', max_length=20),
        ),
        migrations.AddField(
            model_name='campaign',
            name='held_back_runs',
            field=models.PositiveSmallIntegerField(default=3, help_text='runs of one person that are scored on the held-back split, at most'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='public_board',
            field=models.BooleanField(default=False, help_text='whether everybody may see the leaderboard'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='runs_a_day',
            field=models.PositiveSmallIntegerField(blank=True, help_text='runs of one researcher on a day, at most; empty for no limit', null=True),
        ),
        migrations.AddField(
            model_name='campaign',
            name='reuses',
            field=models.ForeignKey(blank=True, help_text='the earlier campaign over the corpus whose grades it reuses', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.campaign'),
        ),
        migrations.AddField(
            model_name='membership',
            name='group',
            field=models.CharField(blank=True, help_text='of annotators; empty if in none', max_length=40),
        ),
        migrations.AddField(
            model_name='membership',
            name='most_a_day',
            field=models.PositiveIntegerField(help_text='judgements on a day, at most; null for no limit', null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='most_a_week',
            field=models.PositiveIntegerField(help_text='judgements in a week, at most; null for no limit', null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='most_in_all',
            field=models.PositiveIntegerField(help_text='judgements, at most; null for no limit', null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='waits',
            field=models.DateTimeField(help_text='since when the annotator waits to be told that there is work', null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='digest_sent',
            field=models.DateField(help_text='the last day of which the lead had that mail', null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='digest_site',
            field=models.CharField(blank=True, help_text="where the links of the lead's daily mail lead; empty for no such mail", max_length=200),
        ),
        migrations.RemoveConstraint(
            model_name='invitation',
            name='a_mailed_invitation_has_a_seed',
        ),
        migrations.AddField(
            model_name='invitation',
            name='by_hand',
            field=models.BooleanField(default=False, help_text='whether a lead hands the link out, so that using it proves no address'),
        ),
        migrations.AddField(
            model_name='invitation',
            name='group',
            field=models.CharField(blank=True, help_text='of annotators, for who joins', max_length=40),
        ),
        migrations.AddField(
            model_name='invitation',
            name='places',
            field=models.PositiveSmallIntegerField(help_text='how many people can ask to join by it; empty if one person joins by it at once', null=True),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('address', ''), ('by_hand', False), ('seed', '')), models.Q(models.Q(models.Q(('address', ''), _negated=True), ('by_hand', True), _connector='OR'), models.Q(('seed', ''), _negated=True)), _connector='OR'), name='an_invitation_of_one_person_has_a_seed'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('places__isnull', True), models.Q(('places__gte', 1), ('seed', ''), ('used__isnull', True)), _connector='OR'), name='a_link_for_several_is_not_used_up'),
        ),
        migrations.AlterField(
            model_name='event',
            name='kind',
            field=models.CharField(choices=[('joined', 'Joined'), ('qualified', 'Qualified'), ('failed', 'failed the exam'), ('warned', 'Warned'), ('paused', 'Paused'), ('resumed', 'Resumed'), ('left', 'Left'), ('handed over', 'work handed over'), ('role', 'role changed'), ('opened', 'batch opened without all clips'), ('steered', 'work steered')], max_length=20),
        ),
        migrations.AddField(
            model_name='draft',
            name='reuses',
            field=models.ForeignKey(help_text='whose grades are reused', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='campaigns.campaign'),
        ),
        migrations.AddField(
            model_name='draft',
            name='pool_depth',
            field=models.PositiveSmallIntegerField(help_text='ranks of each run that become candidates; null unless a leaderboard is judged again', null=True),
        ),
        migrations.AddField(
            model_name='draft',
            name='leaves_out_unusable',
            field=models.BooleanField(db_default=False, default=False, help_text='moments of the file'),
        ),
        migrations.AlterField(
            model_name='upload',
            name='purpose',
            field=models.CharField(choices=[('moments', 'Moments'), ('durations', 'Durations'), ('queries', 'Queries'), ('film', 'Film'), ('benchmark', 'Benchmark'), ('run', 'Run')], max_length=10),
        ),
        migrations.CreateModel(
            name='LogEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('settings', 'Setting changed'), ('steering', 'Work steered'), ('review', 'Batch reviewed'), ('review-undone', 'Review undone'), ('reopening', 'Reopened'), ('reopening-undone', 'Reopening undone'), ('adjudication', 'Pair graded'), ('adjudication-undone', 'Grade taken back'), ('flag', 'Flag dealt with'), ('question', 'Question answered'), ('kept-answer', 'Answer kept for all'), ('withdrawal', 'Query withdrawn'), ('brought-back', 'Query brought back'), ('action', 'Done to many queries'), ('action-undone', 'Undone for many queries'), ('opened', 'Batch opened without clips'), ('exam', 'Exam made'), ('truth', 'Truth of the exam'), ('waiver', 'Exam waived or repeated'), ('member', 'Member changed'), ('invitation', 'Invited'), ('invitation-withdrawn', 'Invitation withdrawn'), ('applicant', 'Applicant decided'), ('guideline', 'Guideline changed'), ('example', 'Example changed'), ('message', 'Message sent'), ('pay', 'Hours approved'), ('export', 'Exported'), ('release', 'Release frozen'), ('webhook', 'Webhook changed')], max_length=25)),
                ('what', models.CharField(help_text='to what it was done, in words', max_length=500)),
                ('before', models.TextField(blank=True, help_text='what there was', max_length=2000)),
                ('after', models.TextField(blank=True, help_text='what there is since then', max_length=2000)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='log', to='campaigns.campaign')),
            ],
            options={
                'verbose_name_plural': 'log entries',
                'ordering': ['-pk'],
                'indexes': [models.Index(fields=['campaign', 'kind'], name='campaigns_l_campaig_08e601_idx'), models.Index(fields=['campaign', 'at'], name='campaigns_l_campaig_0c2377_idx')],
            },
        ),
        migrations.RunPython(move, migrations.RunPython.noop),
        refuse('campaigns_logentry', UPDATE, DELETE),
        migrations.RemoveConstraint(
            model_name='campaign',
            name='checks_are_few_or_none',
        ),
        migrations.RemoveField(
            model_name='campaign',
            name='check_rate',
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('hidden_places__lte', 10)), name='hidden_places_are_few'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('paid_beyond__lte', 120), ('paid_plays__gte', 1), ('paid_plays__lte', 20)), name='a_press_counts_minutes_at_most'),
        ),
        migrations.CreateModel(
            name='Applicant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('approved', models.BooleanField(help_text="a lead's decision; empty while the person waits for it", null=True)),
                ('decided', models.DateTimeField(null=True)),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
                ('invitation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='applicants', to='campaigns.invitation')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='applications', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['at', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('invitation', 'user'), name='nobody_asks_twice_by_one_link'), models.CheckConstraint(condition=models.Q(models.Q(('approved__isnull', True), ('decided__isnull', True)), models.Q(('approved__isnull', False), ('decided__isnull', False)), _connector='OR'), name='a_decision_has_its_time')],
            },
        ),
        migrations.CreateModel(
            name='Preferences',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('changed_keys', models.JSONField(default=dict, help_text='keys that are not the usual ones, by what they do')),
                ('goal', models.PositiveSmallIntegerField(help_text='clips that the person wants to judge in a day', null=True)),
                ('suggests_breaks', models.BooleanField(default=True)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='preferences', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'preferences',
                'constraints': [models.CheckConstraint(condition=models.Q(('goal__range', (1, 5000))), name='goal_of_one_clip_to_thousands')],
            },
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[moved('webhook'), moved('delivery')],
            state_operations=[
                migrations.CreateModel(
                    name='Webhook',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('address', models.CharField(max_length=500)),
                        ('events', models.JSONField(default=list, help_text='names of the events that are sent')),
                        ('secret', models.TextField(help_text='signs what is sent; encrypted by SECRET_KEY')),
                        ('made', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                        ('enabled', models.BooleanField(default=True, help_text='whether it is told anything')),
                        ('by', models.ForeignKey(help_text='empty if it was made in the terminal', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='campaigns.membership')),
                        ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='campaigns.campaign')),
                    ],
                ),
                migrations.CreateModel(
                    name='Delivery',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('event', models.CharField(help_text='what happened, or a test', max_length=20)),
                        ('body', models.TextField(help_text='JSON as it is sent and signed')),
                        ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
                        ('tries', models.PositiveSmallIntegerField(default=0)),
                        ('status', models.PositiveSmallIntegerField(help_text='of the last answer', null=True)),
                        ('error', models.CharField(blank=True, help_text='why the last attempt came to nothing', max_length=300)),
                        ('delivered', models.DateTimeField(null=True)),
                        ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='campaigns.webhook')),
                    ],
                    options={
                        'verbose_name_plural': 'deliveries',
                        'ordering': ['-pk'],
                    },
                ),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel('FirstLink'),
                migrations.DeleteModel('Token'),
                migrations.DeleteModel('Preferences'),
            ],
        ),  # accounts has them, in the same tables
    ]
