"""Finding corpora by their names, for commands."""

from base.errors import ReeljudgeError
from corpus.models import Corpus


def corpus_named(name: str) -> Corpus:
    """Return the corpus of that name.

    Raises
    ------
    ReeljudgeError
        If there is none; it says which there are.
    """
    if corpus := Corpus.objects.filter(name=name).first():
        return corpus
    names = ", ".join(Corpus.objects.order_by("name").values_list("name", flat=True)[:20]) or "none yet"
    raise ReeljudgeError(f"corpus {name}: not found; expected one of: {names}")
