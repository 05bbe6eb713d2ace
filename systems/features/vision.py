"""Features of pictures by a vision model that transformers loads, such as CLIP, DINO, ViT or ResNet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..data import Rows
from ..errors import SystemsError

PICTURES_AT_A_TIME = 16
SIDE = 224  # pixels in width and height of the pictures that models are given; they scale them as they need


class VisionModel:
    """A vision model and its preparation of pictures. Clips get the maximum over their pictures (STAL, Section 4.1).

    Parameters
    ----------
    name
        A folder, or a name at a model hub that this machine has a copy of or can reach.

    Raises
    ------
    SystemsError
        If it cannot be loaded.
    """

    def __init__(self, name: str) -> None:
        from transformers import AutoImageProcessor, AutoModel
        from transformers.utils import logging

        logging.disable_progress_bar()
        self.name = name
        try:
            self.prepare: Any = AutoImageProcessor.from_pretrained(name)
            self.model: Any = AutoModel.from_pretrained(name).eval()
        except (OSError, ValueError, KeyError, ImportError) as fault:
            reason = str(fault).partition("\n")[0]
            raise SystemsError(
                f"vision model {name}: cannot be loaded ({reason}); expected a folder, or a name at a model hub that "
                "this machine reaches"
            ) from fault

    def describe(self, pictures: Iterable[Rows]) -> Rows:
        """Return the features of a clip from its pictures, each of shape (height, width, 3), from 0 to 1."""
        import torch

        seen = [np.round(picture * 255).astype(np.uint8) for picture in pictures]
        if not seen:
            raise SystemsError("a clip has no pictures; expected at least one")
        parts = []
        for start in range(0, len(seen), PICTURES_AT_A_TIME):
            given = self.prepare(images=seen[start : start + PICTURES_AT_A_TIME], return_tensors="pt")
            with torch.inference_mode():
                parts.append(self._features(given["pixel_values"]))
        return np.asarray(np.concatenate(parts).max(0), np.float32)

    def _features(self, pixels: Any) -> Rows:
        """Return one vector a picture: that of a model of pictures and texts, or the pooled one, or the mean."""
        seen = getattr(self.model, "get_image_features", self.model)(pixel_values=pixels)
        if not hasattr(seen, "last_hidden_state"):
            return np.asarray(seen.float().numpy(), np.float32)
        pooled = getattr(seen, "pooler_output", None)
        states = pooled if pooled is not None else seen.last_hidden_state
        if states.ndim == 4:
            states = states.mean((2, 3))
        return np.asarray((states.mean(1) if states.ndim == 3 else states).float().numpy(), np.float32)
