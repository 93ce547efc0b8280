"""The same conversations grown turn by turn in a session under one budget, beside one projection of the same history."""

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
"""Thresholds, high and low, that are worth a look; the first is a session's own."""

CACHED = 0.1
"""What a token costs that a provider's cache holds, of what one costs that it does not."""


@frozen
class Way:
    """Say how sessions are made: their thresholds, and who compresses."""

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
    """Drive one session: take turns in until one is refused, and tell what the compressions did."""

    session: ContextSession
    turns: Sequence[Turn]
    taken: int = 0
    refused: Exception | None = None
    compressions: int = 0
    prefixes: list[float] = field(factory=list)
    between: list[float] = field(factory=list)
    """Which share of each request the next one begins with."""
    paid: list[float] = field(factory=list)
    """What each request costs in characters, those that a cache still holds a tenth."""
    asked: str = ""
    seconds: float = 0.0

    def grow(self, at: int) -> bool:
        """Take in all turns before `at`; tell whether none was refused."""
        while self.refused is None and self.taken < at:
            self.step()
        return self.refused is None

    def step(self) -> bool:
        """Take the next turn in; tell whether anything was compressed."""
        if self.turns[self.taken].role is Role.ASSISTANT:
            self._ask()
        before, epoch = self.session.window, self.session.window.epoch.number
        began = process_time()
        try:
            self.session.add(self.turns[self.taken])
        except Exception as error:  # noqa: BLE001 - what refuses a turn ends the session, whatever it is
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
        """Note what the model was sent before it answered, beside the request before."""
        request = _rendered(self.session.window)
        if self.asked:
            shared = _shared(self.asked, request)
            self.between.append(shared / len(self.asked))
            self.paid.append(len(request) - (1 - CACHED) * shared)
        self.asked = request

    def view(self) -> list[Message]:
        """Return what a model would be sent now."""
        return list(self.session.messages(PROVIDER, allow_open=True))

    @property
    def is_dead_end(self) -> bool:
        """Tell whether the session ended where it need not: at a result, a reply, or a user turn that fits beside the system turns."""
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
    """Return which share of a request stood at the head of the one before."""
    return _shared(before, after) / max(1, len(after))


def _shared(before: str, after: str) -> int:
    """Return how many characters both begin with."""
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
    """Sum what sessions kept, and what one projection of the same history keeps at the same budget."""

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
        """Return the figures, JSON-ready."""
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

    Each probe is asked of the session's messages at its place.
    """
    growth = Growth()
    for number, conversation in enumerate(conversations):
        tell(
            f"{conversation.set} sessions {way} {share:.0%}, conversation {number + 1} of {len(conversations)}"
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
    """Return what a session's messages say, after a look at the gates."""
    try:
        view = grown.view()
    except Exception:  # noqa: BLE001 - whatever is raised is counted
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
