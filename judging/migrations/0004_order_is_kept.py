"""What the places promise. It stands apart, because PostgreSQL changes no table whose rows this transaction changed."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0003_order_of_queries'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['campaign', 'free', '-begun', 'place', 'id'], name='batches_in_order'),
        ),
        migrations.AddIndex(
            model_name='query',
            index=models.Index(fields=['campaign', 'kind', 'place'], name='queries_in_order'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ('pool', 'study')), ('place__isnull', False)), models.Q(models.Q(('kind__in', ('pool', 'study')), _negated=True), ('place__isnull', True)), _connector='OR'), name='claimed_batches_have_a_place'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('begun', True), models.Q(('round', 1), ('taken', 0)), _connector='OR'), name='what_is_taken_has_begun'),
        ),
        migrations.AddConstraint(
            model_name='query',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ('pool', 'study')), ('place__gte', 0), ('place__isnull', False), ('place__lte', 1)), models.Q(models.Q(('kind__in', ('pool', 'study')), _negated=True), ('place__isnull', True)), _connector='OR'), name='claimed_queries_have_a_place'),
        ),
        migrations.AddConstraint(
            model_name='query',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('withdrawn__isnull', True), ('withdrawn_for', '')), models.Q(('withdrawn__isnull', False), ('withdrawn_for__in', ['query', 'judged'])), _connector='OR'), name='withdrawn_for_something'),
        ),
    ]
