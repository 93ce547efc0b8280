"""Construction of sessions, from options or from a store.

Each option is checked once, before anything is opened.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from attrs import evolve, frozen

from polycontext.base import is_number, require, whole_number
from polycontext.linearity import Classifier, ToolRule
from polycontext.linearity.classification.classifier import classified_by
from polycontext.pressure import ContextProjector, FixedThreshold, Threshold
from polycontext.pressure.threshold import session_threshold
from polycontext.window import ContextWindow

from .. import stores
from ..journal.conversation import Conversation
from ..machine.context_machine import ContextMachine
from ..machine.step import ContextPolicy
from ..stores.in_memory import InMemoryStore
from ..stores.session_store import SessionStore
from .options import (
    NAME,
    Auto,
    Model,
    Place,
    Room,
    check_room,
    check_rules,
    is_name,
    load_ahead,
)
from .writer import S, Session, Writer

if TYPE_CHECKING:
    from polycontext.pressure.schedule import Prices, Schedule

_BEHIND_ALL = 2**31 - 1
"""A revision that no session reaches."""

BUDGET = "polycontext.budget"
"""The companion that stores the budget a session was opened with."""

LOW_SHARE = 0.8
"""The low mark of a threshold that is given as one number, as a share of it."""

PATIENCE = 5.0
"""How many seconds to wait while other processes write."""


def projector_of(projector: ContextProjector | None, summariser: Any) -> ContextProjector | None:
    """Return the projector, or one with the summariser; both are too many."""
    if summariser is None:
        return projector
    require("projector", type(projector), projector is None, "either projector= or summariser=")
    return ContextProjector(summariser)


def policy_of(
    projector: ContextProjector | None,
    rules: Sequence[ToolRule],
    threshold: Threshold | float | None,
    cooldown: int,
    *,
    auto: Auto,
    prices: "Prices | None",
    schedule: "Schedule | None",
) -> ContextPolicy:
    """Return the policy of a session, with `rules` added to the projector's own."""
    legal = "a ContextProjector; to choose who writes summaries: ContextProjector(summariser)"
    require("projector", projector, isinstance(projector, ContextProjector | None), legal)
    legal = "a number above 0.0, at most 1.0, or a threshold such as FixedThreshold(0.8, low=0.5)"
    if isinstance(threshold, int | float):
        require("threshold", threshold, is_number(threshold) and 0 < threshold <= 1, legal)
        threshold = FixedThreshold(threshold, low=LOW_SHARE * threshold)
    has_marks = hasattr(threshold, "low") and callable(getattr(threshold, "high", None))
    require("threshold", threshold, threshold is None or has_marks, legal)
    fits = isinstance(auto, bool) or auto == "background"
    require("auto", auto, fits, 'True, "background" or False')
    costs = getattr(prices, "input", 0)
    fits = prices is None or (isinstance(costs, int | float) and costs > 0)
    legal = 'Prices with a price of the input, such as prices_of("gpt-5"), or None'
    require("prices", prices, fits, legal)
    fits = schedule is None or callable(getattr(schedule, "is_idle", None))
    require("schedule", schedule, fits, "Schedule(lifetime=300), or None")
    projector = projector or ContextProjector()
    if added := check_rules(rules):
        reach = evolve(projector.reach, rules=(*projector.reach.rules, *added))
        projector = evolve(projector, reach=reach)
    return ContextPolicy(
        projector,
        threshold or session_threshold(),
        whole_number("cooldown", cooldown, 0, "turns"),
        auto=bool(auto),
        background=auto == "background",
        prices=prices,
        schedule=schedule,
    )


def empty_conversation(
    room: Room,
    projector: ContextProjector,
    *,
    classifier: Classifier,
    preserved_share: float,
    machine: type[ContextMachine],
) -> Conversation:
    """Return the empty conversation of a session; its classifier follows the projector's rules too.

    Raises:
        ContextOverflowError: reserve and tools leave no room for turns.
    """
    legal = "a function (role, content, metadata) -> ResourceClass"
    require("classifier", classifier, callable(classifier), legal)
    given: object = machine
    fits = isinstance(given, type) and issubclass(given, ContextMachine)
    name = (type(given) if isinstance(given, ContextMachine) else ContextMachine).__name__
    legal = f"ContextMachine, or a subclass of it, and not an instance: machine={name}"
    require("machine", given, fits, legal)
    check_room(room)
    window = ContextWindow(
        room.max_tokens - room.overhead,
        counter=room.counter,
        classifier=classified_by(projector.reach.rules, classifier),
        preserved_share=preserved_share,
    )
    return Conversation(window, machine=machine)


