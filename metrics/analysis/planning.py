"""How many queries must be judged to tell two systems apart, before anything is judged, and what that takes.

See T. Sakai, Topic set size design, 2016.
"""

from dataclasses import dataclass
from math import ceil, inf, isnan, sqrt

from ..formats.errors import MeasureError
from .intervals import width
from .sampling import FEWEST, Design, Estimate, Values

MOST = 1_000_000  # queries
JUDGEMENTS = 69.4  # of a query of TVR-Ranking: 227,768 of 3,280 queries
SECONDS = 19.0  # of a judgement of TVR-Ranking: 1,200 hours for 227,808


@dataclass(frozen=True)
class Spread:
    """How the difference of two runs varies between queries: standard deviations, on the scale of the measure.

    Attributes
    ----------
    judged
        Of the difference.
    left
        Of what the predicted difference does not explain of it; equal to `judged` if nothing is predicted.
    """

    judged: float
    left: float

    def __post_init__(self) -> None:
        if not 0 < self.left <= self.judged:
            raise MeasureError(
                f"standard deviations {self.judged:g} and {self.left:g}: both must be positive, and "
                "what a prediction leaves must not be the larger"
            )

    @property
    def predicted(self) -> float:
        """Standard deviation of what the prediction explains."""
        return sqrt(self.judged**2 - self.left**2)


# Of NDCG@20 in three sets of systems on TVR-Ranking's 3,280 queries. Systems of the first differ much, and those of the
# second little, in how often they find a candidate; those of the third order the candidates only.
TVR_RANKING = {"spread": Spread(0.1441, 0.0705), "close": Spread(0.1077, 0.0701), "rerank": Spread(0.0560, 0.0527)}


@dataclass(frozen=True)
class Work:
    """What judging takes.

    judgements: of a query.
    seconds: of a judgement.
    pay: for an hour; None if nobody knows.
    hours: that all annotators together work in a week; None if nobody knows.
    """

    judgements: float = JUDGEMENTS
    seconds: float = SECONDS
    pay: float | None = None
    hours: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 0 < value < inf:
                raise MeasureError(f"{name} is {value:g}; it must be positive")


@dataclass(frozen=True)
class Plan:
    """How many queries must be judged in one of the two ways, and what that takes.

    All but the way are None if no number of queries is enough, cost and weeks also if nobody knows the pay, the hours.
    """

    way: str
    queries: int | None = None
    judgements: int | None = None
    hours: int | None = None
    cost: int | None = None
    weeks: int | None = None


def plans(
    difference: float,
    spread: Spread,
    work: Work | None = None,
    *,
    power: float = 0.8,
    level: float = 0.05,
    ranked: float = inf,
) -> list[Plan]:
    """Return the plan with queries that are judged alone, and the one in which the ranked queries correct them.

    Parameters and errors: see `queries_to_judge`.
    """
    ways = {"judged alone": None, "corrected by the ranked queries": ranked}
    return [
        plan_of(queries_to_judge(difference, spread, power=power, level=level, ranked=number), work or Work(), way)
        for way, number in ways.items()
    ]


def plan_of(queries: int | None, work: Work, way: str = "judged alone") -> Plan:
    """Return what judging a number of queries takes; None if no number is enough."""
    if queries is None:
        return Plan(way)
    judgements = queries * work.judgements
    hours = judgements * work.seconds / 3600
    cost = None if work.pay is None else round(hours * work.pay)
    weeks = None if work.hours is None else ceil(hours / work.hours)
    return Plan(way, queries, round(judgements), round(hours), cost, weeks)


def queries_to_judge(
    difference: float, spread: Spread, *, power: float = 0.8, level: float = 0.05, ranked: float | None = None
) -> int | None:
    """Number of queries to judge so that a paired two-sided t-test finds a true difference.

    Parameters
    ----------
    difference : float
        The true difference of two systems, on the scale of the measure.
    spread : Spread
        How the difference varies between queries: see `Estimator.spreads`.
    power : float, default 0.8
        The probability of finding it, in (level, 1).
    level : float, default 0.05
        The level of significance, in (0, 1).
    ranked : float, default None
        The number of ranked queries that correct the judged ones, `math.inf` for many; None for no correction.

    Returns
    -------
    int or None
        The smallest number; None if that is more than a million or, corrected, more than the ranked queries.

    Raises
    ------
    MeasureError
        For a difference, power or level out of range.

    See Also
    --------
    queries_alone : What a correction is worth, in queries.

    References
    ----------
    Sakai, Topic set size design, 2016.

    Examples
    --------
    >>> from reeljudge import Spread
    >>> queries_to_judge(0.02, Spread(judged=0.1441, left=0.0705))
    410
    >>> queries_to_judge(0.02, Spread(judged=0.1441, left=0.0705), ranked=float("inf"))
    100
    """
    if not 0 < difference < inf:
        raise MeasureError(f"difference is {difference:g}; it must be positive")
    if not 0 < level < power < 1:
        raise MeasureError(f"power is {power:g} and level {level:g}; they must be 0 < level < power < 1")
    most = MOST if ranked is None else int(min(MOST, ranked))

    def finds(judged: int) -> bool:
        freedom = judged - (1 if ranked is None else 2)
        return _power(difference / standard_error(spread, judged, ranked), freedom, level) >= power

    low, high = FEWEST, FEWEST
    while not finds(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle + 1, high)
    return high


