"""The laws of compressing: it loses nothing preserved and leaves nothing invalid."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

from attrs import evolve

from polycontext.base.law import agree, holds, law
from polycontext.linearity import ResourceClass
from polycontext.window import Atom, ContextWindow, Role, Turn
from polycontext.window.part_removal import says_all_of

from ..gist import is_request, is_summary, source_ids
from ..threshold import pressure_of
from ..view import view_of

PROJECTOR = "docs/pressure.md"
GALOIS = "Ore, Galois Connexions"


class Compressor(Protocol):
    """The part of a projector that the laws need; `target` is a pressure from 0 to 1."""

    def compress(self, window: ContextWindow, target: float, /) -> Any:
        """Return a report whose `window` is compressed to `target`, or near it."""
        ...


def said_atoms(window: ContextWindow) -> list[Atom]:
    """Return the log's atoms that are whole in `window`: without summaries and truncated turns."""
    return [atom for atom in window.atoms() if not any(turn.is_gist for turn in atom.turns)]


def class_of_atom(window: ContextWindow, atom: Atom) -> ResourceClass:
    """Return the highest class of an atom's turns."""
    return max(window.class_of(turn) for turn in atom.turns)


def held_turns(window: ContextWindow) -> Mapping[str, Turn]:
    """Return the turn that holds each id of the log: the turn itself, or its gist."""
    return {source: turn for turn in window.all_turns() for source in source_ids(turn)}


@law('docs/linearity.md, "Three classes"')
def preserved_turns_stay_byte_identical(
    projector: Compressor, window: ContextWindow, targets: Sequence[float], turns: Sequence[Turn]
) -> None:
    """Preservation: every PRESERVED turn keeps its text and calls.

    Checked after one compression for each target, with turns added in between.
    """
    preserved: dict[str, Turn] = {}
    for target in targets:
        preserved.update((turn.resource_id, turn) for turn in _preserved(window))
        after = projector.compress(window, target).window
        found = [turn for turn in after.all_turns() if turn.resource_id in preserved]
        agree([turn.resource_id for turn in found], list(preserved), target=target)
        for turn in found:
            holds(
                says_all_of(turn, preserved[turn.resource_id]),
                f"all of {preserved[turn.resource_id]!r}",
                turn,
                target=target,
            )
        window = _continued(after, turns)


@law(PROJECTOR)
def what_stands_is_unchanged(projector: Compressor, window: ContextWindow, target: float) -> None:
    """A turn that keeps its id keeps its text and calls.

    It also keeps its token count, unless parts were removed.
    """
    before = {turn.resource_id: turn for turn in window.all_turns()}
    for turn in projector.compress(window, target).window.all_turns():
        if (then := before.get(turn.resource_id)) is not None:
            holds(
                turn == then or (says_all_of(turn, then) and len(turn.parts) < len(then.parts)),
                f"all of {then!r}",
                turn,
            )
            holds(
                turn == then or (turn.tokens or 0) <= (then.tokens or 0),
                f"at most {then.tokens} tokens",
                turn.tokens,
            )


@law('docs/window.md, "Turns and atoms"')
def atoms_are_never_split(projector: Compressor, window: ContextWindow, target: float) -> None:
    """An atom is compressed as a whole.

    Calls that stay keep every result, complete or cut; calls that are removed take their results
    along.
    """
    after = held_turns(projector.compress(window, target).window)
    for atom in window.atoms():
        head, *results = (after.get(source_ids(turn)[0]) for turn in atom.turns)
        answers = [result.tool_call_id if result else None for result in results]
        whole = (
            answers == [turn.tool_call_id for turn in atom.turns[1:]]
            if says_all_of(head, atom.turns[0])
            else all(r is head for r in results)
        )
        holds(whole, f"an atom, whole: {atom!r}", (head, *results))


@law(PROJECTOR)
def order_is_kept(projector: Compressor, window: ContextWindow, target: float) -> None:
    """The turns stay in the order of the conversation and appear once.

    A gist is at the position of its first source, but behind a first request that stays.
    """
    after = [source_ids(turn) for turn in projector.compress(window, target).window.all_turns()]
    places = {
        source: place
        for place, turn in enumerate(window.all_turns())
        for source in source_ids(turn)
    }
    told = [source for sources in after for source in sources]
    agree(len(told), len(set(told)))
    turns = window.all_turns()
    asked = (place for place, turn in enumerate(turns) if is_request(turn))
    opening = {source for turn in turns[: next(asked, 0)] for source in source_ids(turn)}
    firsts = [
        min(places[source] for source in ({*sources} - opening or {*sources})) for sources in after
    ]
    agree(firsts, sorted(firsts))


