"""The request of a stored answer is known by a fingerprint; webhooks belong to campaigns."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('api', '0001_initial'),
        ('campaigns', '0002_version_0_2_0'),  # takes over the tables
    ]

    operations = [
        migrations.RenameField(model_name='storedanswer', old_name='asked', new_name='fingerprint'),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel('Delivery'), migrations.DeleteModel('Webhook')],
        ),
    ]
