"""Who moves it? The machine, its transition function, polynomial and operad, session, journal, projection."""

from polycontext.polynomial.algebra.context_polynomial import CONTEXT_POLYNOMIAL, Position, context_polynomial
from polycontext.polynomial.algebra.operad import CONTEXT_OPERAD, ArityError, Operad, Operation, UnknownOperationError
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
from polycontext.polynomial.projection import Projection, project
from polycontext.polynomial.session.context_session import ContextSession
from polycontext.polynomial.session.delivery import deliver
from polycontext.polynomial.session.plugins import MissingPluginError
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.polynomial.verification import PinError, Verification, verify

__all__ = [
    "CONTEXT_OPERAD",
    "CONTEXT_POLYNOMIAL",
    "VALID_DIRECTIONS",
    "ArityError",
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
    "PinError",
    "PolyAgent",
    "Position",
    "Projection",
    "Right",
    "SessionWriteError",
    "TableMachine",
    "UnknownOperationError",
    "Verification",
    "context_polynomial",
    "context_transition",
    "coproduct",
    "deliver",
    "evolve",
    "parallel",
    "product",
    "project",
    "replay",
    "sequential",
    "through",
    "verify",
]
