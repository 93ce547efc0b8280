"""Grow conversations turn by turn in a session, against one projection of the same history."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile
from json import dumps
from statistics import fmean
from time import process_time
from typing import Any

from attrs import define, field, frozen

from benchmarks.retention.gates import broken_by
from benchmarks.retention.methods import Asked, projected
from benchmarks.retention.projecting import calls_of
from benchmarks.retention.recall import Wanted, whole_text
from benchmarks.retention.recordings import PROVIDER, Conversation, Message, counter
from benchmarks.retention.tally import Tally, middle
from polycontext.polynomial import ContextSession
from polycontext.pressure import ContextProjector, FixedThreshold
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role, TokenCounter, Turn, count_turn
from polycontext.window.providers import get_format

PAIRS = ((0.97, 0.8), (0.7, 0.4), (0.9, 0.7), (0.95, 0.5), (0.97, 0.9))
"""The pairs of high and low thresholds to measure; the first is the session's default."""

CACHED = 0.1
"""The price of a cached token relative to an uncached one."""


@frozen
class Way:
    """The settings of a session: its thresholds and its projector."""

    high: float = PAIRS[0][0]
    low: float = PAIRS[0][1]
    projector: Callable[[], ContextProjector] = ContextProjector

    def session(self, max_tokens: int, counts: TokenCounter | None = None) -> ContextSession:
        """Return a new session."""
        threshold = FixedThreshold(self.high, self.low)
        return ContextSession(
            max_tokens, counter=counts or counter(), threshold=threshold, projector=self.projector()
        )

    def __str__(self) -> str:
        return f"{self.high:g}/{self.low:g}".replace("0.", ".")


@define
class Grown:
    """A session that is given turns until one is refused, with figures of its compressions."""

    session: ContextSession
    turns: Sequence[Turn]
    taken: int = 0
    refused: Exception | None = None
    compressions: int = 0
    prefixes: list[float] = field(factory=list)
    between: list[float] = field(factory=list)
    """The shares of each request that the next one begins with."""
    paid: list[float] = field(factory=list)
    """The cost of each request in characters, cached ones counted at a tenth."""
    asked: str = ""
    seconds: float = 0.0

    def grow(self, at: int) -> bool:
        """Add all turns before `at`; return whether none was refused."""
        while self.refused is None and self.taken < at:
            self.step()
        return self.refused is None

    def step(self) -> bool:
        """Add the next turn; return whether anything was compressed."""
        if self.turns[self.taken].role is Role.ASSISTANT:
            self._ask()
        before, epoch = self.session.window, self.session.window.epoch.number
        began = process_time()
        try:
            self.session.add(self.turns[self.taken])
        except Exception as error:  # noqa: BLE001 - any refusal ends the session
            self.refused = error
            return False
        finally:
            self.seconds += process_time() - began
        self.taken += 1
        changes = self.session.window.epoch.number - epoch
        if changes:
            self.compressions += changes
            self.prefixes.append(_kept_prefix(_rendered(before), _rendered(self.session.window)))
        return bool(changes)

    def _ask(self) -> None:
        """Record the request before an answer, compared with the previous request."""
        request = _rendered(self.session.window)
        if self.asked:
            shared = _shared(self.asked, request)
            self.between.append(shared / len(self.asked))
            self.paid.append(len(request) - (1 - CACHED) * shared)
        self.asked = request

    def view(self) -> list[Message]:
        """Return the messages that a model would be sent now."""
        return list(self.session.messages(PROVIDER, allow_open=True))

    @property
    def is_dead_end(self) -> bool:
        """Return whether the refusal was avoidable.

        It was if the turn is a result or a reply, or fits beside the system turns.
        """
        if self.refused is None:
            return False
        turn = self.turns[self.taken]
        system = [each for each in self.session.log() if each.role is Role.SYSTEM]
        needed = REQUEST_OVERHEAD + sum(
            count_turn(self.session.window.counter, each) for each in (*system, turn)
        )
        return turn.role in (Role.TOOL, Role.ASSISTANT) or needed <= self.session.window.max_tokens


