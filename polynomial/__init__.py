"""Who moves it? The machine, its transition function, polynomial and operad, session, journal, stores, projection."""

from typing import TYPE_CHECKING

import lazy_loader

from polycontext.polynomial.errors import (
    ContextOverflowError,
    ContextPressureError,
    EngineError,
    IllegalDirectionError,
    SessionWriteError,
)
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.journal.conversation import Conversation, evolve, replay
from polycontext.polynomial.journal.events import Event
from polycontext.polynomial.machine.context_machine import ContextMachine
from polycontext.polynomial.machine.step import ContextPolicy
from polycontext.polynomial.machine.transition import VALID_DIRECTIONS, TableMachine, context_transition
from polycontext.polynomial.session.context_session import ContextSession
from polycontext.polynomial.state import ContextState, InputKind

if TYPE_CHECKING:
    from polycontext.polynomial.algebra.context_polynomial import CONTEXT_POLYNOMIAL, Position
    from polycontext.polynomial.algebra.operad import CONTEXT_OPERAD, Operad, Operation
    from polycontext.polynomial.algebra.poly_agent import (
        DirectionError,
        Left,
        Lens,
        PolyAgent,
        Right,
        coproduct,
        parallel,
        product,
        sequential,
        through,
    )
    from polycontext.polynomial.projection import Projection, project
    from polycontext.polynomial.session.plugins import MissingPluginError
    from polycontext.polynomial.verification import Verification, verify

__all__ = [
    "CONTEXT_OPERAD",
    "CONTEXT_POLYNOMIAL",
    "VALID_DIRECTIONS",
    "ContextInput",
    "ContextMachine",
    "ContextOutput",
    "ContextOverflowError",
    "ContextPolicy",
    "ContextPressureError",
    "ContextSession",
    "ContextState",
    "Conversation",
    "DirectionError",
    "EngineError",
    "Event",
    "IllegalDirectionError",
    "InputKind",
    "Left",
    "Lens",
    "MissingPluginError",
    "Operad",
    "Operation",
    "PolyAgent",
    "Position",
    "Projection",
    "Right",
    "SessionWriteError",
    "TableMachine",
    "Verification",
    "context_transition",
    "coproduct",
    "evolve",
    "parallel",
    "product",
    "project",
    "replay",
    "sequential",
    "through",
    "verify",
]

# What composes, projects and verifies is for those who ask for it.
__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "algebra.context_polynomial": ["CONTEXT_POLYNOMIAL", "Position"],
        "algebra.operad": ["CONTEXT_OPERAD", "Operad", "Operation"],
        "algebra.poly_agent": [
            "DirectionError",
            "Left",
            "Lens",
            "PolyAgent",
            "Right",
            "coproduct",
            "parallel",
            "product",
            "sequential",
            "through",
        ],
        "projection": ["Projection", "project"],
        "session.plugins": ["MissingPluginError"],
        "verification": ["Verification", "verify"],
    },
)
