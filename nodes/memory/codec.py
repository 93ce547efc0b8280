"""The memory of a conversation as JSON, and back, strictly."""

from typing import TypeVar

import orjson
from attrs import define

from polycontext.linearity import CallerError
from polycontext.nodes._codec import FAULTS, first_fault, strict_converter
from polycontext.nodes.checks import thawed
from polycontext.nodes.entities import SessionIdRegistry
from polycontext.nodes.history import PendingKind
from polycontext.nodes.reasoning import ConversationPhase, StepKind, ThinkDecision

SCHEMA = 1

M = TypeVar("M")


@define(slots=False, eq=False)
class MemoryFormatError(CallerError, ValueError):
    """Refuse text that is no saved memory; `path` names the place, such as ``$.recent_turns[0].user``."""

    path: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"saved memory, {self.path}: {self.problem}; legal: {self.legal}"


_CONVERTER = strict_converter(PendingKind, StepKind, ThinkDecision, ConversationPhase)
_CONVERTER.register_structure_hook(SessionIdRegistry, lambda value, _: SessionIdRegistry.from_dict(value))
_CONVERTER.register_unstructure_hook(SessionIdRegistry, SessionIdRegistry.to_dict)


def write(memory: object) -> str:
    """Return a record of the memory as JSON text."""
    data = {"schema": SCHEMA, **_CONVERTER.unstructure(memory)}
    return orjson.dumps(data, default=thawed).decode()


def read(text: str | bytes, kind: type[M]) -> M:
    """Read what `write` wrote of a `kind`.

    Raises:
        MemoryFormatError: no JSON, another schema, or a wrong, missing or unknown field; names the path of the first fault.
    """
    legal = f"what {kind.__name__}.to_json returned"
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise MemoryFormatError("$", f"no JSON ({error})", legal) from None
    if not isinstance(data, dict):
        raise MemoryFormatError("$", f"{type(data).__name__} is no object", legal)
    schema = data.pop("schema", None)
    if type(schema) is not int or schema != SCHEMA:
        raise MemoryFormatError("$.schema", f"schema {schema!r:.60} is unknown", str(SCHEMA))
    try:
        return _CONVERTER.structure(data, kind)
    except FAULTS as error:
        raise MemoryFormatError(*first_fault(error), legal) from None