def _rendered(window: ContextWindow) -> str:
    return dumps(get_format(PROVIDER).render(window.all_turns()).messages)[:-1]


def _kept_prefix(before: str, after: str) -> float:
    """Return the share of a request that is a prefix of the previous one."""
    return _shared(before, after) / max(1, len(after))


def _shared(before: str, after: str) -> int:
    """Return the length of the common prefix."""
    if after.startswith(before):
        return len(before)
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    )


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """Return the turns of a recorded list."""
    return list(get_format(PROVIDER).parse(messages).turns)


@define
class Growth:
    """The totals of sessions, and of one projection of the same history in the same budget."""

    session: Tally = field(factory=Tally)
    projection: Tally = field(factory=Tally)
    gates: Counter[str] = field(factory=Counter)
    sessions: int = 0
    refused: Counter[str] = field(factory=Counter)
    compressions: int = 0
    turns: int = 0
    prefixes: list[float] = field(factory=list)
    between: list[float] = field(factory=list)
    seconds: float = 0.0

    def as_data(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data."""
        session, projection = self.session.share, self.projection.share
        return {
            "session": session,
            "projection": projection,
            "ratio": session / projection if session is not None and projection else None,
            "of": self.session.of,
            "sessions": self.sessions,
            "ended by": dict(self.refused),
            "gates": dict(self.gates),
            "compressions": self.compressions,
            "turns a compression": self.turns / self.compressions if self.compressions else None,
            "prefix kept": middle(self.prefixes),
            "prefix between": fmean(self.between) if self.between else None,
            "ms a compression": 1000 * self.seconds / self.compressions
            if self.compressions
            else None,
        }


def measure(
    conversations: Sequence[Conversation],
    share: float,
    way: Way,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> Growth:
    """Grow every conversation under the budget of its last probe.

    Each probe is looked up in the session's messages at its place.
    """
    growth = Growth()
    for number, conversation in enumerate(conversations):
        tell(
            f"{conversation.set} sessions {way} {share:.0%}, conversation {number + 1} of "
            f"{len(conversations)}"
        )
        _add(growth, conversation, share, way)
    return growth


def _add(growth: Growth, conversation: Conversation, share: float, way: Way) -> None:
    max_tokens = conversation.budget(max(probe.at for probe in conversation.probes), share)
    grown = Grown(way.session(max_tokens), turns_of(conversation.messages))
    for call in sorted(calls_of(conversation, asked=False), key=lambda call: call.at):
        wanted, messages = call.wanted(), list(call.messages)
        text = _looked_at(growth, grown, messages, max_tokens) if grown.grow(call.at) else ""
        growth.session.add(conversation.id, _hits(wanted, text), len(wanted))
        growth.projection.add(
            conversation.id, _hits(wanted, _projected(messages, max_tokens)), len(wanted)
        )
    growth.sessions += 1
    growth.turns += grown.taken
    growth.compressions += grown.compressions
    growth.prefixes += grown.prefixes
    growth.between += grown.between
    growth.seconds += grown.seconds
    if grown.refused:
        growth.refused[f"{grown.turns[grown.taken].role}: {type(grown.refused).__name__}"] += 1
        growth.gates["dead end"] += grown.is_dead_end


def _looked_at(growth: Growth, grown: Grown, messages: Sequence[Message], max_tokens: int) -> str:
    """Return the texts of a session's messages, after checking the gates."""
    try:
        view = grown.view()
    except Exception:  # noqa: BLE001 - every error is counted
        growth.gates["exception"] += 1
        return ""
    growth.gates.update(broken_by(view, messages, max_tokens))
    return whole_text(view)


def _hits(wanted: Sequence[Wanted], text: str) -> int:
    return sum(each.stands_in(text) for each in wanted)


def _projected(messages: Sequence[Message], max_tokens: int) -> str:
    try:
        return whole_text(projected(Asked(messages, max_tokens)))
    except Exception:  # noqa: BLE001 - a refusal keeps nothing
        return ""
