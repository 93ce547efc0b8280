"""Large user turns: whole in the log and truncated in the view; what is PRESERVED stays whole."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import (
    AdaptiveThreshold,
    FixedThreshold,
    Threshold,
)
from polycontext.window import Role
from tests.polynomial.conversations import (
    WORDS,
    add_all,
    call,
    chat,
    recount,
    result,
    session_of,
    text_of,
    tool_atom,
    words,
)

CUT = "[Cut; the whole is t"
THRESHOLDS: list[Threshold] = [
    AdaptiveThreshold(),
    FixedThreshold(1.0, 0.8),
    FixedThreshold(0.5, 0.1),
]
STEPS = st.lists(
    st.tuples(st.sampled_from(["user", "say", "call", "compress"]), st.integers(1, 900)),
    max_size=12,
)


def take(session: ContextSession, number: int, kind: str, size: int) -> None:
    """Do one step."""
    match kind:
        case "user":
            session.add_user_turn(words(size, f"u{number}_"))
        case "say":
            session.add_assistant_turn(words(size, f"a{number}_"))
        case "call":
            add_all(session, tool_atom("look", size, call_id=f"c{number}_"))
        case _:
            session.compress(0.3)


LEAST_ROOM = 40
"""More than the shortest summary takes here."""


@settings(max_examples=max(10, settings().max_examples // 4))
@given(
    st.integers(600, 900),
    st.floats(0.0, 0.8),
    st.floats(0.01, 3.0),
    STEPS,
    st.sampled_from(THRESHOLDS),
)
def test_conversations_do_not_end_for_want_of_room(
    budget: int, system: float, task: float, steps: list[tuple[str, int]], marks: Threshold
) -> None:
    """Whatever is said, the view fits, the log is whole, and a task that fits stays whole."""
    session = session_of(budget, threshold=marks)
    said = words(int(task * budget) + 1, "t")
    session.add_system(words(int(system * budget) + 1, "s"))
    session.add_user_turn(said)
    is_kept = session.window.linearity.get("t2") is ResourceClass.PRESERVED
    # One that fits, but leaves no room for a summary beside it, is not PRESERVED either.
    is_tight = recount(session.messages(), WORDS) > budget - LEAST_ROOM
    assert is_kept or is_tight or session.output.truncated == ("t2",)
    for number, (kind, size) in enumerate([("say", 5), *steps, ("compress", 1), ("compress", 1)]):
        take(session, number, kind, size)
        assert recount(session.messages(allow_open=True), WORDS) <= budget
        stands = [turn.text for turn in session.window.all_turns() if turn.resource_id == "t2"]
        assert not is_kept or stands == [said]
    assert session.log()[1].text == said
    assert (
        ContextSession.history.load(text_of(session), counter=WORDS, threshold=marks).messages()
        == session.messages()
    )


@pytest.mark.parametrize("system", [1, 100, 300, 480])
def test_a_truncated_task_has_its_beginning_and_its_end(system: int) -> None:
    """It is not PRESERVED, and the output says that it is truncated."""
    session = session_of(600)
    session.add_system(words(system, "s"))
    output = session.add_user_turn(
        "Begin here.\n" + "\n".join(f"line {n} of many" for n in range(500)) + "\nEnd there."
    )
    assert output.truncated == session.output.truncated == ("t2",)
    assert session.window.linearity.get("t2") is ResourceClass.REQUIRED
    seen = session.messages()[1]["content"]
    assert seen.startswith(f"{CUT}2 in the log]\nBegin here.\n")
    assert "\n[… " in seen
    assert seen.endswith("End there.")
    assert (600 - system) // 3 < len(seen.split()) <= 600 - system


@pytest.mark.parametrize(
    "write",
    [
        lambda session: session.add_system(words(300, "s")),
        lambda session: session.add_user_turn(words(300, "p"), resource_class="PRESERVED"),
        lambda session: session.pin("t2"),
        lambda session: session.promote("t2", "PRESERVED"),
        lambda session: session.send("resize", 405),
        lambda session: session.rules.add(f"Never use {words(200, 'w')}."),
    ],
)
def test_what_leaves_no_room_beside_preserved_turns_is_refused(write: Any) -> None:
    """The error names the tokens that would do and what takes the room, and nothing changes."""
    session = session_of(600)
    session.add_user_turn(words(400, "t"))
    session.add_assistant_turn(words(180, "a"))
    before = session.conversation
    with pytest.raises(ContextOverflowError, match="preserved: ") as caught:
        write(session)
    assert session.conversation is before
    larger = session_of(caught.value.tokens)
    larger.add_user_turn(words(400, "t"))
    larger.add_assistant_turn(words(180, "a"))
    if caught.value.max_tokens == 600:
        write(larger)


def test_a_pinned_turn_that_the_view_lacks_is_recalled() -> None:
    """A turn that becomes PRESERVED is whole in the view from then on, or the pin is refused."""
    session = add_all(session_of(600), chat(40, 30))
    assert "t3" not in [turn.resource_id for turn in session.window.all_turns()]
    session.pin("t3")
    add_all(session, chat(20, 30)[1:])
    assert session.log()[2] in session.window.all_turns()


@pytest.mark.parametrize("how", ["open", "resize"])
def test_a_larger_window_restores_what_a_small_one_truncated(how: str) -> None:
    """A message of the user that the view shows truncated comes back with the next write."""
    store = InMemoryStore()
    session = session_of(2_000, store=store)
    session.add_user_turn("Begin.")
    session.add_assistant_turn(words(500, "a"))
    if how == "open":
        session = session_of(400, store=store)
    else:
        session.send("resize", 400)
    question = words(500, "q")
    assert session.add_user_turn(question).truncated == ("t4",)
    if how == "open":
        session = session_of(2_000, store=store)
        session.add_system("Be brief.")
    else:
        session.send("resize", 2_000)
    assert session.output.truncated == ()
    assert question in [message["content"] for message in session.messages()]


@pytest.mark.parametrize("more", range(-10, 60, 10))
def test_a_picture_in_the_task_ends_no_conversation(more: int) -> None:
    """If nothing else makes room for calls and their results, a line replaces the picture."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    task = {"role": "user", "content": [{"type": "text", "text": words(20)}, picture]}
    alone = ContextSession(5_000, counter=WORDS)
    alone.add_message(task)
    session = ContextSession(alone.window.total_tokens + more, counter=WORDS)
    session.add_message(task)
    for number in range(4):
        session.extend([call(f"c{number}"), result(f"c{number}", words(40))])
        assert session.messages()
    assert session.log()[0].parts
    assert words(20) in str(session.messages()[0]["content"])


