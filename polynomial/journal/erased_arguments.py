"""Erase words in the arguments of events that a subclass of the machine adds."""

import re
from collections.abc import Collection, Sequence

import orjson
from attrs import evolve

from polycontext.window import Role

from ..inputs import Arguments
from ..machine.context_machine import ContextMachine
from .events import ClearEvent, Event, MoveEvent, RewindEvent, TurnEvent

_SHORTEST_MARK = 4
_ANY_WORD = re.compile(r"[\w-]+")


def without_words(
    events: Sequence[Event], resource_ids: Collection[str], machine: type[ContextMachine]
) -> dict[int, Event]:
    """Return the events that change, by number from 1, if the words of these turns are erased.

    Events of the same exchange as one of these turns lose all words, later ones those that quote:
    four words in a row, or a word with a digit. The machine says what is a word.
    """
    numbers, changed = _exchange_numbers(events), dict[int, Event]()
    said = {
        number: event.turn.text
        for number, event in enumerate(events)
        if isinstance(event, TurnEvent) and event.turn.resource_id in resource_ids
    }
    own = {numbers[number] for number in said}
    marks = set[str]().union(*map(_marks, said.values()))
    for number, event in enumerate(events):
        if isinstance(event, MoveEvent) and number > min(said, default=number):
            given = orjson.loads(event.arguments)
            in_full = numbers[number] in own
            left = machine.forgotten(
                event.name,
                given,
                lambda text, in_full=in_full: in_full or not marks.isdisjoint(_marks(text)),  # type: ignore[misc]
            )
            if [*left] != given:
                changed[number + 1] = evolve(event, arguments=Arguments(*left).text)
    return changed


def calls_with_words(events: Sequence[Event], resource_ids: Collection[str]) -> set[str]:
    """Return the ids of the turns that call tools for an agent in the exchanges of these turns.

    The arguments repeat what the agent's answers say.
    """
    numbers = _exchange_numbers(events)
    turns = [
        (number, event.turn)
        for number, event in zip(numbers, events, strict=True)
        if isinstance(event, TurnEvent)
    ]
    own = {number for number, turn in turns if turn.resource_id in resource_ids}
    own &= {n for n, event in zip(numbers, events, strict=True) if isinstance(event, MoveEvent)}
    return {turn.resource_id for number, turn in turns if number in own and turn.tool_calls}


def _exchange_numbers(events: Sequence[Event]) -> list[int]:
    """Return the number of the exchange to which each event belongs.

    The first user turn after an answer begins one.
    """
    numbers, answered, newest = [0], [True], 0
    for event in events:
        number, is_answered = numbers[-1], answered[-1]
        match event:
            case RewindEvent():
                number, is_answered = numbers[event.to], answered[event.to]
            case ClearEvent():
                is_answered = True
            case TurnEvent(turn=turn) if turn.role is Role.USER and is_answered:
                number = newest = newest + 1
                is_answered = False
            case TurnEvent(turn=turn) if turn.role is Role.ASSISTANT and not turn.tool_calls:
                is_answered = True
            case _:
                pass
        numbers.append(number)
        answered.append(is_answered)
    return numbers[1:]


def _marks(text: str) -> set[str]:
    """Return what marks a text: four words in a row, and words with a digit."""
    words = _ANY_WORD.findall(text.casefold())
    runs = {" ".join(words[place : place + 4]) for place in range(len(words) - 3)}
    return runs | {word for word in words if len(word) >= _SHORTEST_MARK and not word.isalpha()}
