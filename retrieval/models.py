"""Stored embeddings, indexes and trained models; and the cast of a corpus, and what its descriptions became."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from corpus.models import Corpus, Moment
from jobs.models import Job

REWORD = "reword-descriptions"  # the kind of job, which judging carries out
LONGEST_NAME = 100  # characters, also of noun phrases


class CastName(models.Model):
    """A capitalised word or name of a corpus: whom it names, or that it names no person.

    phrase: the common noun that takes the name's place, without an article, as in `old woman`.
    same_as: another name of the same person, which has the phrase; empty if the person has no other name.
    stays: whether the name is no person's, so that captions keep it.
    """

    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="cast")
    name = models.CharField(max_length=LONGEST_NAME)
    phrase = models.CharField(max_length=LONGEST_NAME, blank=True)
    same_as = models.CharField(max_length=LONGEST_NAME, blank=True)
    stays = models.BooleanField(default=False)
    confirmed = models.BooleanField(default=False, help_text="whether the lead has confirmed a drafted name")
    count = models.PositiveIntegerField(default=0, help_text="descriptions that contain it")
    contexts = models.JSONField(default=list, help_text="a few descriptions that contain it")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="one_entry_per_name_in_cast"),
            models.CheckConstraint(
                condition=Q(confirmed=False) | Q(stays=True) | ~Q(phrase=""), name="confirmed_name_has_a_phrase"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Spent(models.Model):
    """What requests to the chat endpoint have cost."""

    requests = models.PositiveIntegerField(default=0)
    retries = models.PositiveIntegerField(default=0, help_text="requests that repeat or divide an earlier one")
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    input_price = models.FloatField(default=0, help_text="for a million tokens")
    output_price = models.FloatField(default=0, help_text="for a million tokens")

    class Meta:
        abstract = True

    @property
    def cost(self) -> float:
        """What the tokens so far cost, in the currency of the prices."""
        return (self.input_tokens * self.input_price + self.output_tokens * self.output_price) / 1e6

    def spend(self, usage: dict[str, int]) -> None:
        """Add what was spent. Several workers may do so at a time."""
        rows = type(self)._default_manager.filter(pk=self.pk)
        rows.update(**{name: F(name) + count for name, count in usage.items()})


class Substitution(Spent):
    """An order to reword the descriptions of a corpus: by what, for whom, and at what cost."""

    class By(models.TextChoices):
        CAST = "cast", "the cast list"
        CHAT = "chat", "the chat endpoint"

    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="substitutions")
    by = models.CharField(max_length=10, choices=By.choices)
    model = models.CharField(max_length=200, blank=True, help_text="of the chat endpoint")
    again = models.BooleanField(default=False, help_text="whether verified captions are made again")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())
    ended = models.DateTimeField(null=True)
    descriptions = models.PositiveIntegerField(default=0, help_text="distinct ones that it had to reword")

    def __str__(self) -> str:
        return f"substitution {self.pk} by {self.get_by_display()}"


class RewordingQuerySet(models.QuerySet["Rewording"]):
    def settled(self) -> RewordingQuerySet:
        """Return those whose text is a caption: it passed the checks, or a lead accepted it."""
        return self.filter(state__in=[Rewording.State.VERIFIED, Rewording.State.ACCEPTED])

    def queued(self) -> RewordingQuerySet:
        """Return those that wait for a lead."""
        return self.filter(state=Rewording.State.QUEUED)


class Rewording(models.Model):
    """What one description of a corpus became. All moments with this description share it."""

    class State(models.TextChoices):
        OPEN = "open", "to be reworded"
        PROPOSED = "proposed", "proposed, not checked yet"
        AGAIN = "again", "failed a check once"
        VERIFIED = "verified", "passed both checks"
        QUEUED = "queued", "waits for a lead"
        ACCEPTED = "accepted", "accepted by a lead"

    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="rewordings", db_index=False)
    before = models.TextField(help_text="the description")
    after = models.TextField(blank=True, help_text="the caption, or what is proposed as one")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    substitution = models.ForeignKey(Substitution, models.RESTRICT, related_name="rewordings")
    made_by = models.CharField(max_length=300, help_text="the cast list's fingerprint, or the chat model's name")
    attempts = models.PositiveSmallIntegerField(default=0)
    similarity = models.FloatField(null=True, help_text="of the description and the caption, from -1 to 1")
    encoder = models.CharField(max_length=200, blank=True, help_text="the model that gave the similarity")
    replaced = models.JSONField(default=list, help_text="pairs of words before and words after")
    why = models.TextField(blank=True, help_text="what the checks said")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", help_text="the lead who accepted it"
    )
    at = models.DateTimeField(null=True, help_text="when the lead accepted it")

    objects = RewordingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "before"], name="one_rewording_per_description"),
            models.CheckConstraint(
                condition=~Q(state__in=["verified", "accepted"]) | ~Q(after=""), name="captions_are_not_empty"
            ),
            models.CheckConstraint(
                condition=Q(state="accepted", by__isnull=False, at__isnull=False)
                | (~Q(state="accepted") & Q(by__isnull=True, at__isnull=True)),
                name="who_accepted_is_on_record",
            ),
        ]
        indexes = [models.Index(fields=["corpus", "state"], name="rewordings_by_state")]

    def __str__(self) -> str:
        return self.after or self.before


class CaptionFigures(models.Model):
    """How many descriptions and captions a large corpus has, and what was replaced in them, as last counted."""

    corpus = models.OneToOneField(Corpus, models.CASCADE, related_name="caption_figures")
    figures = models.JSONField()
    mark = models.JSONField(help_text="changes whenever the captions do")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "caption figures"

    def __str__(self) -> str:
        return f"captions of {self.corpus}"


def is_under_way(corpus: Corpus) -> bool:
    """Return whether a job is rewording the corpus, or waits to do so."""
    return Job.objects.unfinished().filter(kind=REWORD, row=corpus.pk).exists()


def may_become_queries(corpus: Corpus) -> QuerySet[Moment]:
    """Return the moments whose captions may become queries.

    In a corpus that nobody has ever begun to reword, these are all moments. In any other they are those whose
    caption passed the checks or was accepted by a lead, and those to which the corpus itself gave a caption.
    """
    moments = Moment.objects.filter(video__corpus=corpus)
    rewordings = Rewording.objects.filter(corpus=corpus)
    if not rewordings.exists():
        return moments
    own = rewordings.filter(before=OuterRef("description"))
    is_given = ~Q(caption=F("description")) & ~Exists(own)
    return moments.filter(Exists(own.settled().filter(after=OuterRef("caption"))) | is_given)


class Vector(models.Model):
    """The embedding of a text, stored so that a model encodes no text twice."""

    model = models.CharField(max_length=200, help_text="fingerprint of the model")
    hash = models.CharField(max_length=64, help_text="SHA-256 of the text")
    values = models.BinaryField(help_text="float32, little-endian, of length 1")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "hash"], name="one_vector_per_model_and_text")]

    def __str__(self) -> str:
        return f"{self.model} {self.hash[:8]}"


class SearchIndex(models.Model):
    """The file that holds the vectors of a corpus's captions, and what the corpus held when it was written."""

    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="indexes")
    model = models.CharField(max_length=200)
    file = models.CharField(max_length=200, help_text="its name in the media store")
    sha256 = models.CharField(max_length=64)
    moments = models.PositiveIntegerField()
    changes = models.PositiveIntegerField(help_text="the number of the corpus's changes when it was written")
    approximate = models.CharField(
        max_length=200, blank=True, help_text="name of the file of faiss in the media store, if there is one"
    )
    approximate_sha256 = models.CharField(max_length=64, blank=True)
    recall = models.FloatField(null=True, help_text="share of the nearest captions that faiss's file gives")
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "search indexes"
        constraints = [models.UniqueConstraint(fields=["corpus", "model"], name="one_index_per_corpus_and_model")]

    def __str__(self) -> str:
        return f"index of {self.corpus_id} by {self.model}"


class TrainedEncoder(models.Model):
    """A version of a model that was trained on a corpus's captions. Its weights are in a folder of MODELS_ROOT."""

    name = models.SlugField(max_length=60)
    version = models.PositiveIntegerField()
    base = models.CharField(max_length=200, help_text="the model that the training began with")
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="trained_encoders")
    seed = models.BigIntegerField()
    settings = models.JSONField(help_text="the numbers of the recipe")
    origin = models.CharField(max_length=64, help_text="SHA-256 of base, captions and recipe")
    weights = models.CharField(max_length=64, db_index=True, help_text="SHA-256 of the weights")
    report = models.JSONField()
    created = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="one_encoder_per_name_and_version"),
            models.UniqueConstraint(fields=["name", "origin"], name="one_version_of_the_same_origin"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def folder(self) -> Path:
        return Path(settings.MODELS_ROOT) / f"{self.name}-{self.version}"