@pytest.mark.parametrize("budget", range(440, 800, 60))
@pytest.mark.parametrize("pinned", range(3))
def test_a_pinned_result_keeps_the_results_beside_it_only_while_there_is_room(
    budget: int, pinned: int
) -> None:
    """As a last resort they are truncated; the pinned one stays, and the conversation goes on.

    A result that is pinned when it comes, and does not fit, comes in truncated and is not pinned.
    """
    store = InMemoryStore()
    session = session_of(budget, store=store)
    session.add_user_turn("Compare the shelves.")
    session.add_message(call("c0", "c1", "c2"))
    results = [words(200, f"r{n}_") for n in range(3)]
    for number, text in enumerate(results):
        chosen = "PRESERVED" if number == pinned else None
        session.add_tool_turn(text, tool_call_id=f"c{number}", resource_class=chosen)
    for _ in range(4):
        assert recount(session.messages(), WORDS) <= budget
        shown = [message["content"] for message in session.messages() if message["role"] == "tool"]
        assert len(shown) == 3
        ids = [turn.resource_id for turn in session.log() if turn.role is Role.TOOL]
        if session.window.linearity.get(ids[pinned]) is ResourceClass.PRESERVED:
            assert shown[pinned] == results[pinned]
        assert all(
            text == whole or text.startswith(CUT)
            for text, whole in zip(shown, results, strict=True)
        )
        session.add_assistant_turn(words(20, "a"))
        session.add_user_turn(words(20, "q"))
    assert session_of(budget, store=store).messages() == session.messages()
