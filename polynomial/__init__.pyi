from .algebra.operad import CONTEXT_OPERAD
from .algebra.poly_agent import CONTEXT_POLYNOMIAL, PolyAgent, Position
from .context_session import ContextSession
from .errors import (
    ContextOverflowError,
    ContextPressureError,
    IllegalDirectionError,
    SessionWriteError,
    StoreBusyError,
    StoreError,
)
from .gist_recognition import known_again
from .inputs import ContextInput, ContextOutput, InputKind
from .journal.conversation import Conversation, evolve, replay
from .journal.events import Event
from .machine.context_machine import VALID_DIRECTIONS, ContextMachine, context_transition
from .machine.step import ContextPolicy
from .projection import Projection, project
from .session.answer import Answer
from .state import ContextState

__all__ = [
    "CONTEXT_OPERAD",
    "CONTEXT_POLYNOMIAL",
    "VALID_DIRECTIONS",
    "Answer",
    "ContextInput",
    "ContextMachine",
    "ContextOutput",
    "ContextOverflowError",
    "ContextPolicy",
    "ContextPressureError",
    "ContextSession",
    "ContextState",
    "Conversation",
    "Event",
    "IllegalDirectionError",
    "InputKind",
    "PolyAgent",
    "Position",
    "Projection",
    "SessionWriteError",
    "StoreBusyError",
    "StoreError",
    "context_transition",
    "evolve",
    "known_again",
    "project",
    "replay",
]
