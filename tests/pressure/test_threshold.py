"""Thresholds: two marks make the hysteresis, and signals move the adaptive upper one."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.pressure import (
    AdaptiveThreshold,
    FixedThreshold,
    Signals,
)
from polycontext.pressure.threshold import is_looping, mark_above
from polycontext.window import Part, Role, ToolCall, Turn
from tests.pressure.samples import extended, opened, user

SHARES = st.floats(0.0, 1.0)
SIGNALS = st.builds(
    Signals, progress=st.none() | SHARES, error_rate=st.none() | SHARES, looping=st.booleans()
)


@given(st.sampled_from([FixedThreshold(), AdaptiveThreshold()]), st.integers(1, 10**7))
def test_the_mark_is_exact_for_windows_of_any_size(threshold: FixedThreshold, tenth: int) -> None:
    """Exactly seven tenths of a window are not pressured, and one token more is."""
    assert not threshold.is_pressured(7 * tenth / (10 * tenth))
    assert threshold.is_pressured((7 * tenth + 1) / (10 * tenth))


def test_compression_aims_below_the_mark() -> None:
    """The marks are 0.7 and 0.4 unless told otherwise."""
    assert (
        (FixedThreshold().high(), FixedThreshold().low)
        == (AdaptiveThreshold().high(), AdaptiveThreshold().low)
        == (0.7, 0.4)
    )


def test_a_fixed_threshold_ignores_signals() -> None:
    """Whatever the agent reports, the mark stays."""
    assert FixedThreshold(0.6).high(Signals(progress=1.0, error_rate=1.0, looping=True)) == 0.6


@given(SIGNALS)
def test_the_adaptive_mark_stays_within_its_bounds(signals: Signals) -> None:
    """Whatever the signals, the mark is within [0.5, 0.95]."""
    assert 0.5 <= AdaptiveThreshold().high(signals) <= 0.95


def test_how_far_each_signal_moves_the_mark() -> None:
    """Progress adds up to 0.2, errors take up to 0.2 and a loop 0.1, within the bounds."""
    high = AdaptiveThreshold(base=0.75).high
    assert high(Signals(progress=0.5)) == pytest.approx(0.85)
    assert high(Signals(progress=1.0)) == 0.95
    assert high(Signals(error_rate=0.5)) == pytest.approx(0.65)
    assert high(Signals(looping=True)) == pytest.approx(0.65)
    assert high(Signals(error_rate=1.0, looping=True)) == 0.5


@given(SIGNALS, st.floats(0.01, 1.0), SHARES)
def test_the_upper_mark_is_never_below_the_lower_one(
    signals: Signals, base: float, low: float
) -> None:
    """Compression can always aim below the mark that called for it."""
    threshold = AdaptiveThreshold(base=base, low=min(base, low))
    assert threshold.high(signals) >= threshold.low


ILLEGAL: dict[str, Any] = {
    "base of zero": lambda: FixedThreshold(base=0.0, low=0.0),
    "base above one": lambda: FixedThreshold(base=1.1),
    "base that is not a number": lambda: FixedThreshold(base=float("nan")),
    "low above base": lambda: FixedThreshold(base=0.5, low=0.6),
    "negative low": lambda: FixedThreshold(low=-0.1),
    "adaptive base above one": lambda: AdaptiveThreshold(base=2.0),
    "minimum above maximum": lambda: AdaptiveThreshold(minimum=0.9, maximum=0.6),
    "maximum above one": lambda: AdaptiveThreshold(maximum=1.5),
    "negative minimum": lambda: AdaptiveThreshold(minimum=-0.5),
    "progress above one": lambda: Signals(progress=1.5),
    "negative error rate": lambda: Signals(error_rate=-0.5),
    "progress that is not a number": lambda: Signals(progress=float("nan")),
}


@pytest.mark.parametrize("make", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_impossible_marks_and_signals_are_refused(make: Any) -> None:
    """Marks and signals are shares of one; the error says which one and what is legal."""
    with pytest.raises(InvalidOptionError, match="Use "):
        make()


def test_marks_may_stand_at_the_ends_of_their_ranges() -> None:
    """All of the window and nothing of it are shares too, and both bounds may be one."""
    assert FixedThreshold(base=1.0, low=0.0).high() == 1.0
    assert FixedThreshold(base=0.4, low=0.4).high() == 0.4
    wide = AdaptiveThreshold(
        base=0.5, low=0.0, minimum=0.0, maximum=1.0, progress_gain=9.0, error_loss=9.0
    )
    assert (wide.high(Signals(progress=1.0)), wide.high(Signals(error_rate=1.0))) == (1.0, 0.0)
    assert AdaptiveThreshold(minimum=0.6, maximum=0.6).high(Signals(looping=True)) == 0.6


# --- where compression aims ------------------------------------------------


@pytest.mark.parametrize(
    ("floor", "mark"),
    [(0.0, 0.8), (0.2, 0.84), (0.5, 0.9), (0.8, 0.96), (0.95, 0.99), (1.0, 1.0), (1.3, 1.0)],
)
def test_what_cannot_yield_takes_its_room_from_both_sides_of_a_mark(
    floor: float, mark: float
) -> None:
    """Four fifths of what is free are used at the mark 0.8, whatever is not free."""
    assert mark_above(floor, 0.8) == pytest.approx(mark)


# --- loops and pressure ----------------------------------------------------


def _round(
    number: int, answer: str = "no", *, name: str = "run", arguments: str = '{"x": 1}'
) -> list[Turn]:
    """Return a call and its result, under an id of its own."""
    call = ToolCall(f"call-{number}", name, arguments)
    return [
        Turn(Role.ASSISTANT, None, tool_calls=(call,)),
        Turn(Role.TOOL, answer, tool_call_id=call.id),
    ]


def _rounds(
    count: int,
    answer: str = "no",
    *,
    first: int = 0,
    name: str = "run",
    arguments: str = '{"x": 1}',
) -> list[Turn]:
    return [
        turn
        for number in range(count)
        for turn in _round(first + number, answer, name=name, arguments=arguments)
    ]


SAID = Turn(Role.ASSISTANT, "Let me try once more.")
LOOPS: dict[str, tuple[list[Turn], bool]] = {
    "nothing": ([], False),
    "twice": (_rounds(2), False),
    "three times": (_rounds(3), True),
    "four times": (_rounds(4), True),
    "another result last": ([*_rounds(3), *_round(3, "yes")], False),
    "another result in between": ([*_rounds(2), *_round(2, "yes"), *_rounds(2, first=3)], False),
    "another result first": ([*_round(0, "yes"), *_rounds(3, first=1)], True),
    "other arguments last": ([*_rounds(3), *_round(3, arguments='{"x": 2}')], False),
    "another tool in between": ([*_rounds(2), *_round(2, name="ls"), *_rounds(2, first=3)], False),
    "the user speaks in between": ([*_rounds(2), user("Go on."), *_rounds(2, first=2)], False),
    "the user speaks after it": ([*_rounds(3), user("Stop.")], False),
    "the system speaks after it": ([*_rounds(3), Turn(Role.SYSTEM, "Stop.")], False),
    "the assistant speaks in between": (
        [*_rounds(1), SAID, *_rounds(1, first=1), SAID, *_rounds(1, first=2), SAID],
        True,
    ),
    "a cut result": ([*_rounds(2), _round(2)[0], evolve(_round(2)[1], sources=("t9",))], False),
    "other parts": (
        [*_rounds(2), _round(2)[0], evolve(_round(2)[1], parts=(Part("openai", "{}"),))],
        False,
    ),
    "the same call is open": ([*_rounds(3), _round(3)[0]], True),
    "two and the same call open": ([*_rounds(2), _round(3)[0]], False),
    "another call before the open one": (
        [*_rounds(2, name="ls"), *_round(2), _round(3, name="ls")[0]],
        False,
    ),
    "another call is open": ([*_rounds(3), _round(3, name="ls")[0]], False),
    "long ago": ([*_rounds(3), *[SAID] * 10], False),
    "just seen": ([*_rounds(3), *[SAID] * 9], True),
}


@pytest.mark.parametrize("name", LOOPS)
def test_three_identical_rounds_in_a_row_are_a_loop(name: str) -> None:
    """Name, arguments and result alike, and nothing of another kind in between."""
    turns, expected = LOOPS[name]
    assert is_looping(extended(opened(), turns)) is expected


def _parallel(
    number: int, *answers: str, names: tuple[str, str] = ("ls", "cat"), backwards: bool = False
) -> list[Turn]:
    asked = tuple(ToolCall(f"{name}-{number}", name) for name in names)
    results = [
        Turn(Role.TOOL, answer, tool_call_id=call.id)
        for call, answer in zip(asked, answers, strict=False)
    ]
    return [
        Turn(Role.ASSISTANT, None, tool_calls=asked),
        *(results[::-1] if backwards else results),
    ]


def test_calls_side_by_side_are_one_round() -> None:
    """Parallel calls are compared as one round, in any order of results."""
    same = [
        turn for number in range(3) for turn in _parallel(number, "a", "b", backwards=number == 1)
    ]
    assert is_looping(extended(opened(), same))
    assert not is_looping(extended(opened(), [*same[:6], *_parallel(2, "a", "c")]))
    assert not is_looping(extended(opened(), [*same[:6], *_parallel(2, "b", "a")]))
    assert not is_looping(
        extended(opened(), [*same[:6], *_parallel(2, "b", "a", names=("cat", "ls"))])
    )
    twice = [*same[:3], *_parallel(1, "a", "a", names=("ls", "ls2")), *same[6:]]
    assert not is_looping(extended(opened(), twice))
    assert is_looping(extended(opened(), [*same, *_parallel(3, "a")]))
