"""The operad of context: machines side by side, and workers in child sessions.

Machines compose by their regions, workers by delegation: an operation takes as many workers as it
has tasks to one worker, so operations compose into plans with places for workers.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import new_class
from typing import Any

from attrs import field, frozen

from polycontext.base import InvalidOptionError, require

from ..machine.context_machine import ContextMachine
from .delegation import Delegation, Worker

Machine = type[ContextMachine]


@frozen
class Operation:
    """An operation on workers with its arity: the number of workers that it takes to one."""

    name: str
    arity: int
    function: Callable[..., Worker] = field(eq=False, repr=False)

    def __call__(self, *workers: Worker) -> Worker:
        """Return the worker that the operation makes of exactly `arity` workers."""
        self._check(len(workers))
        return self.function(*workers)

    def compose(self, *inner: "Operation") -> "Operation":
        """Return this operation applied to the results of `inner`.

        Its arity is the sum of the arities of `inner`. Laws: composition is associative, and the
        identity is its unit.
        """
        self._check(len(inner))

        def composed(*workers: Worker) -> Worker:
            left = iter(workers)
            return self.function(*(op(*(next(left) for _ in range(op.arity))) for op in inner))

        name = f"{self.name}({', '.join(op.name for op in inner)})"
        return Operation(name, sum(op.arity for op in inner), composed)

    def _check(self, given: int) -> None:
        legal = f"exactly {self.arity}"
        require(f"places of operation {self.name}", given, given == self.arity, legal)


@frozen
class Operad:
    """The ways to compose: `beside` for machines, and `delegate` for workers."""

    identity = Operation("id", 1, lambda worker: worker)
    """The operation that takes a worker to itself."""

    def beside(self, *machines: Machine) -> Machine:
        """Return the machine in which the regions of `machines` stand beside each other.

        An event is legal if every machine accepts it that knows it. Methods that several of them
        override are called in their order, by ``super()``. Laws: brackets, order and repetitions
        do not matter to what is legal, and `ContextMachine` is the unit.

        Raises:
            InvalidOptionError: two machines have different regions of one name, or both add states
                or transitions to the context's own region.

        >>> class Mine(ContextMachine):
        ...     pass
        >>> CONTEXT_OPERAD.beside(Mine, ContextMachine) is Mine
        True
        """
        flat = [part for each in machines for part in vars(each).get("composed_of", (each,))]
        parts = dict.fromkeys(
            part
            for part in flat
            if not any(each is not part and issubclass(each, part) for each in flat)
        )
        return _composed(tuple(parts)) if parts else ContextMachine

    def delegate(self, tasks: Mapping[str, str], then: Worker, **options: Any) -> Operation:
        """Return the operation that gives each task to a worker in a child session of its own.

        `then` answers from their results. See `Delegation`.
        """
        told = dict(tasks)

        def delegated(*workers: Worker) -> Worker:
            return Delegation(told, then, options, workers)

        return Operation(f"delegate {', '.join(told)}", len(told), delegated)


@cache
def _composed(parts: tuple[Machine, ...]) -> Machine:
    if len(parts) == 1:
        return parts[0]
    regions: dict[str, Any] = {}
    for part in parts:
        for name, region in part.regions.items():
            legal = "one region of that name, or another name for one of them"
            require("regions", name, regions.setdefault(name, region) is region, legal)
    own = [part for part in parts if part.table.size > ContextMachine.table.size]
    if len(own) > 1:
        legal = "one machine that adds to the context's states, and a Region for the others"
        raise InvalidOptionError("machines", [each.__name__ for each in own], legal)
    attributes = {
        "composed_of": parts,
        "regions": dict(sorted(regions.items())),
        "wordless": frozenset[str]().union(*(part.wordless for part in parts)),
        "examples": {kind: each for part in parts for kind, each in part.examples.items()},
    }
    name = "Beside".join(part.__name__ for part in parts)
    made: Machine = new_class(name, parts, exec_body=lambda body: body.update(attributes))
    return made


CONTEXT_OPERAD = Operad()
"""The operad of context."""
