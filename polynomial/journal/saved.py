"""A saved session: its configuration and its journal, with a schema version.

Loading replays the journal, so nothing is asked of a model, a classifier or a clock.
What cannot be written down (a summariser, a classifier, a counter or threshold of
your own) is handed in again.
"""

from attrs import field, frozen

from polycontext.linearity import PolycontextError
from polycontext.polynomial.errors import SnapshotError
from polycontext.polynomial.journal.codec import json_object, structured, to_text
from polycontext.polynomial.journal.events import Event, TurnEvent, apply_event
from polycontext.polynomial.state import ContextState
from polycontext.pressure import NO_SIGNALS, AdaptiveThreshold, FixedThreshold, Reach, Signals, Threshold
from polycontext.window import ContextWindow, TiktokenCounter, TokenCounter

SCHEMA = 1
CUSTOM = "custom"


@frozen
class SavedThreshold:
    """Hold a threshold of ours by name and numbers, or say that it was the caller's own."""

    kind: str
    marks: dict[str, float] = field(factory=dict)


@frozen
class SavedSession:
    """Hold everything a session is, as plain data."""

    schema: int
    max_tokens: int
    taken: int
    auto: bool
    engine: str
    cooldown: int
    preserved_share: float
    counter: str
    threshold: SavedThreshold
    reach: Reach
    events: list[Event]
    signals: Signals = NO_SIGNALS


_THRESHOLDS: dict[str, type[FixedThreshold]] = {"fixed": FixedThreshold, "adaptive": AdaptiveThreshold}


def save_threshold(threshold: Threshold) -> SavedThreshold:
    """Return a threshold as data."""
    for kind, known in _THRESHOLDS.items():
        if type(threshold) is known:
            return SavedThreshold(kind, {name: getattr(threshold, name) for name in known.__match_args__})
    return SavedThreshold(CUSTOM)


def load_threshold(saved: SavedThreshold) -> Threshold:
    """Return the threshold that was saved.

    Raises:
        SnapshotError: it was the caller's own, or nothing of ours.
    """
    if saved.kind == CUSTOM:
        raise SnapshotError("$.threshold", "a threshold of the caller's own", "pass threshold= again")
    try:
        return _THRESHOLDS[saved.kind](**saved.marks)
    except (KeyError, TypeError, PolycontextError) as error:
        raise SnapshotError("$.threshold", f"{type(error).__name__}: {error}", ", ".join(_THRESHOLDS)) from None


def save_counter(counter: TokenCounter) -> str:
    """Return the name of a counter of ours."""
    return counter.encoding if type(counter) is TiktokenCounter else CUSTOM


def load_counter(name: str) -> TokenCounter:
    """Return the counter that was saved; raise `SnapshotError` where it was the caller's own."""
    if name == CUSTOM:
        raise SnapshotError("$.counter", "a counter of the caller's own", "pass counter= again")
    return TiktokenCounter(name)


def write(saved: SavedSession) -> str:
    """Return the JSON text of a saved session."""
    return to_text(saved)


def read(text: str | bytes) -> SavedSession:
    """Read a saved session; raise `SnapshotError` naming the path of the first fault."""
    data = json_object(text)
    if data.get("schema") != SCHEMA:
        raise SnapshotError("$.schema", f"schema {data.get('schema')!r} is unknown", str(SCHEMA))
    return structured(data, SavedSession)


def replay_saved(events: list[Event], window: ContextWindow) -> tuple[ContextState, ContextWindow]:
    """Replay events from outside; an event that cannot have happened raises `SnapshotError` naming it."""
    state = ContextState.EMPTY
    for index, event in enumerate(events):
        try:
            window, state = apply_event(window, event), event.state
        except (PolycontextError, IndexError) as error:
            raise SnapshotError(
                f"$.events[{index}]", f"{type(error).__name__}: {error}", "an event that may follow the ones before"
            ) from None
        if isinstance(event, TurnEvent) and window.extract() != event.turn:
            raise SnapshotError(f"$.events[{index}].turn", "a turn without its id or token count", "what to_json wrote")
    return state, window
