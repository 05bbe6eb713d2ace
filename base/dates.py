"""Days and weeks, in the time zone of the pages."""

from datetime import date, datetime, time, timedelta

from django.utils import timezone

from base.errors import BadValue


def start_of_day(day: date | None = None, later: int = 0) -> datetime:
    """Return when a day begins, or the one so many days later; by default, today."""
    return timezone.make_aware(datetime.combine((day or timezone.localdate()) + timedelta(days=later), time()))


def start_of_week() -> datetime:
    """Return when this week began, on Monday."""
    return start_of_day(later=-timezone.localdate().weekday())


def iso_week(moment: datetime) -> int:
    """Return the ISO week of a time as a number: 202605 is the fifth week of 2026."""
    year, week, _ = timezone.localtime(moment).isocalendar()
    return int(100 * year + week)


def week_bounds(value: str) -> tuple[datetime, datetime]:
    """Return the beginning and the end of a week that is written as 2026-W05.

    Raises BadValue if the text is not a week.
    """
    try:
        monday = datetime.strptime(f"{value}-1", "%G-W%V-%u")
    except ValueError as fault:
        raise BadValue("week", repr(value[:20]), "a week as 2026-W05") from fault
    if not 2000 <= monday.year <= 2200:
        raise BadValue("week", value, "a week of the years 2000 to 2200")
    return start_of_day(monday.date()), start_of_day(monday.date(), later=7)
