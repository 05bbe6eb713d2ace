"""Small random worlds for property tests: few videos and coarse times, so ties and touching spans abound."""

from hypothesis import strategies as st

from tests.metrics.oracle import Moment, Span

World = tuple[dict[str, list[Moment]], dict[str, list[Span]]]
videos = st.sampled_from(["a", "b", "c"])
ticks = st.integers(0, 12).map(lambda n: n / 2)


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    start, length = draw(ticks), draw(ticks)
    return draw(videos), start, start + length, draw(st.integers(0, 4))


@st.composite
def predictions(draw: st.DrawFn) -> Span:
    start, length = draw(ticks), draw(ticks)
    return draw(videos), start, start + length, draw(st.floats(-5, 5))


def span(row: Moment | Span) -> tuple[str, float, float]:
    """What may stand only once in a query."""
    return row[:3]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, list[Moment]], dict[str, list[Span]]]:
    """Qrels and a run; some queries lack moments, some lack predictions, some are not in the run."""
    queries = draw(st.lists(st.sampled_from("pqrst"), min_size=1, max_size=4, unique=True))
    qrels = {query: draw(st.lists(moments(), max_size=6, unique_by=span)) for query in queries}
    answered = draw(st.lists(st.sampled_from(queries), min_size=1, unique=True))
    run = {query: draw(st.lists(predictions(), max_size=8, unique_by=span)) for query in answered}
    return qrels, run
