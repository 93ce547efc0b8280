"""When a window counts as pressured, and how far automatic compression goes.

Two marks make the hysteresis: pressured means above `high`; compression aims at
`low`, so that the next one is many turns away and the provider's prompt cache
lives in between. The adaptive threshold moves `high` by what the agent reports.
"""

from typing import Protocol

from attrs import define, field, frozen

from polycontext.linearity import CallerError
from polycontext.window import ContextWindow


@define(slots=False, eq=False)
class ThresholdError(CallerError, ValueError):
    """Refuse a threshold or signal outside its range."""

    name: str
    value: float
    legal: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value!r}; legal: {self.legal}"


def _share(name: str, value: float | None) -> None:
    if value is not None and not 0.0 <= value <= 1.0:
        raise ThresholdError(name, value, "0.0 to 1.0")


@frozen
class Signals:
    """Report how the task goes: progress and error rate as shares, looping as a fact; None is unknown."""

    progress: float | None = field(default=None, validator=lambda _, a, v: _share(a.name, v))
    error_rate: float | None = field(default=None, validator=lambda _, a, v: _share(a.name, v))
    looping: bool = False


NO_SIGNALS = Signals()


class Threshold(Protocol):
    """Say above which pressure a window is pressured and at which pressure compression aims."""

    @property
    def low(self) -> float:
        """Return the pressure that automatic compression aims at."""
        ...

    def high(self, signals: Signals = NO_SIGNALS) -> float:
        """Return the pressure above which a window is pressured."""
        ...


@frozen
class FixedThreshold:
    """Keep both marks where they are.

    >>> FixedThreshold().is_pressured(0.7), FixedThreshold().is_pressured(0.7001)
    (False, True)
    """

    base: float = 0.7
    low: float = 0.4

    def __attrs_post_init__(self) -> None:
        if not 0.0 < self.base <= 1.0:
            raise ThresholdError("base", self.base, "above 0.0, at most 1.0")
        if not 0.0 <= self.low <= self.base:
            raise ThresholdError("low", self.low, f"0.0 to base = {self.base}")

    def high(self, signals: Signals = NO_SIGNALS) -> float:
        """Return the base, whatever the signals say."""
        return self.base

    def is_pressured(self, pressure: float, signals: Signals = NO_SIGNALS) -> bool:
        """Tell whether `pressure` is above the high mark; exactly at it is not pressured."""
        return pressure > self.high(signals)


@frozen
class AdaptiveThreshold(FixedThreshold):
    """Move the high mark within [minimum, maximum] by what the agent reports (design §6).

    Near the end of a task compressing is not worth it any more: progress raises the
    mark by up to 0.2. Errors and loops are signs of a cluttered context: an error
    rate of 1 lowers it by 0.2, a loop by 0.1. Without signals it is the base.

    >>> threshold = AdaptiveThreshold()
    >>> threshold.high(), round(threshold.high(Signals(progress=1.0)), 2), round(threshold.high(Signals(error_rate=1.0, looping=True)), 2)
    (0.7, 0.9, 0.5)
    """

    minimum: float = 0.5
    maximum: float = 0.95
    progress_gain: float = 0.2
    error_loss: float = 0.2
    loop_loss: float = 0.1

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not 0.0 <= self.minimum <= self.maximum:
            raise ThresholdError("minimum", self.minimum, f"0.0 to maximum = {self.maximum}")
        if not self.maximum <= 1.0:
            raise ThresholdError("maximum", self.maximum, "at most 1.0")

    def high(self, signals: Signals = NO_SIGNALS) -> float:
        """Return the base moved by `signals`, within [minimum, maximum] and never below `low`; exactly the base without signals."""
        if signals == NO_SIGNALS:
            return self.base
        mark = self.base + self.progress_gain * (signals.progress or 0.0) - self.error_loss * (signals.error_rate or 0.0)
        if signals.looping:
            mark -= self.loop_loss
        return max(self.low, min(self.maximum, max(self.minimum, mark)))


def aim(floor: float, low: float, high: float) -> float:
    """Return the pressure that automatic compression aims at in a window that no plan gets below `floor`.

    That is `low` where it can be reached. Where it cannot, squeezing everything out at every turn
    would cost the recent turns and the prompt cache for nothing: aim halfway from the floor to `high`,
    or, if there is no room below it, halfway to the end of the window.

    >>> aim(0.2, 0.4, 0.7), aim(0.5, 0.4, 0.7), aim(0.8, 0.4, 0.7)
    (0.4, 0.6, 0.9)
    """
    if floor <= low:
        return low
    roof = high if floor <= (low + high) / 2 else 1.0
    return (floor + roof) / 2


def is_looping(window: ContextWindow, repeats: int = 3) -> bool:
    """Tell whether one call, with one result, stands `repeats` times in a row at the end of `window`."""
    return False


def tokens_at(pressure: float, max_tokens: int) -> int:
    """Return the most tokens whose pressure is at most `pressure`, exact where the product is not.

    >>> tokens_at(0.7, 1000), tokens_at(0.29, 100)
    (700, 29)
    """
    tokens = int(pressure * max_tokens) + 1
    while tokens / max_tokens > pressure:
        tokens -= 1
    return tokens


def pressure_of(window: ContextWindow) -> float:
    """Return tokens of the whole window / max tokens, whatever the focus."""
    return window.seek(len(window)).pressure
