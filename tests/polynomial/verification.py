"""`verify`: check whether a compaction, by any tool, kept what it had to keep.

It only compares two message lists, so it can judge `project`, a framework's trimming and manual
edits alike.
"""

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from attrs import frozen

from polycontext.pressure.gist import is_gist_text
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider, WireFormat, get_format

_SYSTEM = ("system", "developer")

Key = str | None
"""A text that two messages share exactly if they are the same JSON; None if one is not JSON."""
Pair = tuple[Key, Key]
"""The keys of a call and of a message with its results."""


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
        faults = {
            "lost pinned before": self.pinned_lost,
            "out of order after": self.reordered,
            "results of another call after": self.mispaired,
        }
        said = [
            what + "".join(f"[{index}]" for index in indices)
            for what, indices in faults.items()
            if indices
        ]
        said += [f"invalid: {self.broken}"] if self.broken else []
        said += [f"kept {len(self.kept)} of {self.total} messages"]
        said += [f"{len(self.invented)} new"] if self.invented else []
        return ("ok: " if self.ok else "not ok: ") + "; ".join(said)


def verify(
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    *,
    provider: Provider | str = Provider.OPENAI,
) -> Verification:
    """Compare the message list before a compaction with the one after it.

    The system messages that are not summaries, and the first user message that contains more than
    results, must stay byte for byte. `after` must be valid for the provider; it may end on open
    calls or begin with the assistant if `before` does.
    """
    wire = get_format(provider)
    old = [_key(message) for message in before]
    listed = after if isinstance(after, list | tuple) else []
    new = [_key(message) for message in listed]
    pins = _pins(before)
    found = found_in_order(old, new)
    moved = _find_strays(old, new, found, pins)
    return Verification(
        kept=tuple(found.values()),
        total=len(old),
        pinned_lost=tuple(sorted(pins.difference(found.values(), moved.values()))),
        reordered=tuple(moved),
        mispaired=_mispaired(_pairs(before, old), _pairs(listed, new), Counter(old)),
        broken=_fault(wire, before, after),
        invented=tuple(sorted(set(range(len(new))).difference(found, moved))),
    )


def _key(message: object) -> Key:
    if not isinstance(message, Mapping):
        return None
    try:
        return json.dumps(message, sort_keys=True, default=_as_object)
    except (TypeError, ValueError, RecursionError):
        return None


def _as_object(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON data")


def _pins(messages: Sequence[Mapping[str, Any]]) -> set[int]:
    pins, tasks = set[int](), list[int]()
    for index, message in enumerate(messages):
        role, results = message.get("role"), _results(message)
        if role in _SYSTEM and not _is_summary(message):
            pins.add(index)
        elif role == "user" and not (results and all(results)):
            tasks.append(index)
    return {*pins, *tasks[:1]}


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    blocks = content if isinstance(content, list | tuple) else ()
    return [block for block in blocks if isinstance(block, Mapping)]


def _results(message: Mapping[str, Any]) -> list[bool]:
    """Return for each block of a message whether it is the result of a call."""
    return [block.get("type") == "tool_result" for block in _blocks(message)]


def _is_summary(message: Mapping[str, Any]) -> bool:
    """Return whether a message is a summary, which `project` may summarise again."""
    text = message.get("content")
    texts = [text] if isinstance(text, str) else [each.get("text") for each in _blocks(message)]
    return bool(texts) and all(isinstance(each, str) and is_gist_text(each) for each in texts)


def found_in_order(before: Sequence[Key], after: Sequence[Key]) -> dict[int, int]:
    """Match indices of `after` to indices of `before`, both rising.

    If `after` has only entries of `before`, in their order, all are matched.

    >>> found_in_order(["a", "b", "a"], ["b", "a", "c"])
    {0: 1, 1: 2}
    """
    counts, again = Counter(before), Counter(after)
    places = {key: place for place, key in enumerate(before) if counts[key] == 1}
    unique = (
        (index, places[key]) for index, key in enumerate(after) if key in places and again[key] == 1
    )
    found, done, start = dict[int, int](), 0, 0
    # Between two entries that occur once, those that occur several times are matched in order.
    for index, stop in [*_longest_rise(unique), (len(after), len(before))]:
        for between in (each for each in range(done, index) if after[each] in counts):
            with suppress(ValueError):
                found[between] = before.index(after[between], start, stop)
                start = found[between] + 1
        if index < len(after):
            found[index] = stop
        done, start = index + 1, stop + 1
    return found


def _longest_rise(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return as many as possible of `pairs` whose second numbers rise; their first ones do."""
    ends, chains = list[int](), list[tuple[Any, ...]]()
    for index, place in pairs:
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        chains[length : length + 1] = [(index, place, *chains[length - 1 : length])]
    rise, chain = list[tuple[int, int]](), chains[-1:]
    while chain:
        index, place, *chain = chain[0]
        rise.append((index, place))
    return rise[::-1]


def _find_strays(
    old: Sequence[Key], new: Sequence[Key], found: Mapping[int, int], pins: set[int]
) -> dict[int, int]:
    """Return the messages that are present but out of order: index in `new` to index in `old`."""
    left = defaultdict[Key, list[int]](list)
    lost = set(range(len(old))).difference(found.values())
    for index in sorted(lost, key=lambda index: (index in pins, -index)):
        left[old[index]].append(index)
    strays = (index for index in range(len(new)) if index not in found)
    return {index: left[new[index]].pop() for index in strays if left.get(new[index])}


def _mispaired(
    before: Iterator[tuple[int, Pair]], after: Iterator[tuple[int, Pair]], known: Counter[Key]
) -> tuple[int, ...]:
    legal = {pair for _, pair in before}
    return tuple(
        index for index, pair in after if pair not in legal and all(known[key] for key in pair)
    )


def _pairs(messages: Sequence[Any], keys: Sequence[Key]) -> Iterator[tuple[int, Pair]]:
    """Yield the index of each message with results, and the keys of its call and of itself."""
    caller = None
    for index, (message, key) in enumerate(zip(messages, keys, strict=True)):
        if not isinstance(message, Mapping):
            continue
        if message.get("role") == "assistant":
            caller = key
        elif message.get("role") == "tool" or any(_results(message)):
            yield index, (caller, key)


def _fault(wire: WireFormat, before: object, after: object) -> InvalidMessagesError | None:
    """Return the rule that `after` breaks, judged as strictly as `before` can be."""

    def refusal(messages: object, *, open_tail: bool) -> InvalidMessagesError | None:
        try:
            wire.check(messages, allow_open_tail=open_tail)
        except InvalidMessagesError as error:
            return error
        return None

    open_tail = refusal(before, open_tail=False) is not None and (
        refusal(before, open_tail=True) is None
    )
    return refusal(after, open_tail=open_tail)
