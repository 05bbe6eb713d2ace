"""Systems that rank an index, or every candidate moment of one; the simplest two are chance and the moment prior."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .data import Data, Floats, Ints, Query, Rows, Videos
from .errors import SystemsError
from .interface import Progress, Report, System, silent
from .library import Run
from .options import Prior as PriorOptions
from .options import Sliding
from .ranking import Ranked, rank, run_of
from .storage import read_arrays, write_arrays
from .windows import Windows, endpoints, windows_of

INDEX = "index.npz"
COLUMNS = ("video", "first", "stop", "start", "end")
Arrays = dict[str, NDArray[Any]]
TABLE = "prior.npz"


@dataclass(frozen=True, eq=False)
class Index:
    """Candidate moments, the videos that they are of, and what a system computed of them."""

    names: tuple[str, ...]
    duration: Floats
    windows: Windows
    arrays: Arrays


class Ranker(System):
    """A system that ranks the moments of an index, which is stored or, as for a validation, made of some videos."""

    @abstractmethod
    def indexed(self) -> Any:
        """Return the index that was stored, with the `names` of its videos; see `check_index`."""

    @abstractmethod
    def look_at(self, videos: Videos, report: Report = silent) -> Any:
        """Return an index of these videos, of which nothing stays."""

    @abstractmethod
    def ranked(self, index: Any, queries: Sequence[Query], depth: int) -> Iterator[Ranked]:
        """Yield the best moments of each query."""

    def check_index(self) -> None:
        self.indexed()  # what is read has checksums, or its size is compared

    def search(self, queries: Sequence[Query], depth: int = 100, report: Report = silent) -> Run:
        return self.search_in(self.indexed(), queries, depth, report)

    def search_in(self, index: Any, queries: Sequence[Query], depth: int, report: Report = silent) -> Run:
        """Search an index that `indexed` or `look_at` returned."""
        return run_of(self.name, queries, self.ranked(index, queries, depth), index.names, report)


class Exhaustive(Ranker):
    """A system that scores every window of every video for a query."""

    options: Sliding

    @abstractmethod
    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        """Return what stands for the windows, by name."""

    @abstractmethod
    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        """Yield each query's scores of the windows, high ones for good moments: shape (windows,)."""

    def look_at(self, videos: Videos, report: Report = silent) -> Index:
        windows = windows_of(videos, self.options.scales)
        if not len(windows):
            raise SystemsError("the videos have no candidate moments; expected durations above 0")
        return Index(videos.names, videos.duration, windows, self.represent(videos, windows, report))

    def index(self, videos: Videos, report: Report = silent) -> None:
        self.keep_card()
        made = self.look_at(videos, report)
        columns = {name: getattr(made.windows, name) for name in COLUMNS}
        names = np.array(made.names, dtype=np.str_)
        own = {f"_{name}": array for name, array in made.arrays.items()}  # no column has such a name
        write_arrays(self.folder / INDEX, columns | {"names": names, "duration": made.duration} | own)
        report(Progress(1, 1, f"{len(made.windows):,} moments are indexed"))

    def indexed(self) -> Index:
        if not (self.folder / INDEX).exists():
            raise SystemsError(f"{self.folder}: there is no index; index a collection first")
        stored = read_arrays(self.folder / INDEX)
        return Index(
            tuple(stored["names"].tolist()),
            stored["duration"],
            Windows(*(stored[name] for name in COLUMNS)),
            {name[1:]: array for name, array in stored.items() if name.startswith("_")},
        )

    def ranked(self, index: Index, queries: Sequence[Query], depth: int) -> Iterator[Ranked]:
        return (rank(index.windows, scores, depth, self.options.nms) for scores in self.scores(index, queries))


class Chance(Exhaustive):
    """Scores drawn uniformly, by the seed and the number of the query."""

    name = "chance"

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        return {}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        for number in range(len(queries)):
            yield np.random.default_rng([self.options.seed, number]).random(len(index.windows))


class Prior(Exhaustive):
    """A histogram of the normalised starts and ends of training moments; windows in equal bins are drawn by lot."""

    name = "prior"
    options: PriorOptions

    def train(self, data: Data, report: Report = silent) -> None:
        examples, bins = data.columns, self.options.bins
        if not examples:
            raise SystemsError("there are no examples; expected at least one to learn from")
        self.keep_card()
        video = np.array([data.videos.number[name] for name in examples.names], np.int64)[examples.video]
        table = np.zeros((bins, bins), np.int64)
        places = endpoints(examples.start, examples.end, data.videos.duration[video])
        np.add.at(table, self._bins(places, bins), 1)
        write_arrays(self.folder / TABLE, {"table": table})
        report(Progress(1, 1, f"{len(video):,} moments are counted"))

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        if not (self.folder / TABLE).exists():
            raise SystemsError(f"{self.folder}: nothing was learned; train the system first")
        table = read_arrays(self.folder / TABLE)["table"]
        places = endpoints(windows.start, windows.end, videos.duration[windows.video])
        return {"count": table[self._bins(places, len(table))]}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        count = index.arrays["count"]
        for number in range(len(queries)):
            lots = np.random.default_rng([self.options.seed, number]).random(len(count))
            yield count + lots

    def _bins(self, places: Rows, bins: int) -> tuple[Ints, Ints]:
        """Return the bins of starts and ends, which are shares of a video's duration."""
        numbers = np.clip((places * bins).astype(np.int64), 0, bins - 1)
        return numbers[:, 0], numbers[:, 1]
