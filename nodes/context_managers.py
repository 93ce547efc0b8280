"""The context managers of a conversation: named items that are saved and sent with it."""

from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any, Literal

from attrs import frozen

from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError
from polycontext.base.codec import strict_converter, structured
from polycontext.base.effects import Steps, call, procedure, twin
from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.window import ContextItem, ContextManager
from polycontext.window.items import item_from_dict, item_to_dict
from polycontext.window.items.attachment import source_of

from .checks import check_instance, check_not_blank

COMPANION = "context_managers"
"""The name under which a session saves them."""

MAX_ITEMS = 50

OnEvict = Callable[[str, ContextItem], object]


@frozen
class _Manager:
    """The saved form of one manager."""

    max_items: int
    max_tokens: int | None
    items: tuple[Mapping[str, Any], ...]


@frozen
class _Managers:
    """The saved form of all managers, by name, in their order."""

    schema: Literal[1]
    managers: Mapping[str, _Manager]


_CONVERTER = strict_converter(complete=True)


class ContextManagers(Mapping[str, ContextManager]):
    """Map names to the context managers of `session`, in the order they were opened.

    See docs/attachments.md. They are saved with the session, in the commit of the next write, and
    restored with it. Create one instance per session: a second one begins with the state saved
    last, and is saved from then on. `on_evict` is called with the manager's name and each item that
    a limit evicts. Safe under threads.

    Raises:
        InvalidDataError: `session` is not a session, or the managers saved with it are invalid.

    >>> session = ContextSession(max_tokens=8000)
    >>> gone = []
    >>> files = ContextManagers(session, lambda name, item: gone.append((name, item.content))).open(
    ...     "files", max_items=1
    ... )
    >>> _ = files.add(ContextItem("a = 1")), files.add(ContextItem("b = 2"))
    >>> gone, [item.content for item in files]
    ([('files', 'a = 1')], ['b = 2'])
    """

    def __init__(self, session: ContextSession, on_evict: OnEvict | None = None) -> None:
        self._session = check_instance(session, ContextSession, "session")
        self._on_evict = on_evict
        self._managers: dict[str, ContextManager] = {}
        self._lock = Lock()
        saved = session.documents.get(COMPANION)
        if saved is not None:
            self._restore(saved)
        session.documents.accompany(COMPANION, self)

    def open(
        self, name: str, *, max_items: int | None = None, max_tokens: int | None = None
    ) -> ContextManager:
        """Return the manager of that name, a new one if there is none.

        A new manager has up to `max_items` items, 50 by default, within `max_tokens`.

        Raises:
            InvalidOptionError: a limit is out of range, or differs from that of the existing
                manager.
            InvalidDataError: the name is blank or cannot be stored.
        """
        check_not_blank(name, "name")
        with self._lock:
            there = self._managers.get(name)
            if there is None:
                there = self._managers[name] = self._create_manager(
                    name, MAX_ITEMS if max_items is None else max_items, max_tokens
                )
        for option, asked, bound in (
            ("max_items", max_items, there.max_items),
            ("max_tokens", max_tokens, there.max_tokens),
        ):
            if asked is not None and asked != bound:
                raise InvalidOptionError(
                    option, asked, f"{bound}, the bound of the manager {name!r}"
                )
        return there

    def remove(self, name: str) -> ContextManager:
        """Remove a manager with all its items, and return it.

        Raises:
            UnknownNameError: there is none of that name.
        """
        with self._lock:
            if name not in self._managers:
                raise UnknownNameError("context manager", str(name), tuple(self._managers))
            return self._managers.pop(name)

    # --- turns ---------------------------------------------------------------------------

    def attachments(self) -> list[tuple[ContextItem, str]]:
        """Return every item with its source.

        The source is the file and lines, or the item's own id, so that an updated item supersedes
        itself.
        """
        return [
            (item, source_of(item) or item.id) for _, manager in self._all() for item in manager
        ]

    @procedure
    def add_user_turn(
        self, content: str, *, expected_revision: int | None = None
    ) -> Steps[ContextOutput]:
        """Attach the items that the view does not have, and add the user turn, in one commit.

        Raises:
            Any exception of `ContextSession.send_message`; nothing was attached then.
        """
        output: ContextOutput = yield call(
            self._session,
            "send_message",
            content,
            self.attachments(),
            expected_revision=expected_revision,
        )
        return output

    aadd_user_turn = twin(add_user_turn)

    # --- mapping and saved data ------------------------------------------------------------

    def __getitem__(self, name: str) -> ContextManager:
        return self._managers[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._all())

    def __len__(self) -> int:
        return len(self._managers)

    def to_data(self) -> dict[str, Any]:
        """Return all managers as JSON data, for the session to save."""
        saved = {
            name: {
                "max_items": each.max_items,
                "max_tokens": each.max_tokens,
                "items": [item_to_dict(item) for item in each],
            }
            for name, each in self._all()
        }
        return {"schema": 1, "managers": saved}

    def _all(self) -> list[tuple[str, ContextManager]]:
        """Return a snapshot of all managers, unaffected by concurrent changes."""
        with self._lock:
            return [*self._managers.items()]

    def _create_manager(self, name: str, max_items: int, max_tokens: int | None) -> ContextManager:
        on_evict = self._on_evict
        tell = None if on_evict is None else lambda item: on_evict(name, item)
        return ContextManager(
            max_items, max_tokens=max_tokens, counter=self._session.window.counter, on_evict=tell
        )

    def _restore(self, saved: object) -> None:
        path = f"companions.{COMPANION}"
        for name, manager in structured(_CONVERTER, saved, _Managers, path=path).managers.items():
            made = self._managers[name] = self._create_manager(
                name, manager.max_items, manager.max_tokens
            )
            for index, item in enumerate(manager.items):
                try:
                    made.add(item_from_dict(item))
                except InvalidDataError as error:
                    place = error.path.replace("$", f"{path}.managers.{name}.items[{index}]", 1)
                    raise InvalidDataError(place, error.what, error.legal) from None

    # A lock cannot be pickled, and a copy calls no callback.
    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_managers": dict(self._managers), "_lock": None, "_on_evict": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())
