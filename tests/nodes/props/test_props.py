"""The props: what a browser may see, and nothing else."""

import json
from typing import Any, ClassVar

import pytest
from statemachine import State

from polycontext.nodes import ComponentRenderer
from polycontext.polynomial import (
    ContextMachine,
    ContextSession,
    ContextState,
    IllegalDirectionError,
)
from polycontext.polynomial.machine import Region
from polycontext.window import ContextItem


def _props(session: ContextSession) -> dict[str, Any]:
    return ComponentRenderer().render_chat(session)


def test_an_attachment_shows_as_its_name_only() -> None:
    """Only the name of an attachment is shown, and attaching does not change the status."""
    session = ContextSession(2000)
    session.attach(ContextItem("UNSHOWN = 1", "file", {"filename": "src/app.py", "start_line": 3}))
    nameless = ContextItem("UNSHOWN trace", "error")
    session.attach(nameless)
    assert _props(session)["status"] == "ready"
    session.add_user_turn("What is wrong with it?")
    session.attach(
        ContextItem("UNSHOWN = 2", "file", {"filename": "src/" + "deep/" * 40 + "app.py"})
    )
    assert _props(session)["status"] == "thinking"
    messages = session.render()["messages"]
    assert [(m["role"], m["content"], m["isPreserved"]) for m in messages[:3]] == [
        ("user", "[@src/app.py:3]", False),
        ("user", f"[@{nameless.id}]", False),
        ("user", "What is wrong with it?", True),
    ]
    assert messages[3]["content"].startswith("[@…")
    assert len(messages[3]["content"]) < 100
    assert "UNSHOWN" not in json.dumps(messages)


def test_status_follows_the_state() -> None:
    """The status is ready, thinking or compressed; the phase says more, such as pressured."""
    session = ContextSession(200, auto=False)
    assert _props(session)["status"] == "ready"
    session.add_user_turn("hello")
    assert _props(session)["status"] == "thinking"
    session.add_assistant_turn("hi")
    assert _props(session)["status"] == "ready"
    session.add_assistant_turn("word " * 182)
    props = _props(session)
    assert (session.state, props["status"]) == (ContextState.PRESSURED, "ready")
    assert props["phase"] == "pressured"
    session.compress()
    props = _props(session)
    assert (props["status"], props["phase"]) == ("compressed", "compressed")


class Held(Region):
    """A region in which the user waits for somebody."""

    free = State("FREE", value="FREE", initial=True)
    waiting = State("WAITING", value="WAITING")
    ask = free.to(waiting)
    approve = waiting.to(free)
    user_turn = free.to.itself()  # type: ignore[no-untyped-call]


class Waits(ContextMachine):
    """A machine with that region, and a state of its own."""

    regions: ClassVar = {"approval": Held}
    held = State("HELD", value="HELD")
    hold = ContextMachine.accumulating.to(held)
    let_go = held.to(ContextMachine.accumulating)


def test_actions_are_those_that_the_server_accepts() -> None:
    """In an own state, under pressure beside another region, and while an answer streams."""
    session = ContextSession(200, machine=Waits)
    session.add_user_turn("hello")
    session.send("hold")
    props = _props(session)
    assert (props["phase"], props["actions"]["send"]) == ("held", False)
    session.send("let_go")
    session.add_assistant_turn("word " * 185)
    session.send("ask")
    props = _props(session)
    assert (session.state, props["phase"]) == (ContextState.PRESSURED, "pressured")
    assert not props["actions"]["send"]
    with pytest.raises(IllegalDirectionError):
        session.add_user_turn("Still there?")
    session.send("approve")
    assert _props(session)["actions"]["send"]
    with session.answer() as answer:
        answer.add("Yes")
        props = _props(session)
        assert (props["status"], props["canSend"]) == ("thinking", False)
        assert props["actions"] == {"send": False, "compress": False, "clear": False}
