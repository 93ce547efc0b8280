"""Broken counters and message formats, each of which a law rejects."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest
from attrs import evolve

from polycontext.window import EstimatingCounter, TokenCounter, ToolCall, Turn, laws
from polycontext.window.providers import Message, Parsed, Rendered, WireFormat, get_format
from polycontext.window.providers.wire import Rebuild
from tests.laws.breaking import breaks

USER, ANSWER = Turn("user", "Weather in Paris?"), Turn("assistant", "21 degrees.")
CALLS = Turn("assistant", None, tool_calls=(ToolCall("a", "weather"), ToolCall("b", "hotels")))
RESULTS = (Turn("tool", "none free", tool_call_id="b"), Turn("tool", "21 degrees", tool_call_id="a"))
OPENAI = get_format("openai")


class Moody:
    """Say less each time, whatever the text."""

    exact = False

    def __init__(self) -> None:
        self.answers = count(1_000, -100)

    def count(self, text: str) -> int:
        """Count down."""
        return next(self.answers)


class Charging(EstimatingCounter):
    """Charge for nothing."""

    def count(self, text: str) -> int:
        """Add one."""
        return super().count(text) + 1


def writing(change: Callable[[list[Message]], list[Message]]) -> WireFormat:
    """Return OpenAI's format with a change in what it writes."""
    return evolve(OPENAI, render=lambda turns: Rendered(change(OPENAI.render(turns).messages)))


def swapped(messages: list[Message]) -> list[Message]:
    """Give the results of the last two messages to each other's call."""
    *rest, one, other = messages
    return [*rest, {**one, "tool_call_id": other["tool_call_id"]}, {**other, "tool_call_id": one["tool_call_id"]}]


def renamed(messages: list[Message]) -> list[Message]:
    """Let every call be one of another tool."""
    calls = [{**call, "function": {"name": "search", "arguments": "{}"}} for call in messages[1]["tool_calls"]]
    return [messages[0], {**messages[1], "tool_calls": calls}, *messages[2:]]


def emptied(parsed: Parsed, turns: Iterable[Turn], positions: Any) -> Rendered:
    """Write nothing back."""
    return Rendered([])


def shuffled(parsed: Parsed, turns: Iterable[Turn], positions: Any) -> Rendered:
    """Write everything back, the last first."""
    return Rendered(OPENAI.rebuild(parsed, turns, positions).messages[::-1])


@breaks(laws.counting_repeats)
@pytest.mark.parametrize("counter", [Moody(), Charging()])
def test_a_counter_that_is_moody_or_charges_for_nothing(counter: TokenCounter) -> None:
    """The same text must cost the same, and no text nothing."""
    laws.counting_repeats(counter, "hello")


@breaks(laws.a_turn_costs_its_text_and_framing)
def test_a_counter_that_says_less_the_second_time() -> None:
    """A turn must not be cheaper than its text."""
    laws.a_turn_costs_its_text_and_framing(Moody(), USER)


@breaks(laws.what_is_written_is_valid)
def test_a_format_that_writes_calls_without_results() -> None:
    """A list the provider would refuse is noticed here, not there."""
    laws.what_is_written_is_valid(writing(lambda messages: [*messages[:2], messages[-1]]), [USER, CALLS, *RESULTS, ANSWER])


@breaks(laws.reading_undoes_writing)
@pytest.mark.parametrize("lost", [0, -1])
def test_a_format_that_loses_a_text(lost: int) -> None:
    """Every text must come back, of a system turn too."""
    turns = [Turn("system", "Be brief."), USER, ANSWER]
    laws.reading_undoes_writing(writing(lambda messages: [each for each in messages if each is not messages[lost]]), turns)


@breaks(laws.reading_undoes_writing)
def test_a_format_that_changes_the_order() -> None:
    """Texts must come back in their order."""
    laws.reading_undoes_writing(writing(lambda messages: messages[::-1]), [USER, ANSWER])


@breaks(laws.reading_undoes_writing)
def test_a_format_that_calls_another_tool() -> None:
    """Calls must come back as they were."""
    laws.reading_undoes_writing(writing(renamed), [USER, CALLS, *RESULTS])


@breaks(laws.reading_undoes_writing)
def test_a_format_that_swaps_parallel_results() -> None:
    """A result must come back as that of its own call."""
    laws.reading_undoes_writing(writing(swapped), [USER, CALLS, *RESULTS])


@breaks(laws.what_was_read_is_written_back_unchanged)
@pytest.mark.parametrize("rebuild", [emptied, shuffled])
def test_a_format_that_rewrites_what_it_read(rebuild: Rebuild) -> None:
    """Originals must be written back as they came."""
    laws.what_was_read_is_written_back_unchanged(evolve(OPENAI, rebuild=rebuild), [USER, ANSWER])


@breaks(laws.what_was_read_is_written_back_unchanged)
def test_a_format_that_marks_what_it_reads() -> None:
    """Reading must not write."""

    def marking(messages: Any, *, repair: bool = False) -> Parsed:
        parsed = OPENAI.parse(messages)
        messages[0]["seen"] = True
        return parsed

    laws.what_was_read_is_written_back_unchanged(evolve(OPENAI, parse=marking), [USER, ANSWER])


def test_what_is_unbroken_passes_the_same_laws() -> None:
    """The formats above fail for their fault alone: the same laws accept the same turns without it."""
    turns = [Turn("system", "Be brief."), USER, CALLS, *RESULTS, ANSWER]
    laws.what_is_written_is_valid(OPENAI, turns)
    laws.reading_undoes_writing(OPENAI, turns)
    laws.what_was_read_is_written_back_unchanged(OPENAI, turns)