def _power(middle: float, freedom: int, level: float) -> float:
    """Probability that a two-sided t-test finds a difference of `middle` standard errors."""
    from scipy.special import stdtrit  # slow to import, as all of SciPy
    from scipy.stats import nct

    bar = stdtrit(freedom, 1 - level / 2)
    below = nct.cdf(-bar, freedom, middle)  # of the other sign; not a number where it is too small for SciPy
    return float(nct.sf(bar, freedom, middle)) + (0.0 if isnan(below) else float(below))


def smallest_difference(queries: int, spread: Spread, *, power: float = 0.8, level: float = 0.05) -> float:
    """Smallest true difference of two systems that a paired two-sided t-test finds with a number of judged queries.

    The inverse of `queries_to_judge` without a correction; parameters and reference as there. `queries` is at least 3.

    Examples
    --------
    >>> from reeljudge import Spread
    >>> round(smallest_difference(410, Spread(judged=0.1441, left=0.0705)), 4)
    0.02
    """
    from scipy.optimize import brentq

    if queries < FEWEST or not 0 < level < power < 1:
        raise MeasureError(f"{queries} queries, power {power:g}, level {level:g}: at least {FEWEST}, level < power < 1")
    errors = brentq(lambda middle: _power(middle, queries - 1, level) - power, 0, 1000)
    return float(errors) * standard_error(spread, queries, None)


def queries_to_decide(difference: Estimate, spread: Spread) -> int | None:
    """Number of queries after which an estimated difference is decided, if it stays what it is.

    It is decided once its interval excludes 0, an interval of the same kind as the estimate's. Returns the number of
    queries that are judged now if it is decided, and None if not even all ranked queries decide it.
    """

    def is_decided(judged: int) -> bool:
        left = spread.left**2 * (1 if difference.future else 1 - judged / difference.ranked) / judged
        squares = left + (spread.predicted**2 / difference.ranked if difference.future else 0)
        half = sqrt(squares) * width(judged, judged - 2, difference.confidence, difference.anytime)[1]
        return half < abs(difference.value)

    if difference.is_decided:
        return difference.judged
    low, high = difference.judged + 1, difference.ranked
    if low > high or not is_decided(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_decided(middle) else (middle + 1, high)
    return high


def standard_error(spread: Spread, judged: int, ranked: float | None = None) -> float:
    """Standard error of a difference over all queries of their kind. Parameters: see `queries_to_judge`."""
    if ranked is None:
        return spread.judged / sqrt(judged)
    return sqrt(spread.left**2 / judged + spread.predicted**2 / ranked)


def queries_alone(left: float, judged: int, ranked: float) -> float:
    """How many queries, judged alone, tell as much as some that predictions of all ranked queries correct.

    Parameters
    ----------
    left : float
        The share of the variance that predictions leave, in (0, 1]: see `Estimator.shares_left`.
    judged : int
        The number of queries that are judged.
    ranked : float
        The number that are ranked, `math.inf` for many.

    Returns
    -------
    float

    Raises
    ------
    MeasureError
        For a share that is not above 0 and at most 1.

    See Also
    --------
    queries_to_judge : How many queries tell two systems apart.

    Examples
    --------
    >>> queries_alone(0.5, 100, float("inf")), round(queries_alone(0.5, 100, 1000))
    (200.0, 182)
    """
    if not 0 < left <= 1:
        raise MeasureError(f"share left is {left:g}; it must be above 0 and at most 1")
    return 1 / (left / judged + (1 - left) / ranked)


def share_left(design: Design, values: Values) -> float:
    """Return the share of the variance between judged queries that predictions leave; NaN if there is none."""
    squares = float((values.residual**2).sum())
    if not squares:
        return float("nan")
    left = values.residual - design.slope(values) * values.predicted[design.sample]
    freedom = (values.residual.size - 1) / (values.residual.size - 2)
    return min(1.0, float(((left - left.mean()) ** 2).sum()) / squares * freedom)


def spread_of(design: Design, difference: Values) -> Spread:
    """Return how a difference varies between the judged queries of a pilot."""
    left = difference.residual - design.slope(difference) * difference.predicted[design.sample]
    judged = float(difference.residual.std(ddof=1))
    if not judged or not left.any():
        raise MeasureError(
            f"the two runs differ by the same on each of the {left.size:,} judged queries, or exactly by what is "
            "predicted; their scores must vary to plan with them"
        )
    return Spread(judged, min(judged, float(left.std(ddof=2))))
