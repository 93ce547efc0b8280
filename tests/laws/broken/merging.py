"""Broken ways to merge sessions, each of which a law rejects."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

from polycontext.nodes.testing import FAST
from polycontext.nodes.testing.machines import join
from polycontext.polynomial import ContextSession
from polycontext.polynomial.laws import merging
from polycontext.polynomial.stores import InMemoryStore
from polycontext.window import ToolCall, Turn
from polycontext.window.providers import Provider, get_format
from tests.laws.breaking import breaks, obeys


def forked(*said: str, first: int = 0) -> ContextSession:
    """Return a session that has gone on from `BASE`, saying something every second second."""
    fork = ContextSession.from_json(BASE.to_json(), counter=FAST, clock=clock(10 + first))
    for text in said:
        fork.add_user_turn(text)
    return fork


def clock(first: int) -> Callable[[], datetime]:
    """Return a clock that begins somewhere and takes two seconds a look."""
    ticking = count(first, 2)
    return lambda: datetime(2026, 11, 23, tzinfo=UTC) + timedelta(seconds=next(ticking))


BASE = ContextSession(2_000, counter=FAST, clock=clock(0))
BASE.add_user_turn("Book a night train to Vienna.")
ONE, TWO, THREE = forked("a", "b"), forked("c", "d", first=1), forked("e", "f", first=3)


def anew(*turns: tuple[Turn, object]) -> ContextSession:
    """Return a session that takes turns in, whatever they were before."""
    session = ContextSession(2_000, counter=FAST, clock=clock(100))
    for turn, resource_class in turns:
        session.add(Turn(turn.role, turn.content, timestamp=turn.timestamp), resource_class)  # type: ignore[arg-type]
    return session


def told(session: ContextSession) -> list[tuple[Turn, object]]:
    """Return the turns of a session with their classes."""
    return [(turn, session.window.class_of(turn)) for turn in session.log()]


def doubling(first: ContextSession, second: ContextSession) -> ContextSession:
    """Merge, but know nothing again."""
    return anew(*told(first), *told(second))


def behind(first: ContextSession, second: ContextSession) -> ContextSession:
    """Merge, but put all of the second behind the first."""
    return first.merge(second, "merged", store=InMemoryStore(), interleave=False)


def second_alone(_: ContextSession, second: ContextSession) -> ContextSession:
    """Keep the second."""
    return second


def nested(first: ContextSession, second: ContextSession) -> ContextSession:
    """Merge, and say that it was done."""
    made = join(first, second)
    made.add_user_turn(f"merged {len(first.log())} and {len(second.log())}")
    return made


class Unsent(ContextSession):
    """Hand out what no provider takes."""

    def request(self, *_: object, **__: object):  # type: ignore[no-untyped-def]  # noqa: ANN201 - as that of a session
        return super().request(Provider.OPENAI)


def unsent(first: ContextSession, second: ContextSession) -> ContextSession:
    """Merge into a session that speaks one language to all."""
    return Unsent.from_json(join(first, second).to_json(), counter=FAST)


def lowering(first: ContextSession, second: ContextSession) -> ContextSession:
    """Merge, but let every class fall."""
    return anew(*((turn, "droppable") for turn, _ in told(join(first, second))))


WIRE = get_format(Provider.ANTHROPIC)
CALLING = forked()
CALLING.add_assistant_turn(None, [ToolCall("c1", "search", "{}")])
CALLING.add_tool_turn("found", tool_call_id="c1")

breaks(merging.merging_with_its_beginning_gives_the_session, "a merge that knows nothing again", lambda law: law(doubling, BASE, ONE))
breaks(merging.merging_with_its_beginning_gives_the_session, "a merge that keeps the second", lambda law: law(second_alone, BASE, ONE))
breaks(merging.merging_again_changes_nothing, "a merge that says that it was done", lambda law: law(nested, BASE, ONE, TWO))
breaks(merging.merging_forks_is_associative, "a merge that says that it was done", lambda law: law(nested, BASE, ONE, TWO, THREE))
breaks(merging.merging_forks_is_commutative, "a merge that goes by who asks", lambda law: law(behind, BASE, ONE, TWO))
breaks(merging.merging_sessions_keeps_every_turn, "a merge that keeps the second", lambda law: law(second_alone, BASE, ONE, TWO))
breaks(merging.merging_sessions_keeps_every_turn, "a merge that lowers classes", lambda law: law(lowering, BASE, ONE, TWO))
breaks(
    merging.what_was_merged_can_be_sent,
    "a session that speaks one language to all",
    lambda law: law(unsent, BASE, CALLING, TWO, WIRE),
)
obeys(merging.merging_forks_is_associative, "a merge of one behind the other", lambda law: law(behind, BASE, ONE, TWO, THREE))
