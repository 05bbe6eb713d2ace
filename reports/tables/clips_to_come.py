"""Why a batch is not open yet: which of its clips are not there, and what is done about it."""

from __future__ import annotations

from dataclasses import dataclass

from corpus.models import Clip
from jobs.models import Job
from judging.models import Batch, Candidate
from judging.pool.clips import CUT_CLIPS


@dataclass(frozen=True)
class ClipsToCome:
    batch: Batch
    candidates: list[Candidate]  # whose clips are not there
    of: int
    job: Job | None

    @classmethod
    def of_batch(cls, batch: Batch | None) -> ClipsToCome | None:
        """What a batch waits for, or None if it has been opened."""
        if batch is None or batch.state != Batch.State.PREPARING:
            return None
        candidates = list(batch.candidates.select_related("clip").order_by("rank"))
        to_come = [each for each in candidates if each.clip and each.clip.is_to_come]
        job = Job.objects.filter(kind=CUT_CLIPS, key=batch.job_key).exclude(state=Job.State.DONE).first()
        return cls(batch, to_come, len(candidates), job)

    @property
    def number(self) -> int:
        return len(self.candidates)

    @property
    def failed(self) -> list[Candidate]:
        """The candidates whose clips cannot be cut."""
        return [each for each in self.candidates if each.clip and each.clip.state == Clip.State.FAILED]
