"""What the features of a trained system lack, in words; and when a search was made, under another name."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='trainedsystem',
            name='notice',
            field=models.TextField(blank=True, default='', help_text='what its features lack, in words'),
            preserve_default=False,
        ),
        migrations.RenameField(model_name='systemsearch', old_name='asked', new_name='made'),
    ]
