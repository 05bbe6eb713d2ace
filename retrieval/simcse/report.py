"""The report of a training as text that people read."""

from __future__ import annotations

from typing import Any

from base.text import with_minus


def as_text(facts: dict[str, Any]) -> str:
    """Return the report: what the model was made of, and what the training has changed."""
    recipe, counts, lists, numbers = (facts[field] for field in ("recipe", "captions", "lists", "numbers"))
    losses = ", ".join(f"{loss:.3f}" for loss in facts["losses"])
    rows = "".join(
        f"  {measure:<12}{_signed(numbers['before'][measure]):>8} →{_signed(numbers['after'][measure]):>8}   {means}\n"
        for measure, means in (
            ("alignment", "lower: dropout moves a caption less"),
            ("uniformity", "lower: captions are spread more evenly"),
        )
    )
    return (
        f"{facts['name']} {facts['version']}, SHA-256 of the weights {facts['weights']}\n"
        f"Trained from {facts['base']}\n"
        f"  on {counts['training']:,} distinct captions of {facts['corpus']}; {counts['held_out']:,} are held out\n"
        f"  epochs {recipe['epochs']}, batches of {recipe['batch_size']}, learning rate {recipe['learning_rate']:g}, "
        f"temperature {recipe['temperature']:g}, {recipe['max_tokens']} tokens, seed {recipe['seed']}, "
        f"{facts['made_with']['threads']} threads\n"
        f"  mean loss in each part of the training: {losses}\n"
        f"On the captions held out, before → after:\n{rows}"
        f"The {lists['depth']} of {lists['captions']:,} captions nearest to each of {lists['queries']:,} held-out "
        f"ones, before and after:\n"
        f"  in both lists: {lists['overlap']:.1%}; rank-biased overlap (p = {lists['persistence']:g}): "
        f"{lists['rank_biased_overlap']:.3f}\n"
    )


def _signed(number: float) -> str:
    return with_minus(f"{number:.3f}")
