"""`verify`: check whether a compaction, by any tool, kept what it had to keep.

It only compares two message lists, so it can judge `project`, a framework's trimming and manual
edits alike.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from attrs import frozen

from polycontext.base import InvalidOptionError
from polycontext.pressure.gist import is_gist_text
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider, WireFormat, get_format

_SYSTEM = ("system", "developer")


@frozen
class Verification:
    """A report on what a compaction kept and what it broke.

    Each index refers to the list that its field names:

    - `kept`: messages of `before` that are in `after`, byte for byte and in their order
    - `total`: the number of messages in `before`
    - `pinned_lost`: messages of `before` that had to stay and are missing
    - `reordered`: messages of `after` that are out of order
    - `mispaired`: results in `after` that follow a call they do not belong to
    - `broken`: the provider's rule that `after` breaks
    - `invented`: messages of `after` that are not in `before`, such as summaries; they are allowed
    """

    kept: tuple[int, ...]
    total: int
    pinned_lost: tuple[int, ...] = ()
    reordered: tuple[int, ...] = ()
    mispaired: tuple[int, ...] = ()
    broken: InvalidMessagesError | None = None
    invented: tuple[int, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether nothing was lost, moved, mispaired or broken."""
        return not (self.pinned_lost or self.reordered or self.mispaired or self.broken)

    def __str__(self) -> str:
        faults = (
            _format_indices("lost pinned before", self.pinned_lost),
            _format_indices("out of order after", self.reordered),
            _format_indices("results of another call after", self.mispaired),
            f"invalid: {self.broken}" if self.broken else "",
        )
        kept = f"kept {len(self.kept)} of {self.total} messages"
        new = f"{len(self.invented)} new" if self.invented else ""
        said = filter(None, (*faults, kept, new))
        return ("ok: " if self.ok else "not ok: ") + "; ".join(said)


def _format_indices(what: str, indices: Sequence[int]) -> str:
    return what + "".join(f"[{index}]" for index in indices) if indices else ""


def verify(
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    *,
    provider: Provider | str = Provider.OPENAI,
    pinned: Iterable[int] | None = None,
) -> Verification:
    """Compare the message list before a compaction with the one after it.

    `pinned` lists the indices of `before` that must stay byte for byte. By default these are the
    system messages that are not summaries, and the first user message that contains more than
    results. `after` must be valid for the provider; it may end on open calls or begin with the
    assistant if `before` does. `before` may be invalid.

    Raises:
        InvalidOptionError: a pinned index is not in `before`.
        InvalidMessagesError: `before` is not a list of JSON objects.

    Law: ``verify(messages, project(messages, n).messages).ok``.

    >>> history = [
    ...     {"role": "system", "content": "Be brief."},
    ...     {"role": "user", "content": "Count."},
    ...     {"role": "assistant", "content": "1"},
    ... ]
    >>> print(verify(history, history[-1:]))
    not ok: lost pinned before[0][1]; kept 1 of 3 messages
    >>> print(verify(history, [*history[:2], {"role": "assistant", "content": "[Summary]"}]))
    ok: kept 2 of 3 messages; 1 new
    """
    wire = get_format(provider)
    old = _own_keys(wire, before)
    new = [_key(message) for message in after] if _is_list(after) else []
    pins = _pins(before) if pinned is None else _check_pins(pinned, len(before))
    found = found_in_order(old, new, frozenset(pins))
    moved = _find_strays(old, new, found, pins)
    return Verification(
        kept=tuple(found.values()),
        total=len(old),
        pinned_lost=tuple(sorted(pins - set(found.values()) - set(moved.values()))),
        reordered=tuple(moved),
        mispaired=_mispaired(before, old, after, new),
        broken=_fault(wire, before, after),
        invented=tuple(
            index for index in range(len(new)) if index not in found and index not in moved
        ),
    )


def _is_list(messages: object) -> bool:
    return isinstance(messages, list | tuple)


def _key(message: object) -> str | None:
    """Return a text that is equal for two messages exactly if they are the same JSON.

    Return None for a message that is not JSON.
    """
    try:
        return (
            json.dumps(message, sort_keys=True, default=_as_object)
            if isinstance(message, Mapping)
            else None
        )
    except (TypeError, ValueError, RecursionError):
        return None


