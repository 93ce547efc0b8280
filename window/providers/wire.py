"""What every message format has in common: how it is read, written and named.

A provider's messages become turns (`Parsed`), turns become messages (`Rendered`),
and a `WireFormat` holds the functions that do so, so that callers never
branch on the provider. A format is loaded when it is first asked for.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

from attrs import field, frozen

from polycontext.linearity import UnknownNameError

from ..epoch import Epoch
from ..turn import Turn

Message = dict[str, Any]
"""One message of a provider: JSON data with text keys."""


class Provider(StrEnum):
    """Name a message format."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    RESPONSES = "openai-responses"


def as_provider(name: Provider | str) -> Provider:
    """Return the provider called `name`; raise `UnknownNameError` where there is none."""
    try:
        return Provider(name)
    except ValueError:
        raise UnknownNameError("provider", str(name), tuple(Provider)) from None


@frozen
class Parsed:
    """Hold the turns of a message list together with the messages they came from.

    `places` has one entry a turn: the index of its message. One message may
    give several turns, and a message without a place of its own belongs to
    the one before it (Anthropic merges a run of assistant messages that call).
    `messages` are private copies: treat them as read-only. `repaired` are the
    positions in `turns` of results that `repair` added; their place is that of
    the turn before them.
    """

    provider: Provider
    turns: tuple[Turn, ...]
    places: tuple[int, ...]
    messages: tuple[Message, ...] = field(repr=False)
    repaired: tuple[int, ...] = ()


@frozen
class Rendered:
    """Hold messages ready to be sent: `messages`, and `system` for providers that take it apart.

    `system` is empty for OpenAI, where system messages stand in the list. `leading` are the
    messages that `system` was taken from, as they stood. `options` are what the provider needs
    beside them (see docs/cache.md). `left_behind` names what another provider wrote and this one
    cannot take: ids of turns, and the types of blocks. `introduced` are texts of messages that no
    turn says: the provider wants somebody to speak there.

    >>> Rendered([{"role": "user", "content": "hi"}]).inline()
    [{'role': 'user', 'content': 'hi'}]
    """

    messages: list[Message]
    system: tuple[Message, ...] = ()
    leading: tuple[Message, ...] = field(default=(), eq=False, repr=False)
    options: Mapping[str, Any] = field(factory=dict)
    left_behind: tuple[tuple[str, str], ...] = ()
    introduced: tuple[str, ...] = field(default=(), eq=False, repr=False)

    def inline(self) -> list[Message]:
        """Return one list, `system` leading as system messages: the shape to store, and one that `parse` reads."""
        if self.leading or not self.system:
            return [*self.leading, *self.messages]
        return [{"role": "system", "content": list(self.system)}, *self.messages]


class Parse(Protocol):
    """Stand for the reader of a format."""

    def __call__(
        self, messages: object, *, repair: bool = False, waiting: Iterable[str] = ()
    ) -> Parsed:
        """Read a provider's messages into turns.

        `waiting` are calls before them that have no result yet.
        """
        ...


class Render(Protocol):
    """Stand for the writer of a format."""

    def __call__(self, turns: Iterable[Turn], *, readable: bool = False) -> Rendered:
        """Write turns as a provider's messages; `readable` as in `Writer`."""
        ...


class Check(Protocol):
    """Stand for the judge of a format."""

    def __call__(
        self, messages: object, *, allow_open_tail: bool = False, strict_first: bool = True
    ) -> None:
        """Raise `InvalidMessagesError` for a message list that the provider would refuse."""
        ...


class Writer(Protocol):
    """Write turns one after the other.

    What has been written stays, so that a history that grows costs its new turns only.

    A `readable` one is for lists that are read again rather than sent: turns of one role are not
    joined, and the assistant may be first.
    """

    @property
    def size(self) -> int:
        """Return how many blocks stand so far.

        A message or an item is one where the provider caches by these.
        """
        ...

    def add(self, turn: Turn) -> None:
        """Write `turn` behind the others."""
        ...

    def finish(self) -> Rendered:
        """Return the messages so far, as they are sent if nothing follows.

        Blocks are shared with the writer.
        """
        ...


class Judge(Protocol):
    """Judge a list that grows at its end, each message once: all but the last one stay as they were."""

    def __call__(self, messages: Sequence[Message], *, allow_open_tail: bool = False) -> None:
        """Raise `InvalidMessagesError` if the provider would refuse `messages`, which begin with those judged before."""
        ...


def rendered(writer: Writer, turns: Iterable[Turn]) -> Rendered:
    """Write all `turns` and return the messages."""
    for turn in turns:
        writer.add(turn)
    return writer.finish()


@frozen
class WireFormat:
    """Hold the functions of one provider's message format.

    `writer` and `judge` make what writes and judges a list that grows; `options` says what a
    request needs besides in an epoch.
    """

    provider: Provider
    parse: Parse
    render: Render
    check: Check
    writer: Callable[[], Writer]
    judge: Callable[[], Judge]
    options: Callable[[Epoch], Mapping[str, Any]] = lambda _: {}


_OUTSIDE = re.compile(r"[^a-zA-Z0-9_-]")
_NO_NAME = re.compile(r"[\s<|\\/>]+")
_LONGEST_NAME = 64


def aliases(
    names: Iterable[str], longest: int | None = None, *, any_sign: bool = False
) -> dict[str, str]:
    """Return for each name that holds more than letters, digits, ``_`` and ``-``, or is too long, one that does not.

    `longest` is how many characters the provider takes; with `any_sign` it minds nothing else. Law:
    all names, spelled anew or not, stay different.

    >>> aliases(["f:1", "f_1", "ok"]), aliases(["search_web", "search_all"], 6)
    ({'f:1': 'f_1_2'}, {'search_web': 'search', 'search_all': 'sear_2'})
    """
    given = list(dict.fromkeys(names))
    taken, found = set(given), dict[str, str]()
    for name in given:
        if (not any_sign and _OUTSIDE.search(name)) or (
            longest is not None and len(name) > longest
        ):
            found[name] = _free(name if any_sign else _OUTSIDE.sub("_", name), taken, longest)
            taken.add(found[name])
    return found


@lru_cache(maxsize=1024)
def speaker(name: str) -> str:
    r"""Return the name of who speaks as OpenAI takes it: no white space, none of ``< | \\ / >``, at most 64 characters.

    >>> speaker("Ada Lovelace"), speaker("ada")
    ('Ada_Lovelace', 'ada')
    """
    return _NO_NAME.sub("_", name)[:_LONGEST_NAME]


def _free(name: str, taken: set[str], longest: int | None) -> str:
    candidate, number = name[:longest], 2
    while candidate in taken:
        ending = f"_{number}"
        candidate, number = (
            (name[: longest - len(ending)] if longest is not None else name) + ending,
            number + 1,
        )
    return candidate
