"""The laws of the operad: workers in child sessions."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, cycle, islice
from typing import Any

from polycontext.base import InvalidOptionError, PolycontextError
from polycontext.base.law import agree, holds, law
from polycontext.polynomial.algebra.delegation import Worker
from polycontext.polynomial.algebra.operad import Operad, Operation
from polycontext.polynomial.context_session import ContextSession
from polycontext.polynomial.session.search import handed_back_in
from polycontext.window import EstimatingCounter
from tests.laws.outcomes import outcome

_WORKERS = 'docs/agents.md, "Compose sub-agents"; May, The Geometry of Iterated Loop Spaces'


# --- workers ------------------------------------------------------------------------------


@law(_WORKERS)
def composing_with_identities_changes_nothing(
    operad: Operad, operation: Operation, workers: Sequence[Worker]
) -> None:
    """``id.compose(o)`` and ``o.compose(id, ..., id)`` do what ``o`` does."""
    identity, expected = operad.identity, _work(operation, workers)
    agree(_work(identity.compose(operation), workers), expected)
    agree(_work(operation.compose(*[identity] * operation.arity), workers), expected)


@law(_WORKERS)
def composing_is_associative(
    operation: Operation, operations: Sequence[Operation], workers: Sequence[Worker]
) -> None:
    """``o.compose(*i).compose(*j) = o.compose(i1.compose(..), ..)``.

    Composing inside first or outside first gives the same operation.
    """
    pool = cycle(operations)
    inner = list(islice(pool, operation.arity))
    groups = [list(islice(pool, each.arity)) for each in inner]
    outside_first = operation.compose(*inner).compose(*chain.from_iterable(groups))
    inside_first = operation.compose(
        *(each.compose(*group) for each, group in zip(inner, groups, strict=True))
    )
    agree(outside_first.arity, inside_first.arity)
    agree(_work(outside_first, workers), _work(inside_first, workers))


@law(_WORKERS)
def an_operation_takes_as_many_workers_as_its_arity(
    operation: Operation, operations: Sequence[Operation], workers: Sequence[Worker]
) -> None:
    """Any other number of workers, or of operations to compose with, raises an error.

    The error is an `InvalidOptionError`. The arity of a composite is the sum of those inside.
    """
    inner = list(islice(cycle(operations), operation.arity))
    agree(operation.compose(*inner).arity, sum(each.arity for each in inner))
    for given in {0, 1, operation.arity + 1} - {operation.arity}:
        for act, what in ((operation, workers[0]), (operation.compose, operation)):
            refused = outcome(act, *[what] * given, refusals=(PolycontextError, TypeError))
            holds(refused is InvalidOptionError, "an InvalidOptionError", refused, given=given)


@law(_WORKERS)
def each_task_is_for_its_worker_in_any_order(
    operad: Operad, tasks: Mapping[str, str], workers: Sequence[Worker], answerer: Worker
) -> None:
    """Tasks and workers in another order have the same children, which say the same."""
    given = list(zip(tasks.items(), cycle(workers), strict=False))
    results = []
    for pairs in (given, given[::-1]):
        operation = operad.delegate(dict(task for task, _ in pairs), answerer)
        said = _session()
        operation(*(worker for _, worker in pairs))(said)
        results.append({child: text for _, text, child in _said(said) if child})
    agree(*results)
    agree(len(results[0]), len(tasks))
    for (_, task), worker in given:
        alone = _session(task)
        worker(alone)
        answer = alone.log()[-1].text
        holds(any(answer in each for each in results[0].values()), answer, results[0], task=task)


@law(_WORKERS)
def a_delegation_goes_on_where_it_stopped(
    operad: Operad,
    tasks: Mapping[str, str],
    workers: Sequence[Worker],
    answerer: Worker,
    position: int,
) -> None:
    """Called again after a worker failed, it ends as if none had, and asks no worker twice."""
    calls = list[int]()

    def counted(number: int, worker: Worker) -> Worker:
        def work(session: ContextSession) -> None:
            calls.append(number)
            if len(calls) == position + 1:
                raise ConnectionError
            worker(session)

        return work

    operation = operad.delegate(tasks, answerer)
    given = list(islice(cycle(workers), operation.arity))
    session, made = _session(), operation(*(counted(*each) for each in enumerate(given)))
    for _ in range(3):
        with suppress(ConnectionError):
            made(session)
    agree(_said(session), _work(operation, given))
    agree(len(calls), len(tasks) + (position < len(tasks)))


def _work(operation: Operation, workers: Sequence[Worker]) -> Any:
    """Return what is said in a session by the worker that the operation makes of others."""
    session = _session()
    return outcome(operation(*islice(cycle(workers), operation.arity)), session) or _said(session)


def _session(question: str = "Plan a trip to Vienna.") -> ContextSession:
    session = ContextSession(8_000, counter=EstimatingCounter())
    session.add_user_turn(question)
    return session


def _said(session: ContextSession) -> list[tuple[str, str, str]]:
    """Return role, text and child of each turn."""
    log = ((turn, handed_back_in(turn)) for turn in session.log())
    return [(turn.role, turn.text, back.session_id if back else "") for turn, back in log]
