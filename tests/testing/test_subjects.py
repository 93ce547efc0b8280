"""Subjects of laws: what a user's object is, and what is drawn for the laws about it."""

import pytest
from hypothesis import find

from polycontext.agents import AgentMachine
from polycontext.testing.subject import subject_of
from polycontext.window import ContextWindow


@pytest.mark.parametrize(
    ("value", "kind", "parameter"),
    [
        (AgentMachine, "an agent's machine (AgentMachine)", "node"),
        (ContextWindow(1_000), "a window (ContextWindow)", "window"),
    ],
)
def test_a_subject_has_its_kind_and_inputs(value: object, kind: str, parameter: str) -> None:
    """Each of its kinds draws the parameters of its laws from it."""
    subject = subject_of(value)
    assert kind in subject.kinds
    assert find(subject.bound[parameter], lambda _: True) is not None
