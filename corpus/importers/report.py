"""What an import or a preview finds: counts, and what is wrong."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field

from corpus.errors import BadLines, Problem
from corpus.importers.rows import Row

HOW_TO_GIVE_DURATIONS = (
    "give them in a file (--durations: JSON from video to seconds, or a CSV with the columns video and duration), "
    "or give the films (--media), which tell their lengths"
)


@dataclass
class Report:
    """What was found in the files of a source, beside what the corpus holds already.

    A moment is *changed* if the corpus has another description for the same times of the same video, and that other one
    is not in the files; or if the files give it another caption. It is *gone* if it is stored and nothing in the files
    is at its times.
    """

    rows: int = 0  # described moments that are right
    videos: int = 0  # of these moments
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    repeated: int = 0  # moments that are in the files again, word for word
    clipped: int = 0  # moments that were cut off at the end of their videos
    left_out: int = 0  # sentences whose times have no length, in formats that have such
    first: list[Row] = field(default_factory=list)  # the first moments, to be looked at
    problems: list[Problem] = field(default_factory=list)  # the first of them
    wrong: int = 0  # how many problems there are
    # Of the videos, in seconds, also of those stored before.
    lengths: MutableMapping[str, float] = field(default_factory=dict)
    without_duration: int = 0  # videos of which nothing tells the length
    # What an import did; a preview does nothing.
    videos_added: int = 0
    moments_added: int = 0
    replaced: int = 0  # changed moments that took the place of stored ones
    with_media: int = 0  # videos of the corpus

    @property
    def is_fine(self) -> bool:
        return not self.wrong and self.rows > 0

    @property
    def hints(self) -> list[str]:
        """What helps against the problems, beside what each of them says."""
        if self.without_duration < 2:  # of one video, its line says as much
            return []
        return [f"{self.without_duration:,} videos have no duration; {HOW_TO_GIVE_DURATIONS}."]

    def add_problem(self, problem: Problem) -> None:
        self.wrong += 1
        if len(self.problems) < BadLines.MOST_PROBLEMS:
            self.problems.append(problem)
