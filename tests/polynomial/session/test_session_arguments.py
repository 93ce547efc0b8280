"""Every argument of a session's writes reaches its place, in the blocking and the async form."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.polynomial.machine.context_machine import ContextMachine
from polycontext.polynomial.session.delivery import Delivery
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import ConflictError, ContextProjector
from polycontext.window import ContextItem, InvalidMessagesError, TokenCounter, ToolCall, Turn
from polycontext.window.items import attachment_of
from tests.polynomial.conversations import add_all, chat, session_of
from tests.pressure.samples import Says

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 12, tzinfo=UTC)
Write = Callable[..., ContextOutput]


class Twin:
    """Call the async twin of each write of a session as if it were blocking."""

    def __init__(self, session: ContextSession) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Write:
        """Return the twin of `name`."""
        twin: Any = getattr(self._session, f"a{name}")
        return lambda *arguments, **options: asyncio.run(twin(*arguments, **options))


DOORS: list[Callable[[ContextSession], Any]] = [lambda session: session, Twin]
doors = pytest.mark.parametrize("door", DOORS, ids=["blocking", "async"])


@doors
def test_a_turn_arrives_with_all_that_was_said_of_it(door: Callable[[ContextSession], Any]) -> None:
    """Text, name, calls, class and time of each kind of turn are in the log and in the ledger."""
    session = session_of(clock=lambda: NOON)
    write = door(session)
    calls = [ToolCall("a", "search", "{}")]
    write.add_system("s", resource_class=ResourceClass.REQUIRED)
    write.add_user_turn("u", name="ann", resource_class=ResourceClass.DROPPABLE)
    write.add_assistant_turn("a", calls, resource_class=ResourceClass.PRESERVED)
    write.add_tool_turn(
        "t", tool_call_id="a", name="search", resource_class=ResourceClass.PRESERVED
    )
    write.add(Turn("user", "x", timestamp=LATER, tokens=99), ResourceClass.DROPPABLE)
    assert [
        (turn.role, turn.text, turn.name, turn.tool_calls, turn.tool_call_id, turn.timestamp)
        for turn in session.log()
    ] == [
        ("system", "s", None, (), None, NOON),
        ("user", "u", "ann", (), None, NOON),
        ("assistant", "a", None, tuple(calls), None, NOON),
        ("tool", "t", "search", (), "a", NOON),
        ("user", "x", None, (), None, LATER),
    ]
    assert [session.window.class_of(turn).name for turn in session.log()] == [
        "REQUIRED",
        "DROPPABLE",
        "PRESERVED",
        "PRESERVED",
        "DROPPABLE",
    ]


@doors
def test_every_write_asks_for_the_revision_that_its_caller_saw(
    door: Callable[[ContextSession], Any],
) -> None:
    """A stale number is refused whatever is written, the current one is not."""
    session = add_all(session_of(), chat(6))
    write = door(session)
    attempts: dict[str, tuple[Any, ...]] = {
        "add_system": ("s",),
        "add_user_turn": ("u",),
        "add_assistant_turn": ("a", [ToolCall("a", "search")]),
        "add_tool_turn": ("t",),
        "add": (Turn("user", "x"),),
        "compress": (0.3,),
        "recall": (["t1"],),
        "clear": (),
    }
    for name, arguments in attempts.items():
        options = {"tool_call_id": "a"} if name == "add_tool_turn" else {}
        with pytest.raises(ConflictError):
            getattr(write, name)(
                *arguments, **options, expected_revision=session.history.revision - 1
            )
        getattr(write, name)(*arguments, **options, expected_revision=session.history.revision)


class Asked(Says):
    """A summariser that remembers the question."""

    def __init__(self) -> None:
        super().__init__("All is well.")
        self.queries: list[str | None] = []

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Note the question and return the answer."""
        self.queries.append(query)
        return super().summarise(turns, max_tokens, counter=counter, query=query)


@doors
def test_a_compression_has_its_target_and_its_question(
    door: Callable[[ContextSession], Any],
) -> None:
    """The summariser gets the question, and pressure falls to the target or to the low mark."""
    asked = Asked()
    session = add_all(
        session_of(projector=ContextProjector(asked), auto=False, cooldown=0), chat(40, 10)
    )
    write = door(session)
    write.compress(query="What about the train?")
    assert set(asked.queries) == {"What about the train?"}
    assert session.pressure <= session.policy.threshold.low
    add_all(session, chat(20, 10))
    write.compress(0.1)
    assert session.pressure <= 0.1
    assert asked.queries[-1] is None


def test_the_live_machine_is_made_when_it_is_looked_at() -> None:
    """The live machine is created at its first use, and then follows the session."""
    session = session_of()
    session.add_user_turn("hello")
    machine = session.machine
    session.add_assistant_turn("hi")
    assert isinstance(machine, ContextMachine)
    assert session.machine is machine
    assert (machine.context_state, machine.window) == (session.state, session.window)


def test_open_calls_are_handed_out_only_where_asked_for() -> None:
    """A view that ends on open calls is refused unless the caller says that it may."""
    window = add_all(
        session_of(),
        [Turn("user", "u"), Turn("assistant", None, tool_calls=(ToolCall("a", "search"),))],
    ).window
    with pytest.raises(InvalidMessagesError, match="calls without results: a"):
        Delivery().deliver(window)
    assert len(Delivery().deliver(window, allow_open=True).messages) == 2


@doors
def test_an_item_keeps_the_source_it_was_given_under_a_fresh_id_too(
    door: Callable[[ContextSession], Any],
) -> None:
    """An item with a clashing id gets a new one and keeps the source that the caller named."""
    session = session_of()
    write = door(session)
    for content in ("first", "second"):
        write.attach(ContextItem(content, "text", id="ctx-1"), source="notes")
    found = [attachment for turn in session.log() if (attachment := attachment_of(turn))]
    assert [attachment.source for attachment in found] == ["notes", "notes"]
    assert found[0].id == "ctx-1" != found[1].id


class Scribe:
    """A prompt builder that says what it was told."""

    def build_prompt(
        self,
        output: ContextOutput,
        /,
        agent_type: str,
        eigenvectors: Mapping[str, float] | None,
        constraints: Sequence[str],
        *,
        task: str | None,
        system_only: bool,
        **values: str | float,
    ) -> str:
        """Return everything as text."""
        return repr(
            (
                len(output.window),
                agent_type,
                eigenvectors,
                tuple(constraints),
                task,
                system_only,
                values,
            )
        )


@pytest.mark.parametrize("system_only", [True, False])
def test_a_prompt_builder_of_ones_own_is_told_everything(system_only: bool) -> None:
    """Output, agent, eigenvectors, constraints, task and values arrive as they were given."""
    session = add_all(session_of(), chat(3))
    said = session.build_prompt(
        "critic",
        {"warmth": 0.5},
        ["be brief"],
        task="review",
        system_only=system_only,
        prompts=Scribe(),
        mood="calm",
    )
    assert said == repr(
        (3, "critic", {"warmth": 0.5}, ("be brief",), "review", system_only, {"mood": "calm"})
    )
    assert session.build_prompt(prompts=Scribe()) == repr((3, "default", None, (), None, False, {}))


def test_a_session_without_a_name_is_kept_under_one_that_can_be_found() -> None:
    """A session without an id is stored as `session`."""
    store = InMemoryStore()
    ContextSession(500, store=store).add_user_turn("hello")
    assert len(store.load("session").events) == 1
    assert [turn.text for turn in ContextSession(500, store=store).log()] == ["hello"]
