"""Scripted loops pass strict providers, and the driver detects errors; `just strict` runs many."""

from typing import Any

import pytest

from tests.strict import loops
from tests.strict.script import script_of
from tests.strict.vendors import VENDORS


def seeds(few: int, many: int) -> list[Any]:
    """Return the seeds of every run, and those of a long one."""
    return [*range(few), *(pytest.param(n, marks=pytest.mark.deep) for n in range(few, many))]


@pytest.mark.parametrize("seed", [99, *seeds(12, 500)])
def test_a_loop_goes_through(seed: int) -> None:
    """Nothing is refused, nothing exceeds its budget, no thinking is lost within an epoch.

    One in a hundred has sixty steps.
    """
    found = loops.run_loop(seed)
    assert found.wrong == []
    assert found.requests == found.steps == len(script_of(seed).steps)
    assert found.epochs > (seed == 99)


@pytest.mark.parametrize("seed", seeds(len(VENDORS), 24))
def test_a_loop_goes_through_the_vendors_own_sdk(seed: int) -> None:
    """Over HTTP, answers taken in as the SDK's objects."""
    pytest.importorskip("anthropic")
    pytest.importorskip("openai")
    assert loops.run_loop(seed, http=True).wrong == []


@pytest.mark.parametrize("seed", seeds(4, 100))
def test_a_loop_goes_through_all_vendors_in_turn(seed: int) -> None:
    """Any vendor gives the next answer; no request to any of them is invalid or lacks something."""
    found = loops.run_mixed(seed)
    assert found.wrong == []
    assert found.requests == found.steps == len(script_of(seed).steps)


def test_without_the_binding_in_our_code_it_is_missed_at_once() -> None:
    """Or else these loops would show nothing."""
    with loops.unbound_code():
        found = loops.run_loop(0)
    assert found.vendor == "anthropic"
    assert "thinking_dropped" in found.wrong[0] or "different conversation" in found.wrong[0]
