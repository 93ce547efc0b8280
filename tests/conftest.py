"""Shared fixtures and the Hypothesis profiles; CONTRIBUTING.md, "Tests", describes the tiers.

``HYPOTHESIS_PROFILE`` picks a profile: `quick` (the default) tries the same few examples in every
run, `fresh` new ones, and `deep` two thousand. No profile looks at the clock: a busy machine is
not a defect.
"""

import gc
import os
import signal

from hypothesis import HealthCheck, Phase, settings

from tests.house import ROOT
from tests.postgresql.server import postgresql, schema

__all__ = ["postgresql", "schema"]

ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile(
    "quick", ANY_MACHINE, derandomize=True, database=None, max_examples=10, stateful_step_count=20
)
settings.register_profile("fresh", ANY_MACHINE, max_examples=40, stateful_step_count=30)
settings.register_profile("deep", ANY_MACHINE, max_examples=2000, stateful_step_count=100)
settings.register_profile(  # of `just mutants`, which does not read the examples that fail
    "mutants", settings.get_profile("quick"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "quick")

if os.environ.get("PYTHONDONTWRITEBYTECODE"):
    # What workers and the processes that tests start compile is there for the next: beside the code
    # it may not lie.
    del os.environ["PYTHONDONTWRITEBYTECODE"]
    os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / "build" / "bytecode")

# A script in the background, and `nohup`, ignore these signals, and every process inherits that. A
# handler that does nothing protects this process as well, and is not inherited by what it starts.
for number in {"SIGINT", "SIGHUP"} & set(signal.Signals.__members__):
    if signal.getsignal(signal.Signals[number]) is signal.SIG_IGN:
        signal.signal(signal.Signals[number], lambda *_: None)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what collecting has made, which stays to the end."""
    gc.collect()
    gc.freeze()
