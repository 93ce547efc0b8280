"""Broken counters and message formats, each of which a law rejects."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from attrs import evolve

from polycontext.window import EstimatingCounter, ToolCall, Turn
from polycontext.window.laws import counters
from polycontext.window.providers import Message, Parsed, Rendered, WireFormat, get_format
from tests.laws.counterexamples import breaks, obeys
from tests.laws.internal import formats

USER, ANSWER = Turn("user", "Weather in Paris?"), Turn("assistant", "21 degrees.")
CALLS = Turn("assistant", None, tool_calls=(ToolCall("a", "weather"), ToolCall("b", "hotels")))
RESULTS = (
    Turn("tool", "none free", tool_call_id="b"),
    Turn("tool", "21 degrees", tool_call_id="a"),
)
OPENAI = get_format("openai")


class Moody:
    """Say less each time, whatever the text."""

    exact = False

    def __init__(self) -> None:
        self.answers = count(1_000, -100)

    def count(self, text: str) -> int:
        return next(self.answers)


class Charging(EstimatingCounter):
    """Charge for nothing."""

    def count(self, text: str) -> int:
        return super().count(text) + 1


def writing(change: Callable[[list[Message]], list[Message]]) -> WireFormat:
    """Return OpenAI's format with a change in what it writes."""
    return evolve(
        OPENAI,
        render=lambda turns, *, readable=False: Rendered(change(OPENAI.render(turns).messages)),
    )


def swapped(messages: list[Message]) -> list[Message]:
    """Give the results of the last two messages to each other's call."""
    *rest, one, other = messages
    return [
        *rest,
        {**one, "tool_call_id": other["tool_call_id"]},
        {**other, "tool_call_id": one["tool_call_id"]},
    ]


def renamed(messages: list[Message]) -> list[Message]:
    """Let every call be one of another tool."""
    calls = [
        {**call, "function": {"name": "search", "arguments": "{}"}}
        for call in messages[1]["tool_calls"]
    ]
    return [messages[0], {**messages[1], "tool_calls": calls}, *messages[2:]]


breaks(
    counters.counting_repeats,
    "a counter that is moody or charges for nothing",
    lambda law: law(Moody(), "hello"),
    lambda law: law(Charging(), "hello"),
)
breaks(
    counters.a_turn_costs_its_text_and_framing,
    "a counter that says less the second time",
    lambda law: law(Moody(), USER),
)
breaks(
    formats.what_is_written_is_valid,
    "a format that writes calls without results",
    lambda law: law(
        writing(lambda messages: [*messages[:2], messages[-1]]), [USER, CALLS, *RESULTS, ANSWER]
    ),
)


def losing(place: int) -> WireFormat:
    """Return OpenAI's format without one of the messages."""
    return writing(lambda messages: [each for each in messages if each is not messages[place]])


WITH_RULES = [Turn("system", "Be brief."), USER, ANSWER]
breaks(
    formats.reading_undoes_writing,
    "a text is lost",
    lambda law: law(losing(0), WITH_RULES),
    lambda law: law(losing(-1), WITH_RULES),
)
breaks(
    formats.reading_undoes_writing,
    "a format that changes the order",
    lambda law: law(writing(lambda messages: messages[::-1]), [USER, ANSWER]),
)
breaks(
    formats.reading_undoes_writing,
    "a format that calls another tool",
    lambda law: law(writing(renamed), [USER, CALLS, *RESULTS]),
)
breaks(
    formats.reading_undoes_writing,
    "a format that swaps parallel results",
    lambda law: law(writing(swapped), [USER, CALLS, *RESULTS]),
)


def rewriting(change: Callable[[list[Message]], list[Message]]) -> WireFormat:
    """Return OpenAI's format with a change in what it writes the third time."""
    times = count(1)

    def render(turns: Iterable[Turn], *, readable: bool = False) -> Rendered:
        messages = OPENAI.render(turns).messages
        return Rendered(change(messages) if next(times) > 2 else messages)

    return evolve(OPENAI, render=render)


breaks(
    formats.what_was_read_is_written_back_unchanged,
    "a format that rewrites what it read",
    lambda law: law(rewriting(lambda messages: []), [USER, ANSWER]),
    lambda law: law(rewriting(lambda messages: messages[::-1]), [USER, ANSWER]),
)


def marking(messages: Any, *, repair: bool = False, waiting: Iterable[str] = ()) -> Parsed:
    """Mark what is read."""
    parsed = OPENAI.parse(messages)
    messages[0]["seen"] = True
    return parsed


breaks(
    formats.what_was_read_is_written_back_unchanged,
    "a format that marks what it reads",
    lambda law: law(evolve(OPENAI, parse=marking), [USER, ANSWER]),
)


def hoisting(messages: list[Message]) -> list[Message]:
    """Put every system message first, wherever it was said."""
    return sorted(messages, key=lambda message: message["role"] != "system")


breaks(
    formats.what_is_written_stays_when_more_is_said,
    "a format that hoists what the system says later, or writes the end anew",
    lambda law: law(writing(hoisting), [USER, ANSWER, Turn("system", "Be brief."), USER]),
    lambda law: law(writing(lambda messages: messages[-1:]), [USER, ANSWER, USER]),
)
TURNS = [Turn("system", "Be brief."), USER, CALLS, *RESULTS, ANSWER]
obeys(formats.what_is_written_is_valid, "the format itself", lambda law: law(OPENAI, TURNS))
obeys(formats.reading_undoes_writing, "the format itself", lambda law: law(OPENAI, TURNS))
obeys(
    formats.what_is_written_stays_when_more_is_said,
    "the format itself",
    lambda law: law(OPENAI, [*TURNS, Turn("system", "x"), USER]),
)
obeys(
    formats.what_was_read_is_written_back_unchanged,
    "the format itself",
    lambda law: law(OPENAI, TURNS),
)
