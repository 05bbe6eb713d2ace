"""What 0.2.0 adds to the corpus: an index of the clips to come."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0001_initial'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='clip',
            index=models.Index(condition=models.Q(('state__in', ('waiting', 'failed'))), fields=['state'], name='clips_to_come'),
        ),
    ]
