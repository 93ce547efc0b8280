"""The context as a polynomial functor (seed 004 §1.1)."""

from polycontext.polynomial.algebra.poly_agent import PolyAgent
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.machine.transition import VALID_DIRECTIONS, context_transition
from polycontext.polynomial.state import ContextState, InputKind


def _kind(context_input: ContextInput) -> InputKind:
    return context_input.kind


CONTEXT_POLYNOMIAL: PolyAgent[ContextState, ContextInput, ContextOutput] = PolyAgent(
    positions=frozenset(ContextState),
    directions=VALID_DIRECTIONS.__getitem__,
    transition=context_transition,
    direction=_kind,
)
"""Positions are states, directions input kinds; the transition takes the window along as its memory.

>>> from polycontext.window import ContextWindow
>>> CONTEXT_POLYNOMIAL.invoke(ContextState.EMPTY, ContextInput.user_turn("hello"), ContextWindow(1000))[0]
<ContextState.ACCUMULATING: 'ACCUMULATING'>
"""
