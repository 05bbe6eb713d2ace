"""What was kept in other places before: a campaign's guideline as a text, a candidate's clip by its stretch."""

from django.db import migrations
from django.db.models import OuterRef, Subquery


def carry_over(apps, schema_editor):
    Campaign = apps.get_model("judging", "Campaign")
    Guideline = apps.get_model("judging", "Guideline")
    Guideline.objects.bulk_create(
        Guideline(campaign=campaign, version=1, text=campaign.guideline)
        for campaign in Campaign.objects.exclude(guideline=Campaign._meta.get_field("guideline").default)
    )
    Candidate = apps.get_model("judging", "Candidate")
    clips = apps.get_model("corpus", "Clip").objects.filter(
        video=OuterRef("moment__video"), start=OuterRef("moment__start"), end=OuterRef("moment__end")
    )
    shown = Candidate.objects.filter(batch__isnull=False).annotate(found=Subquery(clips.values("pk")[:1]))
    for candidate, clip in shown.values_list("pk", "found").iterator(chunk_size=2000):
        Candidate.objects.filter(pk=candidate).update(clip=clip)


class Migration(migrations.Migration):
    dependencies = [("judging", "0002_tables"), ("corpus", "0002_tables")]
    operations = [migrations.RunPython(carry_over, migrations.RunPython.noop)]
