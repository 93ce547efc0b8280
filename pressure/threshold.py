"""When a window counts as pressured, and how far automatic compression goes.

The two marks form a hysteresis: a window is pressured above `high`, and compression aims at `low`,
so that the next one is many turns away and the provider's prompt cache stays valid in between. A
session's marks are shares of the room beside what cannot shrink, so a large system prompt does not
make compression more frequent. The adaptive threshold moves `high` according to the agent's
signals.
"""

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import Protocol

from attrs import field, frozen
from attrs.validators import optional

from polycontext.base import guided, is_number, must_be, require
from polycontext.window import ContextWindow, Role, Turn

_REPEATS = 3
"""How many equal rounds are a loop."""

_ATOMS_A_REPEAT = 4
"""How many atoms one repeat may take, including what the assistant says in between."""


_check_share = optional(must_be(lambda value: is_number(value, 0, 1), "0.0 to 1.0"))


@guided
@frozen
class Signals:
    """How the task is going: progress and error rate as shares, and whether it loops.

    None means unknown.
    """

    progress: float | None = field(default=None, validator=_check_share)
    error_rate: float | None = field(default=None, validator=_check_share)
    looping: bool = False


NO_SIGNALS = Signals()


class Threshold(Protocol):
    """The high and low marks: above which pressure to compress, and the pressure to aim at."""

    @property
    def low(self) -> float:
        """Return the pressure that automatic compression aims at."""
        ...

    def high(self, signals: Signals = NO_SIGNALS) -> float:
        """Return the pressure above which a window is pressured."""
        ...


@guided
@frozen
class FixedThreshold:
    """A threshold with constant marks.

    >>> FixedThreshold().is_pressured(0.7), FixedThreshold().is_pressured(0.7001)
    (False, True)
    """

    base: float = 0.7
    low: float = 0.4

    def __attrs_post_init__(self) -> None:
        require("base", self.base, 0.0 < self.base <= 1.0, "above 0.0, at most 1.0")
        require("low", self.low, 0.0 <= self.low <= self.base, f"0.0 to base = {self.base}")

    def high(self, signals: Signals = NO_SIGNALS) -> float:
        """Return the base, whatever the signals are."""
        return self.base

    def is_pressured(self, pressure: float, signals: Signals = NO_SIGNALS) -> bool:
        """Return whether `pressure` is above the high mark; the mark itself is not pressured."""
        return pressure > self.high(signals)


@guided
@frozen
class AdaptiveThreshold(FixedThreshold):
    """A threshold whose high mark moves within [minimum, maximum] with the agent's signals.

    See docs/pressure.md, "Thresholds".

    Near the end of a task, compression is no longer worthwhile: progress raises the mark by up to
    0.2. Errors and loops are signs of a cluttered context: an error rate of 1 lowers it by 0.2, a
    loop by 0.1. Without signals it is the base.

    >>> threshold = AdaptiveThreshold()
    >>> (
    ...     threshold.high(),
    ...     round(threshold.high(Signals(progress=1.0)), 2),
    ...     round(threshold.high(Signals(error_rate=1.0, looping=True)), 2),
    ... )
    (0.7, 0.9, 0.5)
    """

    minimum: float = 0.5
    maximum: float = 0.95
    progress_gain: float = 0.2
    error_loss: float = 0.2
    loop_loss: float = 0.1

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        require(
            "minimum",
            self.minimum,
            0.0 <= self.minimum <= self.maximum,
            f"0.0 to maximum = {self.maximum}",
        )
        require("maximum", self.maximum, self.maximum <= 1.0, "at most 1.0")

    def high(self, signals: Signals = NO_SIGNALS) -> float:
        """Return the base moved by `signals`, within [minimum, maximum] and never below `low`.

        Without signals, the result is exactly the base.
        """
        if signals == NO_SIGNALS:
            return self.base
        mark = self.base + self.progress_gain * (signals.progress or 0.0)
        mark -= self.error_loss * (signals.error_rate or 0.0)
        mark -= self.loop_loss * signals.looping
        return max(self.low, min(self.maximum, max(self.minimum, mark)))


