"""What 0.2.0 adds to jobs: a job names its row, its owner and its lane, and its kind has a code; a sign is of a lane."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone

CAMPAIGN, CORPUS, RELEASE = 'campaigns.Campaign', 'corpus.Corpus', 'releases.Release'
# The kinds of version 0.1.0, or of the key's first word where one kind was three: the code and label of now, the model
# of the rows, the path to the campaign or corpus that owns them, the path to the person whom they are for, and whether
# only leads see them and whether everybody may try them again.
KINDS = {
    'count a corpus': ('count-corpus', 'Count the corpus', CORPUS, 'pk', None, False, False),
    'count captions': ('count-captions', 'Count captions', CORPUS, 'pk', None, True, False),
    'draft the cast list': ('draft-cast', 'Draft the cast list', CORPUS, 'pk', None, True, False),
    'reword descriptions': ('reword-descriptions', 'Reword descriptions', CORPUS, 'pk', None, True, False),
    'index captions': ('index-captions', 'Index captions', CORPUS, 'pk', None, False, False),
    'cut a clip': ('cut-clip', 'Cut a clip', 'corpus.Clip', 'video__corpus', None, False, False),
    'cut clips': ('cut-clips', 'Cut clips', 'judging.Batch', 'query__campaign', None, False, False),
    'cut clips anew': ('cut-clips-anew', 'Cut clips anew', CAMPAIGN, 'pk', None, False, False),
    'rank candidates': ('rank-candidates', 'Rank candidates', CAMPAIGN, 'pk', None, False, False),
    'start study': ('start-study', 'Start the study', CAMPAIGN, 'pk', None, False, False),
    'count agreement': ('count-agreement', 'Count agreement', CAMPAIGN, 'pk', None, False, False),
    'reopen work': ('act', 'Act on many queries', 'judging.Action', 'campaign', None, True, False),
    'check a draft': ('check-draft', 'Check a draft', 'campaigns.Draft', None, 'owner', False, False),
    'make a campaign': ('make-campaign', 'Make a campaign', 'campaigns.Draft', None, 'owner', False, False),
    'store a corpus': ('store-corpus', 'Store a corpus', 'campaigns.Draft', None, 'owner', False, False),
    'draw queries': ('draw-queries', 'Draw queries', 'campaigns.Draft', None, 'owner', False, False),
    'tell a webhook': ('tell-webhook', 'Tell a webhook', 'campaigns.Delivery', 'webhook__campaign', None, True, False),
    'invitation': ('mail-invitation', 'Send an invitation', 'campaigns.Invitation', 'campaign', None, True, False),
    'reset': ('mail-new-password', 'Send the link for a new password', settings.AUTH_USER_MODEL, None, 'pk', False, False),
    'confirmation': (
        'mail-confirmation', 'Send the link that confirms an address', 'account.EmailAddress', None, 'user', False, False
    ),
    'freeze a release': ('freeze-release', 'Freeze a release', RELEASE, 'campaign', None, False, False),
    'verify a release': ('verify-release', 'Verify a release', RELEASE, 'campaign', None, False, False),
    'compare pools': ('compare-pools', 'Compare pools', RELEASE, 'campaign', None, False, False),
    'score runs': ('score-runs', 'Score runs', RELEASE, 'campaign', None, False, True),
    'resample annotators': ('resample-annotators', 'Resample annotators', RELEASE, 'campaign', None, False, True),
    'make a training set': (
        'make-training-set', 'Make a training set', 'releases.TrainingSet', 'campaign', None, False, False
    ),
    'receive a run': (
        'receive-run', 'Receive a run', 'runs.Submission', 'by__campaign', 'by__user', False, False
    ),
    'examine measures': ('examine-measures', 'Examine measures', 'runs.Inquiry', 'release__campaign', None, False, True),
    'propose moments to judge': (
        'propose-moments', 'Propose moments to judge', 'runs.Enlargement', 'campaign', None, False, False
    ),
    'open further batches': (
        'open-further-batches', 'Open further batches', 'runs.Enlargement', 'campaign', None, False, False
    ),
    'train a system': ('train-system', 'Train a system', 'runs.TrainedSystem', 'campaign', None, False, True),
    'search with a system': (
        'search-with-system', 'Search with a system', 'runs.SystemSearch', 'system__campaign', None, False, True
    ),
}
TRAIN_SIMCSE = {'kind': 'train-simcse', 'label': 'Train a SimCSE model'}
MAIL, ENCODE = 'send mail', 'encode a query'
MAIL_ARGUMENTS = ('site', 'language')  # the others, and those of most kinds, name the row
KEPT_ARGUMENTS = {'start study': ('plan',), 'reword descriptions': ('substitution',)}
UNKNOWN = 'version 0.2.0 does not know this kind of work; ask for it again where it was asked for'
LANES = [('quick', 'Quick'), ('judging', 'Judging'), ('long', 'Long'), ('training', 'Training')]
# The lanes of the kinds that were there; all others are long.
KINDS_OF_LANES = {
    'judging': ['cut-clip', 'cut-clips', 'cut-clips-anew', 'open-further-batches', 'act'],
    'quick': [
        'check-draft', 'draw-queries', 'encode-query', 'mail-confirmation', 'mail-invitation', 'mail-new-password',
        'receive-run', 'score-runs', 'tell-webhook',
    ],
}


def move(apps, editor):
    """Bring the jobs of before to the new columns."""
    make_actions_of_reopenings(apps)
    name_rows(apps)
    put_into_lanes(apps)


def make_actions_of_reopenings(apps):
    """Let an action go on with the work that is being reopened. Jobs that have ended tell nothing that is not stored."""
    Job, Reopening = apps.get_model('jobs', 'Job'), apps.get_model('judging', 'Reopening')
    Job.objects.filter(kind='reopen work', state='done').delete()
    for job in Job.objects.filter(kind='reopen work'):
        if record := Reopening.objects.filter(pk=job.key.partition(' ')[2]).first():
            about = {name: getattr(record, name) for name in ('campaign', 'lead', 'reason')}
            action = apps.get_model('judging', 'Action').objects.create(
                verb='reopen', chosen=record.what, begun=record.at, reopening=record, **about
            )
            Job.objects.filter(pk=job.pk).update(key=f'action {action.pk}')


def name_rows(apps):
    """Give jobs the codes, rows and owners of now. A waiting job of an unknown kind fails, and says why."""
    Job = apps.get_model('jobs', 'Job')
    Job.objects.filter(kind=ENCODE).delete()  # a search that still wants it asks again
    for job in Job.objects.filter(kind='train simcse'):
        Job.objects.filter(pk=job.pk).update(**TRAIN_SIMCSE, subject=job.key)
    for old in KINDS:
        of_mail = old in ('invitation', 'reset', 'confirmation')
        jobs = Job.objects.filter(kind=MAIL, key__startswith=f'{old} ') if of_mail else Job.objects.filter(kind=old)
        if jobs.exists():
            _name_rows_of_kind(apps, jobs, old, MAIL_ARGUMENTS if of_mail else KEPT_ARGUMENTS.get(old, ()))
    known = {code for code, *_ in KINDS.values()} | {TRAIN_SIMCSE['kind']}
    unknown = Job.objects.exclude(kind__in=known)
    unknown.update(label=models.F('kind'), subject=models.F('key'))
    unknown.filter(state__in=['waiting', 'running']).update(
        state='failed', error=UNKNOWN, lease=None, again=False, ended=timezone.now()
    )


def _name_rows_of_kind(apps, jobs, old, kept):
    """Name the rows of all jobs of a kind. Jobs about rows that are gone go too, as they do each hour."""
    code, label, model, owner, person, for_leads, by_members = KINDS[old]
    rows = apps.get_model(model)
    paths = [path if path == 'pk' else f'{path}__pk' for path in (owner, person) if path]
    found = {pk: rest for pk, *rest in rows._base_manager.values_list('pk', *paths)}
    pks = dict(rows._base_manager.values_list('name', 'pk')) if model == CAMPAIGN else {str(pk): pk for pk in found}
    owned_by = 'corpus' if model in (CORPUS, 'corpus.Clip') else 'campaign'
    changed, gone = [], []
    for job in jobs.iterator():
        pk = pks.get(job.key.partition(' ')[2])
        if pk is None:
            gone.append(job.pk)
            continue
        job.kind, job.label, job.row, job.subject, job.key = code, label, pk, job.key, ''
        job.for_leads, job.by_members = for_leads, by_members
        job.arguments = {name: job.arguments[name] for name in kept}
        job.owner = f'{owned_by} {found[pk][0]}' if owner else ''
        job.person_id = found[pk][-1] if person else None
        changed.append(job)
    fields = ['kind', 'label', 'row', 'subject', 'key', 'for_leads', 'by_members', 'arguments', 'owner', 'person']
    jobs.model.objects.bulk_update(changed, fields, batch_size=500)
    jobs.model.objects.filter(pk__in=gone).delete()


def put_into_lanes(apps):
    for lane, kinds in KINDS_OF_LANES.items():
        apps.get_model('jobs', 'Job').objects.filter(kind__in=kinds).update(lane=lane)


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0001_initial'),
        ('account', '0001_initial'),
        ('campaigns', '0002_version_0_2_0'),
        ('corpus', '0001_initial'),
        ('judging', '0002_version_0_2_0'),
        ('releases', '0001_initial'),
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(model_name='job', name='one_job_per_kind_and_key'),
        migrations.AlterField(
            model_name='job',
            name='key',
            field=models.CharField(blank=True, help_text='of several jobs about one row', max_length=200),
        ),
        migrations.AddField(
            model_name='job',
            name='row',
            field=models.BigIntegerField(default=0, help_text='primary key of what it is about; 0 if that is no row'),
        ),
        migrations.AddField(
            model_name='job',
            name='label',
            field=models.CharField(blank=True, default='', help_text='what kind of work it is', max_length=60),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='job',
            name='subject',
            field=models.CharField(blank=True, default='', help_text='what it is about', max_length=200),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='job',
            name='address',
            field=models.CharField(blank=True, default='', help_text='of the page about that', max_length=300),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='job',
            name='owner',
            field=models.CharField(blank=True, default='', help_text='such as campaign 7; empty: the site', max_length=40),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='job',
            name='for_leads',
            field=models.BooleanField(default=False, help_text='whether only leads see it'),
        ),
        migrations.AddField(
            model_name='job',
            name='by_members',
            field=models.BooleanField(default=False, help_text='whether whoever sees it may try it again'),
        ),
        migrations.AddField(
            model_name='job',
            name='person',
            field=models.ForeignKey(help_text='whom alone it is for', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='job',
            name='asked_by',
            field=models.ForeignKey(help_text='to whom it counts', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='job',
            name='lane',
            field=models.CharField(choices=LANES, db_default='long', default='long', max_length=10),
        ),
        migrations.AddField(
            model_name='job',
            name='urgent',
            field=models.BooleanField(db_default=False, default=False, help_text='whether somebody waits for it now'),
        ),
        migrations.AddField(
            model_name='job',
            name='is_part',
            field=models.BooleanField(db_default=False, default=False, help_text='of another job; then no list shows it'),
        ),
        migrations.AddField(
            model_name='job',
            name='result',
            field=models.BinaryField(help_text='what a part has returned, for those who share it', null=True),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(fields=('kind', 'row', 'key'), name='one_job_per_kind_row_and_key'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['owner', 'state'], name='jobs_job_owner_29cd18_idx'),
        ),
        migrations.RunPython(move, migrations.RunPython.noop),
        migrations.RunSQL('DELETE FROM jobs_sign', migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='sign',
            name='worker',
            field=models.CharField(max_length=100),
        ),
        migrations.AddField(
            model_name='sign',
            name='lane',
            field=models.CharField(choices=LANES, default='long', max_length=10),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='sign',
            name='version',
            field=models.CharField(db_default='', help_text='of Reeljudge that it runs; empty: an older one', max_length=40),
        ),
        migrations.AddConstraint(
            model_name='sign',
            constraint=models.UniqueConstraint(fields=('worker', 'lane'), name='one_sign_per_worker_and_lane'),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel('Sign', 'WorkerHeartbeat'),
                migrations.AlterModelTable('WorkerHeartbeat', 'jobs_sign'),
            ]
        ),
    ]
