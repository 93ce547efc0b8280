"""Shared fixtures: the Hypothesis profiles, and a PostgreSQL server on request.

``HYPOTHESIS_PROFILE`` picks one; without it a run under ``CI`` is the
derandomized `ci`, so that a red build is red again on the next try, and any
other run is `dev`, which finds new examples. Both try few; `just deep` tries
two thousand, and runs the tests and the parameters that are marked `deep`,
which every other run leaves out. No profile has a deadline: a busy machine is
not a defect.
`coverage` tries few examples, always the same, and makes none smaller: tracing
doubles the time, and what a property reaches it reaches at once; `just coverage`
leaves out what is marked `no_cover` or `wheel`, too. `just lowest` takes it as
well: it asks whether old versions of libraries will do.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.house import IS_DEEP, ROOT
from tests.postgresql.server import postgresql, schema

__all__ = ["postgresql", "schema"]

settings.register_profile("dev", deadline=None, max_examples=20, stateful_step_count=30)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.register_profile("deep", deadline=None, max_examples=2000, stateful_step_count=100)
settings.register_profile(
    "coverage",
    deadline=None,
    derandomize=True,
    max_examples=10,
    stateful_step_count=20,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)

if os.environ.get("PYTHONDONTWRITEBYTECODE") and not os.environ.get("MUTANT_UNDER_TEST"):
    # What workers and the processes that tests start compile is there for the next: beside the code
    # it may not lie.
    del os.environ["PYTHONDONTWRITEBYTECODE"]
    os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / "build" / "bytecode")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked `deep`, unless the run is deep."""
    if not IS_DEEP:
        left_out = [item for item in items if item.get_closest_marker("deep")]
        items[:] = [item for item in items if not item.get_closest_marker("deep")]
        config.hook.pytest_deselected(items=left_out)
