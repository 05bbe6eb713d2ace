"""The batch as TVR-Ranking's Figure 6 draws one: final grades by rank as bars, similarity as a line."""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.models.campaign import LAST
from judging.models import Candidate

STEP, BAR, HEIGHT = 40, 24, 160  # of the drawing, in its own units
TOP_GRADE = 4


@dataclass(frozen=True)
class Bar:
    candidate: Candidate
    x: float
    y: float
    height: float
    last: bool

    @property
    def middle(self) -> float:
        return self.x + BAR / 2

    @property
    def right(self) -> float:
        return self.x + BAR

    @property
    def adjudicated(self) -> bool:
        return self.candidate.outcome == Candidate.Outcome.ADJUDICATED

    @property
    def what(self) -> str:
        grade = "" if self.candidate.grade is None else str(self.candidate.grade)
        return f"{grade} by the lead" if self.adjudicated else grade or self.candidate.outcome


@dataclass(frozen=True)
class Chart:
    bars: list[Bar]
    line: str
    width: int
    last_from: int
    last_width: int
    grid: list[tuple[int, float]]
    bar: int = BAR
    height: int = HEIGHT

    @property
    def adjudicated(self) -> bool:
        return any(bar.adjudicated for bar in self.bars)


def grades_by_rank(candidates: list[Candidate]) -> Chart:
    """The drawing's coordinates for the candidates of a batch, in the order of their ranks."""
    bars = []
    for number, candidate in enumerate(candidates):
        height = HEIGHT * (candidate.grade or 0) / TOP_GRADE
        x = number * STEP + (STEP - BAR) / 2
        bars.append(Bar(candidate, x, HEIGHT - height, height, number >= len(candidates) - LAST))
    levels = [(bar, bar.candidate.similarity) for bar in bars]
    line = " ".join(f"{bar.middle:.1f},{_level(level):.1f}" for bar, level in levels if level is not None)
    grid = [(grade, HEIGHT * (1 - grade / TOP_GRADE)) for grade in range(TOP_GRADE + 1)]
    width, last_width = len(bars) * STEP, min(LAST, len(bars)) * STEP
    return Chart(bars, line, width, width - last_width, last_width, grid)


def _level(similarity: float) -> float:
    return HEIGHT * (1 - min(max(similarity, 0.0), 1.0))
