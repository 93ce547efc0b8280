"""Who moves it? The machine, its transition function, polynomial and operad, session, journal, projection."""

from polycontext.polynomial._session_core import Engine
from polycontext.polynomial.context_polynomial import CONTEXT_POLYNOMIAL
from polycontext.polynomial.delivery import deliver
from polycontext.polynomial.errors import (
    ContextOverflowError,
    ContextPressureError,
    IllegalDirectionError,
    InputError,
    SessionOptionError,
    SnapshotError,
)
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.journal import Event, replay
from polycontext.polynomial.machine import ContextMachine
from polycontext.polynomial.operad import CONTEXT_OPERAD, ArityError, Operad, Operation, UnknownOperationError
from polycontext.polynomial.plugins import MissingPluginError
from polycontext.polynomial.poly_agent import (
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
from polycontext.polynomial.session import ContextSession
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.polynomial.step import ContextPolicy
from polycontext.polynomial.transition import VALID_DIRECTIONS, TableMachine, context_transition
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
    "DirectionError",
    "Engine",
    "Event",
    "IllegalDirectionError",
    "InputError",
    "InputKind",
    "Left",
    "Lens",
    "MissingPluginError",
    "Operad",
    "Operation",
    "PinError",
    "PolyAgent",
    "Projection",
    "Right",
    "SessionOptionError",
    "SnapshotError",
    "TableMachine",
    "UnknownOperationError",
    "Verification",
    "context_transition",
    "coproduct",
    "deliver",
    "parallel",
    "product",
    "project",
    "replay",
    "sequential",
    "through",
    "verify",
]
