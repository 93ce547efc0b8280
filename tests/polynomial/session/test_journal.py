"""The journal replays to the same session, and a saved session is restored identically."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError, PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, ContextState, Conversation, replay
from polycontext.pressure import AdaptiveThreshold, ContextProjector, FixedThreshold, Reach, Signals
from polycontext.pressure.threshold import session_threshold
from polycontext.testing import FAST
from polycontext.testing.strategies import Move
from polycontext.window import ContextWindow, Part, TiktokenCounter, Turn
from tests.polynomial.conversations import (
    WORDS,
    Engine,
    add_all,
    chat,
    document,
    lines_of,
    session_moves,
    text_of,
    tool_atom,
    whole,
    with_engine,
)

SPOKEN = ["compress", "recall", "promote", "clear", "signal"]
ACTIONS = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(SPOKEN), st.integers(0, 40)), max_size=8
)
Actions = list[tuple[int, str, int]]


def drive(session: ContextSession, moves: list[Move], actions: Actions) -> ContextSession:
    """Add the moves, and between them do what `actions` say; what is refused is left out."""
    for place, (turn, resource_class) in enumerate(moves):
        for when, what, number in actions:
            if when == place:
                attempt(session, what, number)
        try:
            session.add(turn, resource_class)
        except PolycontextError:
            continue
    return session


def attempt(session: ContextSession, what: str, number: int) -> None:
    """Do one thing to a session, or be refused."""
    log = session.log()
    one = log[number % len(log)].resource_id if log else "t1"
    try:
        match what:
            case "compress":
                session.compress(number / 40)
            case "recall":
                session.recall([one])
            case "promote":
                session.promote(one, ResourceClass.PRESERVED, rationale="asked for")
            case "clear":
                session.clear()
            case _:
                session.background.signal(Signals(progress=number / 40, looping=number % 2 == 0))
    except PolycontextError:
        return


@pytest.mark.parametrize(("engine", "auto"), [("machine", True), ("table", False)])
@given(moves=session_moves(), actions=ACTIONS, max_tokens=st.sampled_from([200, 500, 2000]))
def test_replaying_the_journal_gives_the_same_session(
    moves: list[Move], actions: Actions, max_tokens: int, engine: Engine, *, auto: bool
) -> None:
    """The events alone give state and window, without classifier, clock or summariser."""
    session = drive(
        with_engine(engine, ContextSession(max_tokens, counter=FAST, auto=auto)), moves, actions
    )
    empty = ContextWindow(max_tokens, counter=FAST, classifier=unasked)
    assert replay(session.history.events(), Conversation(empty)) == session.conversation
    assert session.history.revision == len(session.history.events())


def unasked(*_: object) -> ResourceClass:
    """Fail when asked for a class: the journal holds it."""
    pytest.fail("the classifier was asked")


# --- saved sessions -------------------------------------------------------------


def rich_session(engine: Engine = "machine") -> ContextSession:
    """Return a session that has been through everything."""
    session = with_engine(
        engine,
        ContextSession(
            6000,
            auto=True,
            reserve=100,
            cooldown=3,
            counter=TiktokenCounter(),
            threshold=AdaptiveThreshold(0.6, 0.3),
            projector=ContextProjector(reach=Reach(keep_recent=2, newest_share=0.3)),
            preserved_share=0.1,
        ),
    )
    session.add_system("Be brief. <|endoftext|> 日本")
    session.add_user_turn("Book a night train.", name="ann")
    session.add(
        Turn(
            "user",
            "look",
            metadata={"a": {"b": [1, 2.5, None, True]}},
            parts=[Part("openai", '{"type": "image_url"}')],
        )
    )
    add_all(session, [*tool_atom("search", 60, 40), *chat(60, 25)])
    while session.state is ContextState.COMPRESSED:
        session.add_user_turn("and then?")
    session.compress(0.2)
    session.recall([session.log()[5].resource_id])
    session.promote(
        session.log()[6].resource_id, ResourceClass.PRESERVED, rationale="ann came back to it"
    )
    session.background.signal(Signals(progress=0.5, looping=True))
    return session


@pytest.mark.parametrize("engine", ["machine", "table"])
def test_a_saved_session_is_restored_identically_and_goes_on_alike(engine: Engine) -> None:
    """A restored session equals the saved one, and both continue alike."""
    session = rich_session(engine)
    restored = ContextSession.history.load(text_of(session), threshold=session.policy.threshold)
    assert whole(restored) == whole(session)
    assert (restored.policy.auto, restored.pressure) == (session.policy.auto, session.pressure)
    assert restored.policy == session.policy
    assert restored.messages() == session.messages()
    assert text_of(restored) == text_of(session)
    revision = session.history.revision
    for turn in chat(60, 30):
        moment = session.add(turn).window.extract()
        assert moment is not None
        restored.add(Turn(turn.role, turn.content, timestamp=moment.timestamp))
    assert (restored.window, restored.state, restored.log()) == (
        session.window,
        session.state,
        session.log(),
    )
    assert (
        sum(
            type(event).__name__ == "CompressEvent"
            for event in restored.history.events()[revision:]
        )
        > 0
    )


@given(session_moves(), ACTIONS)
def test_any_session_survives_being_saved(moves: list[Move], actions: Actions) -> None:
    """Any saved session restores to an identical one, if a custom counter is passed again."""
    session = drive(ContextSession(500, counter=FAST), moves, actions)
    restored = ContextSession.history.load(text_of(session).encode(), counter=FAST)
    assert whole(restored) == whole(session)
    assert restored.policy == session.policy


def test_what_is_no_data_is_passed_again() -> None:
    """Restoring without the custom counter is refused, and marks are never saved."""
    given = FixedThreshold(0.9, 0.1)
    saved = text_of(add_all(ContextSession(300, counter=WORDS, threshold=given), chat(2)))
    with pytest.raises(InvalidDataError, match=r"settings\.counter.*the same counter="):
        ContextSession.history.load(saved)
    assert (
        ContextSession.history.load(saved, counter=WORDS).policy.threshold
        == session_threshold()
        != given
    )
    assert (
        ContextSession.history.load(saved, counter=WORDS, threshold=given).policy.threshold == given
    )


def faulty(path: str, value: Any) -> str:
    """Return a saved session in which one value is another."""
    data = document(add_all(ContextSession(300), chat(2)))
    node: Any = data
    *steps, last = path.split(".")
    for step in steps:
        node = node[int(step)] if step.isdigit() else node[step]
    if value is ...:
        del node[last]
    else:
        node[int(last) if last.isdigit() else last] = value
    return lines_of(data)


FAULTS = [
    ("schema", 99, "schema 99"),
    ("schema", ..., "schema: is missing"),
    ("auto", 1, "auto"),
    ("engine", "table", "engine"),
    ("taken", 300, "300"),
    ("events", {}, "events"),
    ("events.1.turn.content", 5, "line 3"),
    ("events.1.turn.role", "poet", "line 3"),
    ("events.1.turn.resource_id", "t1", "line 3"),
    ("events.1.state", "BORED", "line 3"),
    ("reach.keep_recent", -1, "reach"),
    ("preserved_share", "0.2", "preserved_share"),
    ("signals.progress", True, "progress"),
]


@pytest.mark.parametrize(
    ("path", "value", "named"), FAULTS, ids=[f"{path}={value!r:.20}" for path, value, _ in FAULTS]
)
def test_a_faulty_save_is_refused_and_the_place_named(path: str, value: Any, named: str) -> None:
    """Unknown versions and missing, surplus or wrong values are refused with their path."""
    with pytest.raises(InvalidDataError, match=named) as caught:
        ContextSession.history.load(faulty(path, value))
    assert caught.value.path.startswith(("line ", "settings"))
    assert caught.value.legal


JUNK: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.just(10**30)
    | st.floats()
    | st.text(max_size=3)
    | st.just([])
    | st.just({})
)


@given(st.data())
def test_any_damage_is_a_snapshot_error_or_harmless(data: st.DataObject) -> None:
    """A save with a damaged value raises `InvalidDataError`, or loads as a usable session."""
    session = ContextSession(400, counter=TiktokenCounter())
    saved: Any = document(add_all(session, [*chat(9, 20), *tool_atom("search", 9)]))
    node: Any = saved
    step = data.draw(st.sampled_from(sorted(saved)))
    while isinstance(node[step], dict | list) and node[step] and data.draw(st.integers(0, 5)):
        node = node[step]
        step = data.draw(
            st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node)))
        )
    node[step] = data.draw(JUNK)
    try:
        restored = ContextSession.history.load(lines_of(saved))
    except InvalidDataError as error:
        # Infinity and NaN are no JSON, and options out of their range are told together.
        assert error.path.startswith(("line ", "the last line", "settings"))
    else:
        text_of(restored)
        assert len(restored.log()) <= len(session.log())
