"""The operad of windows: operations with arities, and how they compose.

Composition feeds the results of n operations into the n arguments of another; the arities add up.
Laws: composing with identities changes nothing, composition is associative, and merging with the
empty window is the identity.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import evolve, field, frozen

from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.pressure import ContextProjector
from polycontext.window import ContextWindow, Turn


def _check_arity(operation: str, arity: int, given: int) -> None:
    if given != arity:
        raise InvalidOptionError(f"places of operation {operation}", given, f"exactly {arity}")


@frozen
class Operation:
    """An operation on windows with its arity."""

    name: str
    arity: int
    function: Callable[..., ContextWindow] = field(eq=False, repr=False)

    def __call__(self, *windows: ContextWindow) -> ContextWindow:
        """Apply the operation to exactly `arity` windows."""
        _check_arity(self.name, self.arity, len(windows))
        return self.function(*windows)

    def compose(self, *inner: "Operation") -> "Operation":
        """Return this operation applied to the results of `inner`.

        Its arity is the sum of the arities of `inner`.
        """
        _check_arity(self.name, self.arity, len(inner))

        def composed(*windows: ContextWindow) -> ContextWindow:
            return self.function(*_applied(inner, windows))

        name = f"{self.name}({', '.join(op.name for op in inner)})"
        return Operation(name, sum(op.arity for op in inner), composed)


def _applied(inner: Sequence[Operation], windows: Sequence[ContextWindow]) -> list[ContextWindow]:
    results, start = [], 0
    for operation in inner:
        results.append(operation(*windows[start : start + operation.arity]))
        start += operation.arity
    return results


def _frozen(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(values))


@frozen
class Operad:
    """The available operations by name, with their arities.

    Some operations take parameters, such as the turn that `append` adds.
    """

    makers: Mapping[str, Callable[..., Operation]] = field(hash=False, converter=_frozen)
    arities: Mapping[str, int] = field(hash=False, converter=_frozen)

    def operation(self, name: str, *parameters: Any) -> Operation:
        """Return the operation `name` with its parameters applied.

        >>> CONTEXT_OPERAD.operation("append", Turn("user", "hello")).arity
        1
        """
        if name not in self.makers:
            raise UnknownNameError("operation", name, tuple(self.makers))
        return self.makers[name](*parameters)

    def identity(self) -> Operation:
        """Return the operation of arity 1 that changes nothing."""
        return Operation("id", 1, lambda window: window)


_ARITIES = {"empty": 0, "append": 1, "compress": 1, "merge": 2}


def merge_windows(first: ContextWindow, second: ContextWindow) -> ContextWindow:
    """Return `first` followed by the turns of `second` with their classes.

    Turns whose id is already taken in `first` get a new id. The budget, counter and classifier are
    those of `first`. A new window of the same kind is the unit on either side.
    """
    same = first.counter is second.counter
    is_new = not first.linearity and first.turns_since_compression is None
    if is_new and first.has_rules_of(second):
        return second
    for turn in second.all_turns():
        resource_id = "" if turn.resource_id in first.linearity else turn.resource_id
        first = first.append(
            evolve(turn, resource_id=resource_id, tokens=turn.tokens if same else None),
            second.class_of(turn),
        )
    return first


def _empty(max_tokens: int) -> Operation:
    return Operation("empty", _ARITIES["empty"], lambda: ContextWindow(max_tokens))


def _append(turn: Turn) -> Operation:
    return Operation("append", _ARITIES["append"], lambda window: window.append(turn))


def _compress(target: float = 0.7, projector: ContextProjector | None = None) -> Operation:
    chosen = projector or ContextProjector()
    return Operation(
        "compress", _ARITIES["compress"], lambda window: chosen.compress(window, target).window
    )


def _merge() -> Operation:
    return Operation("merge", _ARITIES["merge"], merge_windows)


CONTEXT_OPERAD = Operad(
    {"empty": _empty, "append": _append, "compress": _compress, "merge": _merge}, _ARITIES
)
"""The operations empty/0, append/1, compress/1 and merge/2."""
