"""Stored embeddings of texts, the indexes of corpora, and the models that were trained here."""

from pathlib import Path

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from corpus.models import Corpus
from retrieval.rewriting.models import CaptionFigures, CastName, Rewording, Substitution

__all__ = ["CaptionFigures", "CastName", "Rewording", "SearchIndex", "Substitution", "TrainedEncoder", "Vector"]


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
