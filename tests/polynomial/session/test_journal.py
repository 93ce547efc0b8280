"""The journal replays to the same session, and a saved session is restored identically."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, ContextState, Conversation, replay
from polycontext.pressure import AdaptiveThreshold, ContextProjector, FixedThreshold, Reach, Signals
from polycontext.pressure.threshold import session_threshold
from polycontext.window import ContextWindow, Part, TiktokenCounter, Turn
from tests.polynomial.conversations import (
    WORDS,
    add_all,
    chat,
    document,
    lines_of,
    text_of,
    tool_atom,
    whole,
)

# --- saved sessions -------------------------------------------------------------


def unasked(*_: object) -> ResourceClass:
    """Fail when asked for a class: the journal holds it."""
    pytest.fail("the classifier was asked")


def rich_session() -> ContextSession:
    """Return a session that has been through everything."""
    session = ContextSession(
        6000,
        auto=True,
        reserve=100,
        cooldown=3,
        counter=TiktokenCounter(),
        threshold=AdaptiveThreshold(0.6, 0.3),
        projector=ContextProjector(reach=Reach(keep_recent=2, newest_share=0.3)),
        preserved_share=0.1,
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


def test_a_saved_session_is_restored_identically_and_goes_on_alike() -> None:
    """A restored session equals the saved one, and both continue alike."""
    session = rich_session()
    restored = ContextSession.history.load(text_of(session), threshold=session.policy.threshold)
    replay(session.history.events(), Conversation(ContextWindow(5_900, classifier=unasked)))
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
