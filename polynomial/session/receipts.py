"""The receipts of a session's compressions, and their check (docs/history.md)."""

from collections.abc import Iterator, Sequence

from ..journal.conversation import replayed
from ..journal.events import CompressEvent, Event, goes_behind, lineages
from ..journal.origin import CachedTokens
from ..journal.receipts import (
    CompressionReceipt,
    cached_in,
    compressions,
    number_of,
    receipt_of,
)
from ..journal.remaking import Checked, check_compressions
from .part import Session
from .time_travel import conversation_at


def receipts(session: Session, after: int = 0) -> Iterator[CompressionReceipt]:
    """Yield the receipts of all compressions after a revision that changed the view, in order."""
    writer = session._writer
    events = writer.events(after)
    numbers = compressions(events, after)
    if not numbers:
        return
    if goes_behind(events, after):
        start, events = writer.empty, writer.events()
    else:
        start = conversation_at(session, after)
    cached, stands = _cached(session, events), lineages(events, start.revision)[-1].based
    for before, event, now in replayed(events, start):
        if now.revision in numbers and isinstance(event, CompressEvent):
            yield receipt_of(before, event, now, cached, stands=now.revision in stands)


def receipt(session: Session, key: str | None) -> CompressionReceipt:
    """Return the receipt with an id, with the lines of its atoms; see `History.receipt`."""
    events = session._writer.events()
    number = number_of(events, key)
    event = events[number - 1]
    assert isinstance(event, CompressEvent)
    before, after = (conversation_at(session, each) for each in (number - 1, number))
    stands = number in lineages(events)[-1].based
    return receipt_of(before, event, after, _cached(session, events), stands=stands, in_lines=True)


def check_receipts(session: Session) -> tuple[Checked, ...]:
    """Check every compression; see `History.check_receipts`."""
    return tuple(check_compressions(session._writer.events(), session._writer.empty))


def _cached(session: Session, events: Sequence[Event]) -> list[CachedTokens]:
    """Return the cached tokens that events have recorded, and that the session remembers."""
    recorded = (each for event in events for each in cached_in(event))
    return [*recorded, *session._writer.cached]