def _as_object(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON data")


def _own_keys(wire: WireFormat, messages: Sequence[Mapping[str, Any]]) -> list[str | None]:
    if not _is_list(messages):
        what = f"{type(messages).__name__} is not a list"
        raise InvalidMessagesError(wire.provider, None, "not-a-list", what, "a list of messages")
    keys = [_key(message) for message in messages]
    if None in keys:
        index, what = keys.index(None), "it is no JSON object"
        raise InvalidMessagesError(wire.provider, index, "not-json", what, "an object of JSON data")
    return keys


def _pins(messages: Sequence[Mapping[str, Any]]) -> set[int]:
    system = {
        index
        for index, message in enumerate(messages)
        if message.get("role") in _SYSTEM and not _is_summary(message)
    }
    task = (
        index
        for index, message in enumerate(messages)
        if message.get("role") == "user" and not _holds_only_results(message)
    )
    return system | {index for index in [next(task, None)] if index is not None}


def _check_pins(pinned: Iterable[int], length: int) -> set[int]:
    pins = set(pinned)
    for index in sorted(pins):
        if not 0 <= index < length:
            raise InvalidOptionError(
                "pinned", index, f"0..{length - 1}" if length else "nothing, the list is empty"
            )
    return pins


def _find_strays(
    old: Sequence[str | None], new: Sequence[str | None], found: Mapping[int, int], pins: set[int]
) -> dict[int, int]:
    """Return the messages that are present but out of order: index in `new` to index in `old`."""
    left, lost = defaultdict[str | None, list[int]](list), set(range(len(old))) - {*found.values()}
    for index in (*sorted(lost - pins, reverse=True), *sorted(lost & pins, reverse=True)):
        left[old[index]].append(index)
    strays = (index for index in range(len(new)) if index not in found)
    return {index: left[new[index]].pop() for index in strays if left.get(new[index])}


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return (
        [block for block in content if isinstance(block, Mapping)]
        if isinstance(content, list | tuple)
        else []
    )


def _answers(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "tool" or any(
        block.get("type") == "tool_result" for block in _blocks(message)
    )


def _is_summary(message: Mapping[str, Any]) -> bool:
    """Return whether a message is a summary, which `project` may summarise again."""
    text = message.get("content")
    texts = [text] if isinstance(text, str) else [each.get("text") for each in _blocks(message)]
    return bool(texts) and all(isinstance(each, str) and is_gist_text(each) for each in texts)


def _holds_only_results(message: Mapping[str, Any]) -> bool:
    blocks = _blocks(message)
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)


def _pairs(
    messages: Sequence[Any], keys: Sequence[str | None]
) -> list[tuple[int, tuple[str | None, str | None]]]:
    """Return the index of each message with results, and the keys of its call and of itself."""
    caller, pairs = None, []
    for index, (message, key) in enumerate(zip(messages, keys, strict=True)):
        if not isinstance(message, Mapping):
            continue
        if message.get("role") == "assistant":
            caller = key
        elif _answers(message):
            pairs.append((index, (caller, key)))
    return pairs


def _mispaired(
    before: Sequence[Any],
    old: Sequence[str | None],
    after: Sequence[Any],
    new: Sequence[str | None],
) -> tuple[int, ...]:
    known, legal = Counter(old), {pair for _, pair in _pairs(before, old)}
    pairs = _pairs(after, new) if new else []
    return tuple(
        index for index, pair in pairs if pair not in legal and all(known[key] for key in pair)
    )


def _fault(wire: WireFormat, before: object, after: object) -> InvalidMessagesError | None:
    """Return the rule that `after` breaks, judged as strictly as `before` can be."""
    is_closed = _refusal(wire, before, open_tail=False, strict=False) is None
    open_tail = not is_closed and _refusal(wire, before, open_tail=True, strict=False) is None
    strict = _refusal(wire, before, open_tail=open_tail, strict=True) is None
    return _refusal(wire, after, open_tail=open_tail, strict=strict)


def _refusal(
    wire: WireFormat, messages: object, *, open_tail: bool, strict: bool
) -> InvalidMessagesError | None:
    try:
        wire.check(messages, allow_open_tail=open_tail, strict_first=strict)
    except InvalidMessagesError as error:
        return error
    return None


# --- finding one list in another -------------------------------------------------
# The longest common subsequence, by Hunt and Szymanski's method. Among the longest ones, it selects
# one with the most preferred entries, which no library's diff offers.


@frozen
class _Chain:
    """Pairs of indices that rise on both sides, last pair first; `worth` counts them."""

    worth: int
    before: int
    after: int
    rest: "_Chain | None"


class _BestBelow:
    """The best chain that ends below any index: a Fenwick tree of maxima, O(log n) a call."""

    __slots__ = ("_best",)

    def __init__(self, size: int) -> None:
        self._best: list[_Chain | None] = [None] * (size + 1)

    def put(self, chain: _Chain) -> None:
        """Add a chain that ends on ``chain.before``."""
        node = chain.before + 1
        while node < len(self._best):
            self._best[node] = _better(self._best[node], chain)
            node += node & -node

    def below(self, index: int) -> _Chain | None:
        """Return the best chain that ends on an index less than `index`."""
        best, node = None, index
        while node:
            best = _better(best, self._best[node])
            node -= node & -node
        return best


def _better(one: _Chain | None, other: _Chain | None) -> _Chain | None:
    if one is None or other is None:
        return one or other
    return other if other.worth > one.worth else one


def found_in_order(
    before: Sequence[str | None],
    after: Sequence[str | None],
    preferred: AbstractSet[int] = frozenset(),
) -> dict[int, int]:
    """Match indices of `after` to indices of `before`, both rising.

    None matches nothing. `preferred` lists indices of `before` to match if possible. Takes O((n +
    pairs) log n), where pairs counts those of equal entries.

    >>> found_in_order(["a", "b", "a"], ["b", "a", "c"])
    {0: 1, 1: 2}
    >>> found_in_order(["a", "a"], ["a"], {1})
    {0: 1}
    """
    head, tail = _ends_in_common(before, after, preferred)
    places: defaultdict[str | None, list[int]] = defaultdict(list)
    for index in range(len(before) - tail - 1, head - 1, -1):
        places[before[index]].append(index)
    places.pop(None, None)
    chain = _longest(places, after, range(head, len(after) - tail), preferred, len(before))
    found = {index: index for index in range(head)}
    pairs: list[tuple[int, int]] = []
    while chain is not None:
        pairs.append((chain.after, chain.before))
        chain = chain.rest
    found.update(reversed(pairs))
    return found | {len(after) - back: len(before) - back for back in range(tail, 0, -1)}


def _longest(
    places: dict[str | None, list[int]],
    after: Sequence[str | None],
    window: range,
    preferred: AbstractSet[int],
    size: int,
) -> _Chain | None:
    best, one = _BestBelow(size), min(size, len(after)) + 1
    for index in window:
        # From the last place to the first, so that no chain holds one entry of `after` twice.
        for place in places.get(after[index], ()):
            rest = best.below(place)
            worth = one + (place in preferred) + (rest.worth if rest else 0)
            best.put(_Chain(worth, place, index, rest))
    return best.below(size)


def _ends_in_common(
    before: Sequence[str | None], after: Sequence[str | None], preferred: AbstractSet[int]
) -> tuple[int, int]:
    """Return how many entries at the head and the tail match, whatever is between.

    These are equal entries, unless an equal preferred entry is further in.
    """
    shorter = min(len(before), len(after))
    last = {before[place]: place for place in sorted(preferred)}
    head = 0
    while (
        head < shorter
        and before[head] == after[head] is not None
        and last.get(before[head], 0) <= head
    ):
        head += 1
    first = {before[place]: place for place in sorted(preferred, reverse=True) if place >= head}
    tail = 0
    while (
        tail < shorter - head
        and before[~tail] == after[~tail] is not None
        and first.get(before[~tail], len(before)) >= len(before) + ~tail
    ):
        tail += 1
    return head, tail
