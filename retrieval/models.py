"""Stored embeddings of texts."""

from django.db import models

from retrieval.rewriting.models import CastName, Rewording, Substitution

__all__ = ["CastName", "Rewording", "Substitution", "Vector"]


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
