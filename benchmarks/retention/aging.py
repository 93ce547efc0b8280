"""Measure long sessions of chained recordings.

The figures are the identifiers in view after many compressions, and how often compressions occur.
"""

import json
from collections.abc import Callable, Sequence
from itertools import takewhile
from statistics import fmean
from typing import Any

from attrs import define, evolve, field, frozen

from benchmarks.retention.bound import sources_of, view_of
from benchmarks.retention.growing import Grown, Way, turns_of
from benchmarks.retention.methods import Asked, projected
from benchmarks.retention.recall import Wanted, needles_of, texts_of, whole_text
from benchmarks.retention.recordings import Conversation, Message, pinned, request_tokens
from benchmarks.retention.tally import Tally, middle
from polycontext.window import Turn

AGES = (1, 5, 10, 20, 50)
WINDOWS = 5
"""A session runs until that many windows of messages have passed through it.

Recordings that are too short are repeated with other digits.
"""
EVERY = 3
"""The number of compressions between two projections of the whole log for comparison."""

CYCLE = 1_000
_DIGITS = "123456789"


@frozen
class Chain:
    """Recordings joined into one conversation with the first one's system message.

    `used` holds the identifiers that were used, each with the place where it last occurred.
    """

    messages: list[Message]
    used: list[tuple[int, Wanted]]


