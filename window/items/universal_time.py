"""Universal Time: whole seconds since 1900-01-01 UTC, as items say it on the wire (seed 000)."""

from datetime import UTC, datetime, timedelta

from polycontext.window.items.errors import InvalidItemError
from polycontext.window.items.metadata import check_size

_START = datetime(1900, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_LEGAL = "an aware datetime from 1900 on, or whole seconds since 1900-01-01 UTC, at least 0"


def universal_time(value: datetime | int) -> int:
    """Return a moment as Universal Time; fractions of a second are cut off.

    Raises:
        InvalidItemError: before 1900, a naive datetime, no moment at all, a number too long to be written.

    >>> universal_time(datetime(2023, 12, 8, tzinfo=UTC))
    3910982400
    """
    seconds = _seconds(value)
    if seconds is None or seconds < 0:
        raise InvalidItemError("timestamp", f"{value!r:.80} is no moment that can be written", _LEGAL)
    return seconds


def _seconds(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return check_size(value, "timestamp")
        case datetime() if value.utcoffset() is not None:
            return (value - _START) // _SECOND
        case _:
            return None


def moment(seconds: int) -> datetime:
    """Return Universal Time as an aware datetime in UTC.

    Law: ``universal_time(moment(n)) == n``.

    Raises:
        InvalidItemError: after the year 9999, which a datetime cannot say.
    """
    try:
        return _START + seconds * _SECOND
    except OverflowError:
        raise InvalidItemError("timestamp", f"{seconds} is after the year 9999", "universal_time, which any number fits") from None


def utc_now() -> datetime:
    """Return the time; the one place where an item made without a timestamp reads a clock."""
    return datetime.now(UTC)
