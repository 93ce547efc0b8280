"""The laws of merging sessions: forks of one conversation come together again, whole, once, and in an order that does not depend on who asks.

A merge is refused while calls are open in one of the two, and where there is no room for what is PRESERVED in both; nothing is said of
that here. No clock has run backwards.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from polycontext.linearity.law import agree, holds, law, outcome
from polycontext.polynomial.algebra.merge import FORGOTTEN
from polycontext.polynomial.errors import ContextOverflowError
from polycontext.polynomial.session.context_session import ContextSession
from polycontext.window import OrderError, Role
from polycontext.window.laws.formats import fault_of
from polycontext.window.providers import Rendered, WireFormat

_MERGING = 'docs/session.md, "Two sessions become one"'

Join = Callable[[ContextSession, ContextSession], ContextSession]
Made = ContextSession | type[Exception]
"""The session that is made, or the kind of error with which that is refused."""
Said = tuple[Any, ...]


def _joined(join: Join, first: Made, second: Made) -> Made:
    if isinstance(first, type) or isinstance(second, type):
        return first if isinstance(first, type) else second
    made: Made = outcome(join, first, second, refusals=(ContextOverflowError, OrderError))
    holds(made is not OrderError or bool(first.open_calls or second.open_calls), "no OrderError, as no call is open", made)
    return made


def _said(session: ContextSession) -> list[Said]:
    """Return when what was said by whom, in which class, whatever the ids; that a call was forgotten is said by nobody."""
    ledger = session.window.linearity
    return [
        (turn.timestamp, turn.role, turn.content, turn.tool_calls, turn.tool_call_id, ledger.get(turn.resource_id))
        for turn in session.log()
        if turn.content != FORGOTTEN
    ]


def _by_moment(said: Sequence[Said]) -> list[tuple[object, Counter[tuple[Said, ...]]]]:
    """Return the atoms of each moment; that of an atom is when it began."""
    begun = ((atom[0][0], tuple(atom)) for atom in _atoms(said))
    return [(moment, Counter(atom for _, atom in each)) for moment, each in groupby(begun, itemgetter(0))]


@law(_MERGING)
def merging_with_its_beginning_gives_the_session(join: Join, session: ContextSession, fork: ContextSession) -> None:
    """A session that is merged with what it was forked from, on either side, stands where it stands: window, gists, state, log and revision."""
    for made in (_joined(join, fork, session), _joined(join, session, fork), _joined(join, fork, fork)):
        if not isinstance(made, type):
            agree(made.conversation, fork.conversation)


@law(_MERGING)
def merging_again_changes_nothing(join: Join, session: ContextSession, fork: ContextSession, other_fork: ContextSession) -> None:
    """What was merged in before is known again: ``(a · b) · b`` is ``a · b``, and so is ``(a · b) · a``."""
    once = _joined(join, fork, other_fork)
    for branch in (fork, other_fork):
        twice = _joined(join, once, branch)
        if isinstance(once, ContextSession) and isinstance(twice, ContextSession):
            agree(twice.conversation, once.conversation, session=session)


@law(_MERGING)
def merging_forks_is_associative(
    join: Join, session: ContextSession, fork: ContextSession, other_fork: ContextSession, third_fork: ContextSession
) -> None:
    """``(a · b) · c`` says what ``a · (b · c)`` says, in the same order and classes, where the three go on from one conversation."""
    if not len(session.log()) or session.open_calls:
        return
    left = _joined(join, _joined(join, fork, other_fork), third_fork)
    right = _joined(join, fork, _joined(join, other_fork, third_fork))
    if isinstance(left, ContextSession) and isinstance(right, ContextSession):
        agree(_said(left), _said(right))


@law(_MERGING)
def merging_forks_is_commutative(join: Join, session: ContextSession, fork: ContextSession, other_fork: ContextSession) -> None:
    """``a · b`` says what ``b · a`` says, in the same classes, moment by moment; of one moment, the first one's comes first."""
    if not len(session.log()) or session.open_calls:
        return
    one, other = _joined(join, fork, other_fork), _joined(join, other_fork, fork)
    if isinstance(one, ContextSession) and isinstance(other, ContextSession):
        agree(_by_moment(_said(one)), _by_moment(_said(other)))


@law(_MERGING)
def merging_sessions_keeps_every_turn(join: Join, session: ContextSession, fork: ContextSession, other_fork: ContextSession) -> None:
    """All that either accepted is there word for word, in its order, at least in its class, results behind their calls, and each turn under an id of its own."""
    made = _joined(join, fork, other_fork)
    if isinstance(made, type):
        return
    said = _said(made)
    for branch in (fork, other_fork):
        holds(_is_within(_said(branch), said), "the branch in its order", said, branch=branch, session=session)
    agree(len({turn.resource_id for turn in made.log()}), len(made.log()))
    agree(made.open_calls, ())


def _is_within(branch: Sequence[Said], said: Sequence[Said]) -> bool:
    """Tell whether a branch's atoms stand among others in their order, each in one piece and in no lower class."""
    waiting = iter(_atoms(said))
    return all(any(_holds(atom, each) for each in waiting) for atom in _atoms(branch))


def _atoms(said: Sequence[Said]) -> list[list[Said]]:
    atoms: list[list[Said]] = []
    for each in said:
        if each[1] is Role.TOOL:
            atoms[-1].append(each)
        else:
            atoms.append([each])
    return atoms


def _holds(atom: list[Said], other: list[Said]) -> bool:
    pairs = list(zip(atom, other, strict=False))
    return len(atom) == len(other) and all(mine[1:-1] == yours[1:-1] and mine[-1] <= yours[-1] for mine, yours in pairs)


@law(_MERGING)
def what_was_merged_can_be_sent(
    join: Join, session: ContextSession, fork: ContextSession, other_fork: ContextSession, wire: WireFormat
) -> None:
    """What a merged session hands out passes the rules of every provider; it is refused for want of room alone, unless nothing stands in the view."""
    made = _joined(join, fork, other_fork)
    if isinstance(made, type) or not wire.render(made.window.all_turns()).messages:
        return
    request = outcome(made.request, wire.provider)
    fault = fault_of(wire, request.messages) if isinstance(request, Rendered) else request
    holds(fault is None or fault is ContextOverflowError, "a valid request, or one that is too large", fault, session=session)
