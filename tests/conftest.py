"""What every test shares: the Hypothesis profiles.

``HYPOTHESIS_PROFILE`` picks one; without it a run under ``CI`` is the
derandomized `ci`, so that a red build is red again on the next try, and any
other run is `dev`. No profile has a deadline: a busy machine is not a defect.
`mutation` runs thousands of times over broken code: few examples, always the
same, and none made smaller, because nobody reads them. `just lowest` takes it
too: it asks whether old versions of libraries will do.
"""

import os

from hypothesis import HealthCheck, Phase, settings

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
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
