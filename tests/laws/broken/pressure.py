"""Broken orders, meets and compressors for the laws of pressure.

The compressors lose turns, split atoms or forget classes.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attrs import evolve, frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure import (
    CompressionResult,
    ContextProjector,
    Fulfilment,
)
from polycontext.pressure.laws import projectors, rules, summarisers
from polycontext.testing import FAST
from polycontext.window import ContextWindow, Role, Splice, Turn, count_turn
from polycontext.window.rules import NO_RULES, RuleLedger
from tests.laws.counterexamples import breaks, obeys
from tests.pressure.samples import (
    HEAD,
    Says,
    calls,
    extended,
    opened,
    result,
    talk,
    user,
    words,
)

LONG = words(0, 2_000)


def grown() -> ContextWindow:
    """Return a window with parallel calls in the middle and twelve long turns around them."""
    tools = [calls("read", "run"), result(0, words(50)), result(1, words(51))]
    return extended(opened(1_000), [*talk(4), *tools, *talk(8, first=4)])


# --- what a compression reports --------------------------------------------


class Gullible(ContextProjector):
    """Accept any summary: a published original took one that was longer than what it stood for."""

    def commit(self, window: ContextWindow, fulfilment: Fulfilment) -> CompressionResult:
        done = super().commit(window, fulfilment)
        gists = [
            (place, turn) for place, turn in enumerate(done.window.all_turns()) if turn.is_gist
        ]
        after = done.window.splice(
            [Splice(place, place + 1, (_retold(turn),)) for place, turn in gists]
        )
        return evolve(done, window=after, tokens_after=after.tokens)


def _retold(gist: Turn) -> Turn:
    told = evolve(gist, content=LONG)
    return told.with_tokens(count_turn(FAST, told))


# --- what every projector owes ---------------------------------------------


@frozen
class Made:
    """Hold the window that a compression made, and nothing more."""

    window: ContextWindow


@frozen
class By:
    """Compress by whatever function it is given."""

    change: Callable[[ContextWindow], ContextWindow]

    def compress(self, window: ContextWindow, target: float, /) -> Made:
        return Made(self.change(window))


def without(*places: int) -> By:
    """Return a compressor that drops the turns at these indices."""
    return By(
        lambda window: window.splice(
            [Splice(place % len(window), place % len(window) + 1) for place in places]
        )
    )


def cut(place: int) -> By:
    """Return a compressor that cuts a turn to its first word and keeps its id."""

    def change(window: ContextWindow) -> ContextWindow:
        turn = window.all_turns()[place]
        return window.splice(
            [Splice(place, place + 1, (evolve(turn, content=turn.text.split()[0]),))]
        )

    return By(change)


def _forgotten(window: ContextWindow) -> ContextWindow:
    """Compress, then rebuild the ledger with every turn REQUIRED, as a published original did."""
    fresh = ContextWindow(window.max_tokens, counter=window.counter)
    for turn in HEAD.compress(window, 0.3).window.all_turns():
        fresh = fresh.append(turn, ResourceClass.REQUIRED)
    return fresh


def _reordered(window: ContextWindow) -> ContextWindow:
    first, second = window.all_turns()[2:4]
    return window.splice([Splice(2, 4, (second, first))])


def _gisted(
    window: ContextWindow,
    start: int,
    stop: int,
    sources: Sequence[str],
    content: str = "A summary.",
) -> ContextWindow:
    """Return the window with one gist for a run of turns, whatever it says it stands for."""
    gist = Turn(Role.USER, content, resource_id="g99", sources=tuple(sources))
    ledger = window.linearity.tag("g99", ResourceClass.REQUIRED)
    return window.splice(
        [Splice(start, stop, (gist.with_tokens(count_turn(FAST, gist)),))], linearity=ledger
    )


breaks(
    projectors.preserved_turns_stay_byte_identical,
    "a compressor that drops a preserved turn",
    lambda law: law(without(0), grown(), [0.5], []),
)
breaks(
    projectors.preserved_turns_stay_byte_identical,
    "a compressor that shortens a preserved turn",
    lambda law: law(cut(1), grown(), [0.5], []),
)
breaks(
    projectors.preserved_turns_stay_byte_identical,
    "regression a lost map loses what was preserved",
    lambda law: law(By(_forgotten), grown(), [0.3, 0.3], talk(12, first=20)),
)


obeys(
    projectors.preserved_turns_stay_byte_identical,
    "a lost map does not show at once: only a second compression can tell",
    lambda law: law(By(_forgotten), grown(), [0.3], talk(12, first=20)),
)


def telling(start: int, stop: int, *sources: str) -> By:
    """Return a compressor that makes one gist, whatever it says it stands for."""
    return By(lambda window: _gisted(window, start, stop, sources))


def at_half(compressor: By, window: Callable[[], ContextWindow], law: Any) -> None:
    """Ask a law about one compression of a window."""
    law(compressor, window(), 0.5)


PARALLEL = [*talk(2), calls("read", "run"), result(0, words(1)), result(1, words(2))]
QUESTION = [user("Well?"), *talk(1, first=21)]
UNYIELDING = projectors.open_calls_and_last_user_turn_never_yield
ONCE: list[tuple[Callable[..., None], str, By, Callable[[], ContextWindow]]] = [
    (projectors.what_stands_is_unchanged, "cuts a turn under its own id", cut(4), grown),
    (
        projectors.atoms_are_never_split,
        "drops one of two parallel results",
        without(-1),
        lambda: extended(opened(), PARALLEL),
    ),
    (
        projectors.atoms_are_never_split,
        "summarises half an atom",
        telling(2, 9, "t3", "t4", "t5", "t6", "t7"),
        grown,
    ),
    (projectors.order_is_kept, "reorders", By(_reordered), grown),
    (projectors.order_is_kept, "tells a turn twice", telling(3, 5, "t3", "t4", "t5"), grown),
    (projectors.sources_are_never_lost, "forgets turns", without(2, 3), grown),
    (
        projectors.sources_are_never_lost,
        "makes a source up",
        telling(2, 4, "t3", "t4", "t400"),
        grown,
    ),
    (projectors.ledger_survives_compression, "loses the map", By(_forgotten), grown),
    (UNYIELDING, "drops the question", without(-2), lambda: extended(grown(), QUESTION)),
    (
        UNYIELDING,
        "drops an open call",
        without(-1),
        lambda: extended(grown(), [user("Well?"), calls("read")]),
    ),
    (
        UNYIELDING,
        "drops a result of calls that wait for another",
        without(-1),
        lambda: extended(grown(), [calls("read", "run"), result(0, words(60))]),
    ),
]
for owed, what, compressor, window in ONCE:
    breaks(owed, f"a compressor that {what}", partial(at_half, compressor, window))


def recalling() -> By:
    """Return a compressor that brings back, the second time, what it took the first time."""
    windows = [HEAD.compress(grown(), 0.2).window, grown()]
    return By(lambda _: windows.pop(0))


breaks(
    projectors.fidelities_only_fall,
    "a compressor that brings back",
    lambda law: law(recalling(), grown(), 0.2, 0.2),
)
breaks(
    projectors.compressing_again_changes_nothing,
    "a compressor that cannot stop",
    lambda law: law(without(2), extended(opened(), talk(8)), 1.0),
)
breaks(
    projectors.gists_are_shorter_than_their_sources,
    "regression a summary longer than its source is accepted",
    lambda law: law(Gullible(), grown(), 0.3),
)


CONTENT = f"{words(0)} {words(1)} "
breaks(
    projectors.gists_are_shorter_than_their_sources,
    "a summary as long as its source",
    lambda law: law(
        By(lambda w: _gisted(w, 2, 3, ("t3",), w.all_turns()[2].text)),
        extended(opened(), [user(CONTENT[: len(CONTENT) // 2]), user("What next?")]),
        0.5,
    ),
)
breaks(
    projectors.compressing_never_adds_tokens,
    "regression a longer summary makes the window grow",
    lambda law: law(Gullible(), grown(), 0.3),
)


# --- what every summariser owes --------------------------------------------


breaks(
    summarisers.summaries_keep_to_their_allowance,
    "a summariser that ignores its budget",
    lambda law: law(Says(LONG), talk(4), 40, FAST),
)
breaks(
    summarisers.summaries_are_storable_text,
    "a summariser that returns what no turn can hold",
    lambda law: law(Says("fine\ud800"), talk(4), 40, FAST),
    lambda law: law(Says(None), talk(4), 40, FAST),
    lambda law: law(Says(b"bytes"), talk(4), 40, FAST),
)


# --- rules -------------------------------------------------------------------


def ruled() -> ContextWindow:
    """Return a window with a rule that stands and one that was revoked, both in long turns."""
    said = [f"Never delete a file. {words(80)}", f"Always answer in French. {words(81)}"]
    turns = [*map(user, said), user("You may answer in English again, not in French.")]
    return extended(opened(1_000), [*turns, *talk(12)])


def told(window: ContextWindow, ledger: RuleLedger) -> ContextWindow:
    """Return what a projector makes of `window` with another ledger."""
    after = ContextProjector().compress(window.with_facts(rules=ledger), 0.3).window
    return after.with_facts(rules=window.rules)


breaks(
    rules.a_rule_that_stands_is_in_every_view,
    "a projector that does not know the rules",
    lambda law: law(By(lambda window: told(window, NO_RULES)), ruled(), 0.3),
)
breaks(
    rules.a_rule_that_stands_is_in_every_view,
    "a projector that loses the ledger",
    lambda law: law(By(lambda window: window.with_facts(rules=NO_RULES)), ruled(), 0.3),
)
breaks(
    rules.a_rule_that_has_ended_is_not_printed_as_standing,
    "a projector that takes every rule to stand",
    lambda law: law(
        By(
            lambda window: told(
                window,
                RuleLedger(tuple(evolve(rule, ended_by="") for rule in window.rules.all)),
            )
        ),
        ruled(),
        0.3,
    ),
)
for kept in (
    rules.a_rule_that_stands_is_in_every_view,
    rules.a_rule_that_has_ended_is_not_printed_as_standing,
):
    obeys(kept, "the projector itself", lambda law: law(ContextProjector(), ruled(), 0.3))