def session_threshold() -> AdaptiveThreshold:
    """Return the default threshold of a session, which the sweep in docs/retention.md chose."""
    return AdaptiveThreshold(0.97, 0.8, maximum=0.99)


def mark_above(floor: float, share: float) -> float:
    """Return the pressure at which `share` of the room beside `floor` is used.

    No plan gets below `floor`. The result is 1 if there is no room.

    Laws: monotone in both; never below `share`.

    >>> mark_above(0.0, 0.7), round(mark_above(0.5, 0.7), 2), mark_above(1.2, 0.7)
    (0.7, 0.85, 1.0)
    """
    return share + floor * (1.0 - share) if floor < 1.0 else 1.0


def is_looping(window: ContextWindow) -> bool:
    """Return whether the last three rounds of calls are equal, in names, arguments and results.

    A round is an atom with calls: parallel calls count as one round, whatever the order of their
    results. The sequence is ended by a round with another call or another result, by a user or
    system turn, and by a result that was cut to a gist. Assistant turns in between do not end it.
    Open calls are not a round yet, but end the sequence at once if they differ from the calls
    before.

    Only the last twelve atoms are read, however long the conversation.

    >>> from polycontext.window import ToolCall
    >>> window = ContextWindow(1000).append(Turn("user", "Is it there?"))
    >>> for number in range(3):
    ...     window = window.append(
    ...         Turn("assistant", None, tool_calls=[ToolCall(f"c{number}", "ls", "{}")])
    ...     )
    ...     window = window.append(Turn("tool", "nothing", tool_call_id=f"c{number}"))
    >>> is_looping(window)
    True
    """
    newest = window.peek(len(window))
    # This is called for every turn; a user turn is decided at once.
    if newest is None or newest.role is Role.USER:
        return False
    rounds = _rounds_from_the_end(window, _ATOMS_A_REPEAT * _REPEATS)
    asked, results = next(rounds, (None, None))
    if results is None:  # calls are open
        newest_asked, results = next(rounds, (None, None))
        if newest_asked != asked:
            return False
    alike = takewhile((asked, results).__eq__, islice(rounds, _REPEATS - 1))
    return asked is not None and sum(1 for _ in alike) == _REPEATS - 1


Round = tuple[list[tuple[str, str]], list[object] | None]
"""The calls (names and arguments) and their results in the order of the calls; the results are None
while a call is open."""


def _rounds_from_the_end(window: ContextWindow, atoms: int) -> Iterator[Round]:
    """Yield the rounds among the last `atoms` atoms, last first, until the sequence ends."""
    for head, answers in islice(_atoms_from_the_end(window), atoms):
        if head.tool_calls:
            if any(answer.is_gist for answer in answers):
                return
            is_open = len(answers) < len(head.tool_calls)
            yield (
                [(call.name, call.arguments) for call in head.tool_calls],
                None if is_open else _results(head, answers),
            )
        elif head.role is not Role.ASSISTANT:
            return


def _atoms_from_the_end(window: ContextWindow) -> Iterator[tuple[Turn, list[Turn]]]:
    """Yield the atoms of `window` from last to first, as the first turn and the results."""
    answers: list[Turn] = []
    for position in range(len(window), 0, -1):
        turn = window.peek(position)
        assert turn is not None  # only position 0 has none
        if turn.role is Role.TOOL:
            answers.append(turn)
        else:
            yield turn, answers
            answers = []


def _results(head: Turn, answers: Iterable[Turn]) -> list[object]:
    """Return the results of the calls of `head`, in the order of the calls."""
    by_call = {answer.tool_call_id: (answer.content, answer.parts) for answer in answers}
    return [by_call[call.id] for call in head.tool_calls]


def tokens_at(pressure: float, max_tokens: int) -> int:
    """Return the most tokens whose pressure is at most `pressure`, despite rounding errors.

    >>> tokens_at(0.7, 1000), tokens_at(0.29, 100)
    (700, 29)
    """
    tokens = int(pressure * max_tokens) + 1
    while tokens / max_tokens > pressure:
        tokens -= 1
    return tokens


def pressure_of(window: ContextWindow) -> float:
    """Return the tokens of the whole window / max tokens, whatever the focus."""
    return window.total_tokens / window.max_tokens
