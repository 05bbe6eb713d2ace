"""A plain descriptor of pictures: colours, gradients, and their change. It knows no objects, and needs no model."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from retrieval.systems.data import Floats, Rows

NAME = "plain descriptor (colours, gradients, change)"
SIDE = 32  # pixels to which a picture is scaled, in width and height
GRID = 4  # cells of a picture in each direction
DIRECTIONS = 6  # of gradients
COLOURS = 3  # levels of each of red, green and blue
OF_A_PICTURE = GRID * GRID * (3 + DIRECTIONS) + COLOURS**3
WIDTH = 2 * OF_A_PICTURE + GRID * GRID  # features of a clip


def describe(pictures: Iterable[Rows]) -> Rows:
    """Return the features of a clip: the mean and the maximum of its pictures', and how much the picture changes.

    Parameters
    ----------
    pictures
        Each of shape (SIDE, SIDE, 3), from 0 to 1.

    Returns
    -------
    array of shape (WIDTH,); zeros for a clip without pictures
    """
    seen = list(pictures)
    if not seen:
        return np.zeros(WIDTH, np.float32)
    each = np.stack([of_picture(picture) for picture in seen])
    changes = [_by_cell(np.abs(one - other).mean(2)) for one, other in pairwise(seen)]
    change = np.mean(changes, axis=0) if changes else np.zeros(GRID * GRID)
    return np.concatenate([each.mean(0), each.max(0), change]).astype(np.float32)


def of_picture(picture: Rows) -> Rows:
    """Return a picture's features: the mean colour and the gradients of each cell, and a histogram of colours."""
    means = np.concatenate([_by_cell(picture[:, :, channel]) for channel in range(3)])
    levels = np.minimum((picture * COLOURS).astype(np.int64), COLOURS - 1)
    numbers = (levels[:, :, 0] * COLOURS + levels[:, :, 1]) * COLOURS + levels[:, :, 2]
    histogram = np.bincount(numbers.ravel(), minlength=COLOURS**3) / SIDE**2
    return np.concatenate([means, _gradients(picture.mean(2)), histogram]).astype(np.float32)


def _gradients(grey: Rows) -> Floats:
    """Return how strong the gradients of each cell are in each direction."""
    down, right = np.gradient(grey)
    strength, angle = np.hypot(down, right), np.arctan2(down, right) % np.pi
    direction = np.minimum((angle / np.pi * DIRECTIONS).astype(np.int64), DIRECTIONS - 1)
    return np.concatenate([_by_cell(np.where(direction == each, strength, 0)) for each in range(DIRECTIONS)])


def _by_cell(values: Rows | Floats) -> Floats:
    """Return the mean of values in each cell of the grid: shape (GRID × GRID,)."""
    size = SIDE // GRID
    cells = values.reshape(GRID, size, GRID, size).mean(axis=(1, 3), dtype=np.float64)
    return np.asarray(cells.ravel(), np.float64)