@law(PROJECTOR)
def sources_are_never_lost(projector: Compressor, window: ContextWindow, target: float) -> None:
    """Every turn stays, is replaced by a gist or is dropped; only DROPPABLE turns are dropped.

    No turn is invented.
    """
    after, before = (
        held_turns(each).keys() for each in (projector.compress(window, target).window, window)
    )
    droppable = {
        turn.resource_id
        for turn in window.all_turns()
        if window.class_of(turn) is ResourceClass.DROPPABLE
    }
    holds(
        before - droppable <= after <= before,
        f"{before - droppable}, and of {droppable} what stands",
        after,
    )


@law('docs/linearity.md, "Three classes"')
def ledger_survives_compression(
    projector: Compressor, window: ContextWindow, target: float
) -> None:
    """Every tag keeps its value and place, even of compressed turns, and every turn has a tag."""
    after = projector.compress(window, target).window
    before = list(window.linearity.items())
    agree(list(after.linearity.items())[: len(before)], before)
    unknown = [
        turn.resource_id for turn in after.all_turns() if turn.resource_id not in after.linearity
    ]
    holds(not unknown, "a tag for every turn", unknown)


@law('docs/pressure.md, "The ladder"')
def open_calls_and_last_user_turn_never_yield(
    projector: Compressor, window: ContextWindow, target: float
) -> None:
    """Open calls stay whatever their class, and keep each result, complete or cut.

    The last user turn stays, too, unless the reach cuts it.
    """
    said = [turn for turn in window.all_turns() if turn.role is Role.USER and not is_summary(turn)]
    waiting = [turn for atom in window.atoms() if atom.is_open for turn in atom.turns]
    after = projector.compress(window, target).window
    held = held_turns(after)
    question = (
        [] if getattr(getattr(projector, "reach", None), "cuts_question", False) else said[-1:]
    )
    missing = [
        turn
        for turn in (*question, *waiting[:1])
        if not any(says_all_of(each, turn) for each in after.all_turns())
    ]
    answers = [
        held[source_ids(turn)[0]].tool_call_id
        for turn in waiting[1:]
        if source_ids(turn)[0] in held
    ]
    agree(
        (missing, answers, after.open_calls),
        ([], [turn.tool_call_id for turn in waiting[1:]], window.open_calls),
    )


@law(GALOIS)
def fidelities_only_fall(
    projector: Compressor, window: ContextWindow, target: float, other_target: float
) -> None:
    """Deflationary on windows: no compression raises the fidelity of an atom.

    Checked for two compressions, over the log of the first window.
    """
    log = said_atoms(window)
    first = projector.compress(window, target).window
    second = projector.compress(first, other_target).window
    for before, after in pairwise(view_of(each, log) for each in (window, first, second)):
        holds(after <= before, f"at most {before!r}", after)


@law(GALOIS)
def compressing_again_changes_nothing(
    projector: Compressor, window: ContextWindow, target: float
) -> None:
    """Idempotent on windows: once a target is reached, compressing to it again changes no turn."""
    once = projector.compress(window, target).window
    if pressure_of(once) <= target:
        agree(projector.compress(once, target).window.all_turns(), once.all_turns())


@law('docs/pressure.md, "The ladder"')
def gists_are_shorter_than_their_sources(
    projector: Compressor, window: ContextWindow, target: float
) -> None:
    """A new gist has fewer tokens than the turns that it replaces."""
    after = projector.compress(window, target).window.all_turns()
    known = {turn.resource_id for turn in window.all_turns()}
    for gist in [turn for turn in after if turn.is_gist and turn.resource_id not in known]:
        sources = [
            turn for turn in window.all_turns() if set(source_ids(turn)) <= set(gist.sources)
        ]
        tokens = sum(turn.tokens or 0 for turn in sources)
        holds(gist.tokens is not None and gist.tokens < tokens, f"fewer than {tokens} tokens", gist)


@law('docs/pressure.md, "The ladder"')
def compressing_never_adds_tokens(
    projector: Compressor, window: ContextWindow, target: float
) -> None:
    """A compressed window has at most as many tokens as before."""
    after = projector.compress(window, target).window.total_tokens
    holds(after <= window.total_tokens, f"at most {window.total_tokens}", after)


def _preserved(window: ContextWindow) -> list[Turn]:
    known = [
        atom for atom in window.atoms() if all(i in window.linearity for i in atom.resource_ids)
    ]
    return [
        turn
        for atom in known
        if class_of_atom(window, atom) is ResourceClass.PRESERVED
        for turn in atom.turns
    ]


def _continued(window: ContextWindow, turns: Sequence[Turn]) -> ContextWindow:
    """Append copies of the turns that are legal at that point.

    Results of calls that are not open are left out.
    """
    for turn in turns:
        waiting = window.open_calls
        if turn.tool_call_id in waiting or not (waiting or turn.role is Role.TOOL):
            window = window.append(evolve(turn, resource_id="", tokens=None))
    return window
