"""Stored embeddings of texts, and the models that were trained here."""

from pathlib import Path

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from corpus.models import Corpus


class Vector(models.Model):
    """The embedding of a text, stored so that a model encodes no text twice."""

    model = models.CharField(max_length=200, help_text="fingerprint of the model")
    hash = models.CharField(max_length=64, help_text="SHA-256 of the text")
    values = models.BinaryField(help_text="float32, little-endian, of length 1")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "hash"], name="one_vector_per_model_and_text")
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.hash[:8]}"


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
