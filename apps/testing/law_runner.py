"""Run laws: try inputs until one breaks the law or enough were tried, and shrink the failing one.

    from polycontext.testing import all_laws, run_law

    verdicts = [run_law(law) for law in all_laws(["window"])]

The same law on the same subject always gives the same verdict, unless a seed is given.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import hypothesis as ht
from attrs import define, field, frozen
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from polycontext.base import Law, LawViolation
from polycontext.base.law import laws_of

from .display import shown
from .law_inputs import NOTHING, Strategies, inputs_of

ROOMS = ("linearity", "window", "pressure", "polynomial", "nodes", "agents")
"""The packages that state laws, from the lowest to the highest."""

EXAMPLES = 100
"""The default number of inputs on which a law is tried."""

_ALL_CHECKS: Any = tuple(ht.HealthCheck)
"""Health checks to suppress: a law may need slow or heavily filtered inputs."""

Progress = Callable[[Law, int], None]
"""A callback before each example, with the law and the number of examples before it."""


@frozen
class Counterexample:
    """The smallest inputs found that break a law, with both sides or the exception raised."""

    inputs: Mapping[str, str]
    problem: str

    def __str__(self) -> str:
        given = "; ".join(f"{name} = {value}" for name, value in self.inputs.items())
        return f"{self.problem}; given {given}" if given else self.problem


@frozen
class Verdict:
    """The result of a law: the number of examples tried, and the counterexample or None.

    `tried` ends with the first example that broke the law; examples tried while shrinking do not
    count.
    """

    law: Law
    tried: int
    counterexample: Counterexample | None = None

    @property
    def ok(self) -> bool:
        """Return whether the law held for every example."""
        return self.counterexample is None


def all_laws(rooms: Sequence[str] = ROOMS) -> tuple[Law, ...]:
    """Return the laws of the given rooms, by default all, from the lowest room to the highest.

    >>> [law.name for law in all_laws(["linearity"])][0]
    'classification_repeats'
    """
    return tuple(
        law
        for room in ROOMS
        if room in rooms
        for law in laws_of(import_module(f"polycontext.{room}.laws"))
    )


def run_law(
    law: Law,
    examples: int = EXAMPLES,
    *,
    bound: Strategies = NOTHING,
    seed: int | None = None,
    progress: Progress = lambda law, tried: None,
) -> Verdict:
    """Try `law` on that many inputs and return the verdict.

    Exceptions of the law or its subject are part of the verdict. Without `seed`, the examples are
    the same in every run.

    Args:
        law: The law to try.
        examples: The number of inputs.
        bound: Strategies that replace the usual ones for some parameters.
        seed: A seed for other examples.
        progress: A callback before each example.
    """
    trial = _Trial(law, progress)
    try:
        _test(trial, examples, bound, seed)()
    except Exception as error:
        if trial.found is None and not bound:
            raise
        return Verdict(
            law,
            trial.tried,
            trial.found or Counterexample({}, f"no inputs could be made: {_describe(error)}"),
        )
    return Verdict(law, trial.tried)


def _test(
    trial: "_Trial", examples: int, bound: Strategies, seed: int | None
) -> Callable[[], None]:
    settings = ht.settings(
        max_examples=examples,
        derandomize=seed is None,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=_ALL_CHECKS,
        phases=[ht.Phase.generate, ht.Phase.shrink],
    )

    @settings
    @ht.given(inputs_of(trial.law, bound), st.integers(0, 2**16))
    def test(drawn: dict[str, Any], luck: int) -> None:
        # Hypothesis resets the seed for each example, so a subject that uses random numbers would
        # always get the same ones.
        random.seed(luck)
        trial(drawn)

    return test if seed is None else ht.seed(seed)(test)


@define
class _Trial:
    """A check of examples that remembers the last failing one.

    Hypothesis shrinks failing examples, so the last one is the smallest.
    """

    law: Law
    progress: Progress
    tried: int = 0
    found: Counterexample | None = field(default=None)

    def __call__(self, drawn: Mapping[str, Any]) -> None:
        self.progress(self.law, self.tried)
        if self.found is None:
            self.tried += 1
        before = {name: shown(value) for name, value in drawn.items()}
        try:
            self.law.check(**drawn)
        except HypothesisException:
            raise
        except Exception as error:
            # A law may report further values, such as a position it computed.
            found = error.inputs if isinstance(error, LawViolation) else {}
            further = {name: shown(value) for name, value in found.items() if name not in drawn}
            self.found = Counterexample(before | further, _problem(error))
            raise


def _problem(error: Exception) -> str:
    return (
        f"{_side(error.left)} is not {_side(error.right)}"
        if isinstance(error, LawViolation)
        else f"raises {_describe(error)}"
    )


def _side(value: object) -> str:
    return value if isinstance(value, str) and " " in value else shown(value)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
