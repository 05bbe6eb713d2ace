"""What 0.2.0 adds to campaigns: settings, limits of members, links for several, and a log. Webhooks were the API's."""

import campaigns.models.campaign
import django.core.validators
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
            name='opens_without_films',
            field=models.BooleanField(db_default=True, default=True, help_text='whether batches open although there is no film for clips of them; false for campaigns that are made from a draft, until a lead decides so'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='paid_plays',
            field=models.PositiveSmallIntegerField(default=3, help_text='1 to 20. One press counts no more seconds than these plays take, and those below.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)], verbose_name='Plays of a clip that one press may count'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='paid_beyond',
            field=models.PositiveSmallIntegerField(default=60, help_text='0 to 120. The rest of what a browser reports is cut. A change holds for later claims.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(120)], verbose_name='Seconds beyond these plays'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='paid_exam',
            field=models.BooleanField(default=False, help_text='Annotators read this before they begin it. A change holds for rounds that begin later.', verbose_name='The exam is paid'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='hidden_places',
            field=models.PositiveSmallIntegerField(default=0, help_text='0 for no checks, up to 10. Every batch, also of round two, is then filled to one size.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(10)], verbose_name='Hidden places in each batch'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='mixes_queries',
            field=models.BooleanField(default=False, help_text='The query then changes within the batch. Otherwise hidden places fill it with clips of its own query.', verbose_name='Contested clips of several queries make one batch'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='has_groups',
            field=models.BooleanField(default=False, help_text='whether queries are for groups of annotators'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='week_quota',
            field=models.PositiveIntegerField(blank=True, help_text='Empty for no limit. Weeks begin on Monday. A batch is handed out while a whole one fits.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000000)], verbose_name='Judgements of all annotators in a week, at most'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='held_back',
            field=models.CharField(blank=True, help_text='split whose grades only leads see; empty if none is held back', max_length=20),
        ),
        migrations.AddField(
            model_name='campaign',
            name='held_back_runs',
            field=models.PositiveSmallIntegerField(default=3, help_text='Each person chooses which of their runs are scored there. More runs reveal more about its grades.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='Runs of a person on the held-back split, at most'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='public_board',
            field=models.BooleanField(default=False, help_text='Runs appear there only if their owners chose it. It names no query.', verbose_name='Everybody may see the leaderboard of listed runs'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='runs_a_day',
            field=models.PositiveSmallIntegerField(blank=True, help_text='Empty for no limit. Runs with faults do not count. Leads have no limit.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='Runs of a researcher on a day, at most'),
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
            field=models.PositiveIntegerField(blank=True, help_text='Judgements on a day, at most. Empty for no limit.', null=True, verbose_name='A day'),
        ),
        migrations.AddField(
            model_name='membership',
            name='most_a_week',
            field=models.PositiveIntegerField(blank=True, help_text='Judgements in a week, at most. Empty for no limit.', null=True, verbose_name='A week'),
        ),
        migrations.AddField(
            model_name='membership',
            name='most_in_all',
            field=models.PositiveIntegerField(blank=True, help_text='Judgements, at most. Empty for no limit.', null=True, verbose_name='In all'),
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
        migrations.AlterField(
            model_name='campaign',
            name='auto_close_below',
            field=models.FloatField(blank=True, help_text='Applies without you to batches that settle from now on. Empty: you decide.', null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(4)], verbose_name='Close the query automatically below a mean of'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='auto_second_from',
            field=models.FloatField(blank=True, help_text='Applies without you to batches that settle from now on. Empty: you decide.', null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(4)], verbose_name='Open the second batch automatically from a mean of'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='batch_size',
            field=models.PositiveSmallIntegerField(default=20, help_text='20 in the published method.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='Candidates in a batch'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='batches',
            field=models.PositiveSmallIntegerField(default=2, help_text='2 in the published method: ranks 1-20, then 21-40 where there is more to find.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(2)], verbose_name='Batches of a query, at most'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='check_pause',
            field=models.FloatField(default=0.4, help_text="Between 0 and 1, at least the warning's share. Work then stops until you decide.", validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='Pause from a share of missed checks of'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='check_warn',
            field=models.FloatField(default=0.25, help_text='Between 0 and 1. An annotator who misses this share of the checks gets a message.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='Warn from a share of missed checks of'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='currency',
            field=models.CharField(blank=True, help_text='Three letters of ISO 4217, like SGD, EUR or INR.', max_length=3, verbose_name='Currency'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='exam',
            field=models.BooleanField(default=False, help_text='New annotators take the exam first. You may let anybody work without it.', verbose_name='Annotators must pass the exam before they get work'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='exam_rounds',
            field=models.PositiveSmallIntegerField(default=3, help_text='Rounds in which missed pairs come back before the exam is failed, 1 to 10.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)], verbose_name='Rounds of the exam'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='hourly_rate',
            field=models.DecimalField(blank=True, decimal_places=2, help_text='Annotators see what they have earned. A new rate holds from today on.', max_digits=8, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(999999)], verbose_name='Pay for an hour'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='may_return',
            field=models.BooleanField(default=False, help_text='They know then that others disagreed. Their grades are asked again. Otherwise the batch waits.', verbose_name='Who began a batch may judge its contested clips if nobody else is left'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='order_seed',
            field=models.BigIntegerField(default=campaigns.models.campaign.random_seed, help_text='The order of clips and the draw of checks follow from this number. Annotators must not know it.', verbose_name='Seed of the order of clips'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='padding',
            field=models.FloatField(default=0, help_text='Time shown before and after each moment, 0 to 60. Annotators then see more than they grade.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(60)], verbose_name='Seconds around a moment'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='play_once',
            field=models.BooleanField(default=False, help_text='The keys 0-4 do nothing until the clip has played to its end.', verbose_name='A clip must play to its end before it is graded'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='second_from',
            field=models.FloatField(default=2.0, help_text="Mean grade of a batch's last five, 0 to 4. From here on the batch page recommends another.", validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(4)], verbose_name='Recommend a second batch from a mean of'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='sound',
            field=models.BooleanField(default=False, help_text='Annotators hear the clips where the videos have sound.', verbose_name='Clips have sound'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='title',
            field=models.CharField(blank=True, help_text='People see it instead of the short name.', max_length=200, verbose_name='Title'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='tolerance',
            field=models.PositiveSmallIntegerField(default=1, help_text='1 in the published method. A candidate whose grades differ by more goes to two other annotators.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(3)], verbose_name='Grades agree when they differ by at most'),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='watch_first',
            field=models.FloatField(default=0.4, help_text='0 to 10. A key that comes sooner grades nothing, so that a double press grades no clip unseen.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(10)], verbose_name='Seconds that a clip must move before it is graded'),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel('FirstLink'),
                migrations.DeleteModel('Token'),
                migrations.DeleteModel('Preferences'),
            ],
        ),  # accounts has them, in the same tables
    ]
