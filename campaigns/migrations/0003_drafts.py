"""Drafts and uploads are models of drafts, in the same tables. Until here, jobs look drafts up in campaigns."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [('campaigns', '0002_version_0_2_0'), ('jobs', '0002_version_0_2_0')]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel('Upload'), migrations.DeleteModel('Draft')],
        ),
    ]
