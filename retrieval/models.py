"""Stored embeddings of texts, and the indexes of corpora."""

from django.db import models

from corpus.models import Corpus
from retrieval.rewriting.models import CastName, Rewording, Substitution

__all__ = ["CastName", "Rewording", "SearchIndex", "Substitution", "Vector"]


class Vector(models.Model):
    """The embedding of a text, stored so that a model encodes no text twice."""

    model = models.CharField(max_length=200)
    hash = models.CharField(max_length=64, help_text="SHA-256 of the text")
    values = models.BinaryField(help_text="float32, little-endian, of length 1")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "hash"], name="one_vector_per_model_and_text")
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.hash[:8]}"


class SearchIndex(models.Model):
    """The file that holds the vectors of a corpus's captions, and what the corpus held when it was written."""

    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="indexes")
    model = models.CharField(max_length=200)
    file = models.CharField(max_length=200, help_text="its name in the media store")
    sha256 = models.CharField(max_length=64)
    moments = models.PositiveIntegerField()
    last = models.BigIntegerField(help_text="the highest key among the moments")
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "search indexes"
        constraints = [
            models.UniqueConstraint(fields=["corpus", "model"], name="one_index_per_corpus_and_model")
        ]

    def __str__(self) -> str:
        return f"index of {self.corpus_id} by {self.model}"
