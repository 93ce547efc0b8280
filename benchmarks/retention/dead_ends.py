"""Find sessions that cannot continue, in random tool loops and in grown recordings."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import define, field

from benchmarks.retention.gates import is_valid
from benchmarks.retention.growing import Grown, Way, turns_of
from benchmarks.retention.loops import loop_of
from benchmarks.retention.recordings import Conversation, request_tokens
from polycontext.window import TiktokenCounter, TokenCounter

SHOWN = 5


@define
class DeadEnds:
    """Counts of sessions, refusals and avoidable refusals, with a few examples."""

    sessions: int = 0
    turns: int = 0
    refused: Counter[str] = field(factory=Counter)
    gates: Counter[str] = field(factory=Counter)
    shown: list[str] = field(factory=list)

    def as_data(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data."""
        gates = {"dead end": 0, **self.gates}
        return {
            "sessions": self.sessions,
            "turns": self.turns,
            "ended by": dict(self.refused),
            "gates": gates,
            "shown": self.shown,
        }

    def add(self, name: str, grown: Grown, counter: TokenCounter) -> None:
        """Drive a session to its end, and check its messages after every turn."""
        while grown.refused is None and grown.taken < len(grown.turns):
            before = grown.taken
            grown.step()
            if grown.taken > before:
                self._look(name, grown, counter)
        self.sessions += 1
        self.turns += grown.taken
        if grown.refused is not None:
            self.refused[f"{grown.turns[grown.taken].role}: {type(grown.refused).__name__}"] += 1
            if grown.is_dead_end:
                self._note("dead end", f"{name}, turn {grown.taken}: {grown.refused}")

    def _look(self, name: str, grown: Grown, counter: TokenCounter) -> None:
        window = grown.session.window
        try:
            view = grown.view()
        except Exception as error:  # noqa: BLE001 - every error is counted
            # A system message alone is no request yet.
            if grown.turns[grown.taken - 1].role != "system":
                self._note("exception", f"{name}, turn {grown.taken}: {error}")
            return
        if request_tokens(view) > window.max_tokens:
            self._note("over budget", f"{name}, turn {grown.taken}")
        if not is_valid(view, open_tail=bool(window.open_calls)):
            self._note("invalid", f"{name}, turn {grown.taken}")

    def _note(self, gate: str, where: str) -> None:
        self.gates[gate] += 1
        if len(self.shown) < SHOWN:
            self.shown.append(f"{gate}: {where}"[:240])


def in_loops(
    seeds: Iterable[int], way: Way, *, tell: Callable[[str], None] = lambda _: None
) -> DeadEnds:
    """Drive the random loops of `seeds`."""
    found, counter = DeadEnds(), TiktokenCounter()
    for seed in seeds:
        tell(f"dead ends {way}, loop {seed}, {found.gates['dead end']} so far")
        loop = loop_of(seed)
        found.add(f"loop {seed}", Grown(way.session(loop.max_tokens, counter), loop.turns), counter)
    return found


def in_recordings(
    conversations: Sequence[Conversation],
    share: float,
    way: Way,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> DeadEnds:
    """Grow whole recordings in `share` of their tokens."""
    found, counter = DeadEnds(), TiktokenCounter()
    for conversation in conversations:
        tell(f"dead ends {way}, {conversation.set} {share:.0%}, {conversation.id}")
        max_tokens = conversation.budget(len(conversation.messages), share)
        found.add(
            conversation.id,
            Grown(way.session(max_tokens), turns_of(conversation.messages)),
            counter,
        )
    return found
