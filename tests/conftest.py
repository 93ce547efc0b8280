"""What every test shares: the Hypothesis profiles, and a PostgreSQL server for those who ask for one.

``HYPOTHESIS_PROFILE`` picks one; without it a run under ``CI`` is the
derandomized `ci`, so that a red build is red again on the next try, and any
other run is `dev`, which finds new examples. Both try few; `just deep` tries
two thousand, and runs the tests and the parameters that are marked `deep`,
which every other run leaves out. No profile has a deadline: a busy machine is
not a defect.
`mutation` runs thousands of times over broken code: few examples, always the
same, and none made smaller, because nobody reads them. `just lowest` takes it
too: it asks whether old versions of libraries will do.

Coverage makes a property take two to three times as long, and what it sees
after a few examples is what it has seen: the others run without it. A test of
many seeds or of sheer size is marked `no_cover` for the same reason, which
takes coverage away and no check.
"""

import os
from collections.abc import Callable, Generator
from functools import wraps
from typing import Any

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, Phase, settings

from tests.house import IS_DEEP, ROOT
from tests.postgresql import postgresql, schema

__all__ = ["postgresql", "schema"]

settings.register_profile("dev", deadline=None, max_examples=25, stateful_step_count=30)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.register_profile("deep", deadline=None, max_examples=2000, stateful_step_count=100)
settings.register_profile(
    "mutation",
    deadline=None,
    derandomize=True,
    max_examples=20,
    stateful_step_count=20,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

if os.environ.get("PYTHONDONTWRITEBYTECODE") and not os.environ.get("MUTANT_UNDER_TEST"):
    # What workers and the processes that tests start compile is there for the next: beside the code it may not lie.
    del os.environ["PYTHONDONTWRITEBYTECODE"]
    os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / "build" / "bytecode")

TRACED = 10
"""Examples of a property that coverage sees: always the same under the profile `ci`."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked `deep`, unless the run is deep."""
    if not IS_DEEP:
        left_out = [item for item in items if item.get_closest_marker("deep")]
        items[:] = [item for item in items if not item.get_closest_marker("deep")]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let coverage look away from a property after its first examples."""
    handle, coverage = getattr(getattr(item, "obj", None), "hypothesis", None), Coverage.current()
    # What is not measured at all is paused and resumed by pytest-cov: started twice, coverage would end in an error.
    if handle is None or coverage is None or item.get_closest_marker("no_cover"):
        return (yield)
    test, seeing = handle.inner_test, _Seeing(coverage)
    handle.inner_test = seeing.only_first(test)
    try:
        return (yield)
    finally:
        handle.inner_test = test
        if seeing.left < 0:
            coverage.start()


class _Seeing:
    """Count the examples that coverage still sees."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage, self.left = coverage, TRACED

    def only_first(self, test: Callable[..., None]) -> Callable[..., None]:
        """Return `test`, which stops coverage once it has seen enough."""

        @wraps(test)
        def seen(*given: Any, **named: Any) -> None:
            if self.left == 0:
                self.coverage.stop()
            self.left = max(-1, self.left - 1)
            test(*given, **named)

        return seen
