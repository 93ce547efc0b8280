"""Construction of sessions, from options or from a store.

Each option is checked once, before anything is opened.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from attrs import evolve, frozen

from polycontext.linearity import Classifier, ToolRule
from polycontext.linearity.classification import classified_by
from polycontext.pressure import ContextProjector, Threshold
from polycontext.pressure.threshold import session_threshold
from polycontext.window import ContextWindow, TokenCounter, count_tools
from polycontext.window.providers import Provider

from .. import session as subjects
from .. import stores
from ..errors import ContextOverflowError
from ..journal.conversation import Conversation
from ..machine.step import ContextPolicy
from ..stores.in_memory import InMemoryStore
from ..stores.session_store import SessionStore
from .options import (
    Asking,
    Auto,
    Model,
    OpenOptions,
    Place,
    Room,
    check_arguments,
    check_prices,
    check_rules,
    check_tools,
    load_ahead,
    require,
    room_of,
    whole_number,
)
from .writer import Writer

if TYPE_CHECKING:
    from polycontext.pressure.schedule import Prices

    from .context_session import ContextSession

S = TypeVar("S", bound="ContextSession")

_BEHIND_ALL = 2**31 - 1
"""A revision that no session reaches."""

BUDGET = "polycontext.budget"
"""The companion that stores the budget a session was opened with."""

DEFAULT_ROOM = 8000
"""The budget of a session without a model or `max_tokens`."""

PATIENCE = 5.0
"""How many seconds to wait for another process."""


def room_for(
    model: Model,
    max_tokens: int | None,
    reserve: int | None,
    counter: TokenCounter | None,
    provider: Provider | str | None,
) -> Room:
    """Return the room of a session; the default is used if there is no model and no number."""
    return room_of(
        DEFAULT_ROOM if model is None and max_tokens is None else model,
        max_tokens,
        reserve,
        counter,
        provider,
    )


def asking_of(room: Room, tools: Sequence[Mapping[str, Any]] | None) -> Asking:
    """Return the request overhead of a session: model, tools and reserve.

    Raises:
        ContextOverflowError: reserve and tools leave no room.
    """
    checked = check_tools(tools)
    asking = Asking(room.model, checked, room.reserve, count_tools(room.counter, checked))
    if asking.overhead and not 0 <= asking.overhead < room.max_tokens:
        raise ContextOverflowError(
            asking.overhead,
            room.max_tokens,
            "the reserve with the tools",
        )
    return asking


def policy_of(
    projector: ContextProjector | None,
    rules: Sequence[ToolRule],
    threshold: Threshold | None,
    cooldown: int,
    *,
    auto: Auto,
    prices: "Prices | None",
) -> ContextPolicy:
    """Return the policy of a session, with `rules` added to the projector's own."""
    check_arguments(projector=projector, threshold=threshold, auto=auto)
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
        prices=check_prices(prices),
    )


def window_of(
    room: Room,
    asking: Asking,
    projector: ContextProjector,
    classifier: Classifier,
    preserved_share: float,
) -> ContextWindow:
    """Return the empty window with the tokens that `asking` leaves of `room`.

    The classifier also follows the rules of `projector`.
    """
    check_arguments(classifier=classifier)
    ruled = classified_by(projector.reach.rules, classifier)
    return ContextWindow(
        room.max_tokens - asking.overhead,
        counter=room.counter,
        classifier=ruled,
        preserved_share=preserved_share,
    )


def attach_writer(
    session: "ContextSession",
    conversation: Conversation,
    policy: ContextPolicy,
    store: Place | None,
    session_id: str,
    *,
    listeners: Sequence[object],
) -> None:
    """Attach a writer to a new session, opening its store if necessary, and the listeners."""
    check_arguments(store=store, listeners=listeners, session_id=session_id)
    if isinstance(store, str | Path):
        session._opened, session._place = stores.store_at(store, PATIENCE), (store, PATIENCE)
        store = session._opened
    try:
        session._writer = Writer(
            conversation, policy, InMemoryStore() if store is None else store, session_id
        )
    except BaseException:
        session.close()
        raise
    load_ahead(conversation.window.counter)
    if listeners:
        subjects.live_machine.machine_of(session, listeners)


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
    kind: type[S],
    url: Place,
    session_id: str,
    model: Model,
    *,
    timeout: float,
    options: OpenOptions,
) -> S:
    """Return the session with that id at `url`; see `ContextSession.open`."""
    store = stores.store_at(url, timeout)
    budget: dict[str, Any] = {"model": model, "max_tokens": options.pop("max_tokens", None)}
    try:
        if model is None and budget["max_tokens"] is None:
            budget = _stored_budget(store, session_id)
        session = kind(**budget, store=store, session_id=session_id, **options)
    except BaseException:
        close_store(url, store)
        raise
    if store is not url:
        session._opened, session._place = store, (url, timeout)
    if any(value is not None for value in budget.values()):
        name = model if isinstance(model, str) else None
        writer, taken = session._writer, session._asking.overhead
        whole = budget["max_tokens"] if name else writer.given + taken
        writer.companions[BUDGET] = _Budget(name, whole, taken, writer.given, writer)
    return session


def open_beside(session: S, session_id: str) -> S:
    """Return the session with that id in the same store, with the options of this one."""
    other = copy(session)
    if session._place is not None:
        other._opened = stores.store_at(*session._place)
    other._writer = session._writer.beside(session_id, other._opened)
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