def attach_writer(
    session: Session,
    empty: Conversation,
    policy: ContextPolicy,
    store: Place | None,
    session_id: str,
    *,
    listeners: Sequence[object] = (),
) -> None:
    """Attach a writer to a new session, opening its store if necessary."""
    has_methods = all(callable(getattr(store, name, None)) for name in ("load", "append"))
    legal = (
        "a store with load and append, for example InMemoryStore(), or where one is, as for open"
    )
    require("store", store, isinstance(store, str | Path | None) or has_methods, legal)
    require("session_id", session_id, is_name(session_id), NAME)
    if isinstance(store, str | Path):
        session._opened, session._place = stores.store_at(store, PATIENCE), (store, PATIENCE)
        store = session._opened
    try:
        session._writer = Writer(
            empty, policy, InMemoryStore() if store is None else store, session_id, listeners
        )
        # Type checkers take a function in an attribute for a method.
        session._writer.clock = vars(session)["_clock"]
        session._writer.live.serve(session)
    except BaseException:
        session.close()
        raise
    load_ahead(empty.window.counter)


# --- stores ---------------------------------------------------------------------------


@frozen
class _Budget:
    """The budget of a session: a model name, a number of tokens, or both."""

    model: str | None
    max_tokens: int | None
    taken: int
    given: int
    """The window's tokens when the session was opened. If it was resized since, the new size is
    stored.
    """
    writer: Writer

    def to_data(self) -> Mapping[str, Any]:
        """Return the budget as JSON data."""
        now = self.writer.given
        return {
            "model": self.model,
            "max_tokens": self.max_tokens if now == self.given else now + self.taken,
        }


def open_session(
    kind: Callable[..., S],
    url: Place,
    session_id: str,
    model: Model = None,
    *,
    timeout: float,
    options: Mapping[str, Any],
) -> S:
    """Return the session with that id at `url`; see `ContextSession.open`."""
    is_id = isinstance(url, str) and "." not in url and not Path(url).exists()
    fits = not (is_id and str(session_id).endswith(".db"))
    require("session_id", session_id, fits, "open(path, session_id): the path comes first")
    store = stores.store_at(url, timeout)
    given: dict[str, Any] = {"model": model, "max_tokens": None, **options}
    budget = {name: given[name] for name in ("model", "max_tokens")}
    model = given["model"]
    try:
        if model is None and given["max_tokens"] is None:
            budget = _stored_budget(store, session_id)
        session = kind(**{**given, **budget}, store=store, session_id=session_id)
    except BaseException:
        close_store(url, store)
        raise
    if store is not url:
        session._opened, session._place = store, (url, timeout)
    if any(value is not None for value in budget.values()):
        name = model if isinstance(model, str) else None
        writer, taken = session._writer, session._room.overhead
        whole = budget["max_tokens"] if name else writer.given + taken
        writer.companions[BUDGET] = _Budget(name, whole, taken, writer.given, writer)
    return session


def open_beside(
    session: S,
    session_id: str,
    empty: Conversation | None = None,
    policy: ContextPolicy | None = None,
) -> S:
    """Return the session with that id in the same store, with the options of this one.

    `empty`, with its budget, and `policy` replace those of this session.
    """
    other, writer = copy(session), session._writer
    if session._place is not None:
        other._opened = stores.store_at(*session._place)
    store = other._opened or writer.store
    other._writer = Writer(empty or writer.empty, policy or writer.policy, store, session_id)
    other._writer.clock = writer.clock
    if empty is None:
        other._writer.given = writer.given
    return other


@contextmanager
def store_with(method: str, url: Place, timeout: float) -> Generator[SessionStore]:
    """Yield the store at `url`, which must have `method`; no file is created."""
    store = stores.store_at(url, timeout, create=False)
    try:
        require("url", store, callable(getattr(store, method, None)), f"a store with `{method}`")
        yield store
    finally:
        close_store(url, store)


def _stored_budget(store: SessionStore, session_id: str) -> dict[str, Any]:
    """Return the budget that is stored with a session, or an empty mapping."""
    saved = store.load(session_id, _BEHIND_ALL).companions.get(BUDGET)
    data = None if saved is None else orjson.loads(saved)
    return (
        {name: data.get(name) for name in ("model", "max_tokens")} if isinstance(data, dict) else {}
    )


def close_store(url: Place, store: SessionStore) -> None:
    """Close a store that was opened for one call."""
    if store is not url:
        store.close()