def chained(conversations: Sequence[Conversation], tokens: int = 0) -> Chain:
    """Join conversations, and repeat them with other digits up to `tokens`, at most nine times."""
    messages: list[Message] = []
    wanted: dict[tuple[str, frozenset[str]], Wanted] = {}
    times = (
        min(len(_DIGITS), -(-tokens // sum(sum(each.tokens) for each in conversations)))
        if tokens
        else 1
    )
    for conversation in (_altered(each, time) for time in range(times) for each in conversations):
        own = [message for message in conversation.messages if message["role"] != "system"]
        for probe in conversation.probes:
            before = [
                message
                for message in conversation.messages[: probe.at]
                if message["role"] != "system"
            ]
            wanted |= {(each.name, each.spellings): each for each in needles_of(probe, before)}
        messages += [
            *(
                []
                if messages
                else [message for message in conversation.messages if message["role"] == "system"]
            ),
            *own,
        ]
    fixed = whole_text([messages[place] for place in pinned(messages)]) if messages else ""
    moving = [each for each in wanted.values() if not each.stands_in(fixed)]
    return Chain(messages, [(_last(each, messages), each) for each in moving])


def _last(wanted: Wanted, messages: Sequence[Message]) -> int:
    texts = enumerate(map(texts_of, messages))
    return max(place for place, each in texts if any(wanted.stands_in(text) for text in each))


@define
class Aging:
    """Counts of identifiers in view at several ages, in sessions and in projections of the log.

    The age of an identifier is the number of compressions since it last occurred in a turn.
    """

    session: dict[int, Tally] = field(factory=lambda: {age: Tally() for age in AGES})
    whole_log: dict[int, Tally] = field(factory=lambda: {age: Tally() for age in AGES})
    recorded: dict[int, Tally] = field(factory=lambda: {age: Tally() for age in AGES})
    """Of sessions, by the stricter measure: with key and record, or in its sentence."""
    compressions: int = 0
    between: float | None = None
    """The mean share of a request that the next request begins with."""
    paid: float | None = None
    """The mean cost of a request in characters, cached ones counted at a tenth."""
    refused: str | None = None

    def as_data(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data."""
        ages = {
            str(age): {
                "session": self.session[age].share,
                "whole log": self.whole_log[age].share,
                "with record": self.recorded[age].share,
                "of": self.session[age].of,
            }
            for age in AGES
        }
        return {
            "after compressions": ages,
            "compressions": self.compressions,
            "prefix between": self.between,
            "paid": self.paid,
            "ended by": self.refused,
        }


def measure_aging(
    chain: Chain, way: Way, *, window: int, tell: Callable[[str], None] = lambda _: None
) -> Aging:
    """Grow a chain in a window of `window` tokens; check the view at every third compression."""
    aging = Aging()
    grown = Grown(way.session(window), turns_of(chain.messages))
    seen_at: dict[int, int] = {}
    due = sorted(range(len(chain.used)), key=lambda number: chain.used[number][0])
    while grown.taken < len(grown.turns) and grown.refused is None:
        before = grown.compressions
        compressed = grown.step()
        while due and chain.used[due[0]][0] < grown.taken:
            seen_at[due.pop(0)] = before
        if compressed and grown.compressions % EVERY == 0:
            tell(
                f"aging {way}, turn {grown.taken} of {len(grown.turns)}, {grown.compressions} "
                "compressions"
            )
            _look(aging, chain, grown, seen_at)
    aging.compressions = grown.compressions
    if grown.between:
        aging.between, aging.paid = fmean(grown.between), fmean(grown.paid)
    aging.refused = str(grown.refused) if grown.refused else None
    return aging


def _look(aging: Aging, chain: Chain, grown: Grown, seen_at: dict[int, int]) -> None:
    view = grown.view()
    aged = [
        (grown.compressions - since, chain.used[number][1]) for number, since in seen_at.items()
    ]
    looked_at = [
        (age, each) for age, each in aged if any(age in _around(wanted) for wanted in AGES)
    ]
    if not looked_at:
        return
    try:
        log = whole_text(projected(Asked(chain.messages[: grown.taken], request_tokens(view))))
    except Exception:  # noqa: BLE001 - a refusal keeps nothing
        log = ""
    text = whole_text(view)
    sources = sources_of(chain.messages[: grown.taken])
    read = view_of(view, sources)
    for age, each in looked_at:
        nearest = next(wanted for wanted in AGES if age in _around(wanted))
        aging.session[nearest].add(str(grown.compressions), int(each.stands_in(text)), 1)
        aging.whole_log[nearest].add(str(grown.compressions), int(each.stands_in(log)), 1)
        aging.recorded[nearest].add(str(grown.compressions), int(read.binds(each, sources)), 1)


def _around(age: int) -> range:
    """Return the ages that count as `age`.

    Only some compressions are checked, so the range widens for older ages.
    """
    return range(age, age + 1 + age // 10)


def measure_cycles(
    conversations: Sequence[Conversation],
    turns: int,
    way: Way,
    *,
    window: int,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Grow the same messages repeatedly up to `turns` turns.

    Return how many turns a compression served in each cycle. The digits 1 to 9 are shifted from
    cycle to cycle, so that no call repeats an earlier one.
    """
    body = turns_of(chained(conversations).messages)
    head = list(takewhile(lambda turn: turn.role == "system", body))
    cycle = _whole(body[len(head) :], CYCLE)
    cycles = (
        _renumbered(turn, number) for number in range(max(1, turns // len(cycle))) for turn in cycle
    )
    grown = Grown(way.session(window), [*head, *cycles])
    grown.grow(len(head))
    served: list[float] = []
    while grown.refused is None and grown.taken < len(grown.turns):
        tell(f"cycles {way}, turn {grown.taken} of {len(grown.turns)}")
        before = grown.compressions
        if grown.grow(grown.taken + len(cycle)):
            served.append(len(cycle) / max(1, grown.compressions - before))
    return {
        "turns a compression, by cycle": served,
        "cycle": len(cycle),
        "prefix kept": middle(grown.prefixes),
        "ms a compression": 1000 * grown.seconds / grown.compressions
        if grown.compressions
        else None,
        "ended by": str(grown.refused) if grown.refused else None,
    }


def _digits(number: int) -> dict[int, int]:
    shift = number % len(_DIGITS)
    return str.maketrans(_DIGITS, _DIGITS[shift:] + _DIGITS[:shift])


def _altered(conversation: Conversation, number: int) -> Conversation:
    """Return a conversation with the digits 1 to 9 shifted by `number` places.

    The names of keys have no digits.
    """
    if not number:
        return conversation
    table = _digits(number)
    probes = [
        evolve(probe, needles=tuple(needle.translate(table) for needle in probe.needles))
        for probe in conversation.probes
    ]
    moved = (
        json.loads(json.dumps(message, ensure_ascii=False).translate(table))
        for message in conversation.messages
    )
    return evolve(conversation, messages=tuple(moved), probes=tuple(probes))


def _renumbered(turn: Turn, number: int) -> Turn:
    table = _digits(number)
    calls = [evolve(call, arguments=call.arguments.translate(table)) for call in turn.tool_calls]
    return evolve(turn, content=turn.content and turn.content.translate(table), tool_calls=calls)


def _whole(turns: Sequence[Any], least: int) -> list[Any]:
    """Return the first turns up to a user turn after `least` of them.

    The next cycle then follows as a new question does.
    """
    end = next(
        (place for place in range(least, len(turns)) if turns[place].role == "user"), len(turns)
    )
    return list(turns[:end])
