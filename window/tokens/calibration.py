"""Correct a counter by what the provider reports.

Every vendor has a tokenizer of its own, most of them unpublished, but all of
them report the tokens of each request. The ratio of reported to counted tokens,
each summed over all requests seen, is a steady correction: one odd request moves
it little, and it settles as requests come in.
"""

import math
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from polycontext.linearity import InvalidOptionError

from .counter import TokenCounter

if TYPE_CHECKING:
    from .media_rules import ImageRule


def _check(quantity: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise InvalidOptionError(quantity, value, "a finite number above 0")


@frozen
class CalibratedCounter:
    """Scale the counts of another counter by `factor`; the result is an estimate, whatever the other is.

    `counted` and `reported` are the sums of tokens that the factor rests on, 0
    where it was given by hand.

    Raises:
        InvalidOptionError: a factor that is not a finite number above 0.
    """

    exact = False
    counter: TokenCounter
    factor: float = field(default=1.0, validator=lambda _, a, v: _check(a.name, v))
    counted: float = field(default=0.0, kw_only=True)
    reported: float = field(default=0.0, kw_only=True)

    @property
    def image_rule(self) -> "ImageRule | None":
        """Return what the other counter says that a picture costs, None where it says nothing."""
        return getattr(self.counter, "image_rule", None)

    def count(self, text: str) -> int:
        """Return the scaled count in tokens, rounded; at least 1 where the other counter finds any."""
        tokens = self.counter.count(text)
        return max(1, round(tokens * self.factor)) if tokens > 0 else 0

    def calibrate(self, provider_reported_tokens: float, counted: float) -> "CalibratedCounter":
        """Return a counter corrected by one more request; see `calibrate`."""
        _check("provider_reported_tokens", provider_reported_tokens)
        _check("counted", counted)
        # What the counter below had said: `counted` was scaled by the factor of then.
        total_counted = self.counted + counted / self.factor
        total_reported = self.reported + provider_reported_tokens
        return evolve(self, factor=total_reported / total_counted, counted=total_counted, reported=total_reported)


def calibrate(counter: TokenCounter, counted: float, provider_reported_tokens: float) -> CalibratedCounter:
    """Return `counter` corrected by one request: what it counted, and what the provider reported for it (docs/window.md, "Tokens").

    `counted` is what this very counter says about the request, so a calibrated
    counter is given its own, already scaled count. Evidence adds up: the factor is
    the ratio of the sums over all requests.

    Law: where a provider always reports k times the counter's tokens, the factor
    is k from the first request on.

    Raises:
        InvalidOptionError: a number that is not finite and above 0.

    >>> from polycontext.window.tokens.counter import EstimatingCounter
    >>> once = calibrate(EstimatingCounter(), 100, 120)
    >>> once.factor, once.calibrate(provider_reported_tokens=150, counted=120).factor
    (1.2, 1.35)
    """
    start = counter if isinstance(counter, CalibratedCounter) else CalibratedCounter(counter)
    return start.calibrate(provider_reported_tokens, counted)
