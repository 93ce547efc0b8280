"""The law of a machine's policies."""

from polycontext.base.law import holds, law

from ..machine.context_machine import ContextMachine
from ..policies import Policy, find_violation


@law("docs/machine.md")
def nothing_happens_before_its_permission(
    machine_class: type[ContextMachine], machine_policy: Policy
) -> None:
    """In every order of events, what a policy forbids happens only after what permits it."""
    violation = find_violation(machine_class, machine_policy, depth=4).violation
    holds(not violation, f"{machine_policy.never} after {machine_policy.before}", violation)
