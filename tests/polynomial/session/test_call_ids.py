"""Ids of calls: taken as they come, sent unique and legal, and the same in every request."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.adapters import Bridge
from polycontext.adapters.wire_dialect import WireDialect
from polycontext.polynomial import ContextSession, project
from polycontext.window import OrderError, ToolCall
from polycontext.window.call_ids import REUSED
from polycontext.window.providers import Provider
from tests.vendors import findings

Ids = Sequence[Sequence[str]]
IDS = [
    "call_0",
    "call_1",
    "a.b",
    "a:b",
    "a_b",
    "functions.Bash:0",
    "x" * 70,
    "x" * 71,
    "toolu_01A",
    "call_0_t5",
    "by-order:0:look",
    "\u00e9",
]
UNIQUE = (Provider.ANTHROPIC, Provider.RESPONSES, Provider.GEMINI)
"""The formats in which an id is sent once; in chat messages, calls and results stand together."""


def added(session: ContextSession, ids: Ids) -> ContextSession:
    """Add a turn with calls of each of `ids`, and their results in order."""
    for number, each in enumerate(ids):
        calls = [
            ToolCall(call_id, "look", json.dumps({"n": f"{len(session.log())}.{number}.{place}"}))
            for place, call_id in enumerate(each)
        ]
        session.add_assistant_turn(None, tool_calls=calls)
        for call_id in each:
            session.add_tool_turn("seen " * 40, tool_call_id=call_id)
    return session


def begun(max_tokens: int = 100_000) -> ContextSession:
    """Return a session with a task."""
    session = ContextSession(max_tokens)
    session.add_user_turn("Fix the price.")
    return session


def sent_ids(messages: object) -> Iterator[tuple[str, str]]:
    """Yield the arguments and the id of each call of a request in any format."""
    if isinstance(messages, list):
        for each in messages:
            yield from sent_ids(each)
    if isinstance(messages, Mapping):
        match messages:
            case {"type": "tool_use", "id": call_id, "input": {"n": number}}:
                yield number, call_id
            case {"type": "function_call", "call_id": call_id, "arguments": text}:
                yield json.loads(text)["n"], call_id
            case {"type": "function", "id": call_id, "function": {"arguments": text}}:
                yield json.loads(text)["n"], call_id
            case {"functionCall": {"args": {"n": number}, **called}}:
                yield number, str(called.get("id", number))
            case _:
                pass
        for inner in messages.values():
            yield from sent_ids(inner)


def ids_in(session: ContextSession, provider: Provider) -> dict[str, str]:
    """Return the ids of a valid request by the arguments of the calls."""
    messages = session.request(provider).messages
    assert findings(messages, provider, foreign=True) == []
    found = dict(sent_ids(messages))
    if provider in UNIQUE:
        assert len({*found.values()}) == len(found)
    return found


@given(
    st.lists(st.lists(st.sampled_from(IDS), min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(st.lists(st.sampled_from(IDS), min_size=1, max_size=2), max_size=2),
)
def test_ids_are_unique_and_stay_the_same(first: Ids, later: Ids) -> None:
    """After later turns, a compression, and in a copy that was read from an export."""
    session = added(begun(), first)
    known = {provider: ids_in(session, provider) for provider in Provider}
    added(session, later).compress(0.001)
    again = ContextSession.history.load(session.history.export())
    for provider, ids in known.items():
        found = ids_in(session, provider)
        assert all(ids.get(number, call_id) == call_id for number, call_id in found.items())
        assert ids_in(again, provider) == found


def test_an_id_stays_when_the_call_that_had_it_first_has_left_the_view(tmp_path: Path) -> None:
    """It is the log that decides, also in a session that was opened with a snapshot."""
    file = tmp_path / "a.db"
    with ContextSession.open(file, "s", max_tokens=100_000) as session:
        session.add_user_turn("Go.")
        added(session, [["call_0"]])
        added(session, [[f"toolu_{number}"] for number in range(130)])
        session.compress(0.001)
        assert "call_0" not in ids_in(session, Provider.ANTHROPIC).values()
    with ContextSession.open(file, "s") as session:
        added(session, [["call_0"]])
        (call_id,) = list(ids_in(session, Provider.ANTHROPIC).values())[-1:]
        assert call_id == f"call_0_{session.log()[-2].resource_id}"
        assert list(session.log()[-2].metadata[REUSED]) == ["call_0"]


@pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.ANTHROPIC, Provider.RESPONSES])
def test_a_result_may_name_the_id_that_came_or_was_sent(provider: Provider) -> None:
    """And the one that `open_calls` has; another one is refused, and nothing changes."""
    for shown in ("came", "open", "sent"):
        session = added(begun(), [["call_0"]])
        calls = [ToolCall(each, "look", f'{{"n": "{each}"}}') for each in ("call_0", "a.b")]
        session.add_assistant_turn(None, tool_calls=calls)
        sent = dict(sent_ids(session.request(provider, allow_open=True).messages))
        names = {"came": [*sent][-2:], "sent": [*sent.values()][-2:]}
        names["open"] = [call.id for call in session.open_calls]
        with pytest.raises(OrderError):
            session.add_tool_turn("lost", tool_call_id="call_0_t1")
        for name in reversed(names[shown]):
            session.add_tool_turn(f"of {name}", tool_call_id=name)
        assert [turn.tool_call_id for turn in session.log()[-2:]] == ["a.b", "call_0"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    "ids", [("x_y", "x.y"), ("x.y", "x_y"), ("a.b" * 9 + "0", "a.b" * 9 + "1")]
)
def test_a_sent_id_that_another_call_might_have_names_its_own(
    ids: Sequence[str], order: Sequence[int]
) -> None:
    """A legal id that was not used before is sent as it is, so the other one is meant."""
    session = added(begun(), [])
    session.add_assistant_turn(None, tool_calls=[ToolCall(i, "f", f'{{"n": "{i}"}}') for i in ids])
    sent = dict(sent_ids(session.request("anthropic", allow_open=True).messages))
    for place in order:
        session.add_tool_turn(ids[place], tool_call_id=sent[ids[place]])
    assert all(turn.tool_call_id == turn.text for turn in session.log()[-2:])


@pytest.mark.parametrize("result", ["dup", "dup_2"])
def test_two_calls_of_one_id_are_told_apart(result: str) -> None:
    """Their results answer them in order, in a message, a list, a projection and a bridge."""
    calls = [{"id": "dup", "name": name, "input": {"n": name}} for name in ("read", "list")]
    answer = {"role": "assistant", "content": [{"type": "tool_use", **call} for call in calls]}
    given = [{"type": "tool_result", "tool_use_id": "dup", "content": "ONE"}]
    given.append({"type": "tool_result", "tool_use_id": result, "content": "TWO"})
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "Go."},
        answer,
        {"role": "user", "content": given},
    ]
    session = ContextSession(8_000)
    session.add_message(said[0])
    session.add_message(answer)
    assert [(call.id, call.name) for call in session.open_calls] == [
        ("dup", "read"),
        ("dup_2", "list"),
    ]
    session.extend([{"role": "user", "content": given[:1]}], "anthropic")
    session.extend([{"role": "user", "content": given[1:]}], "anthropic")
    bridge = Bridge(WireDialect("anthropic"), model=8_000)
    for sent in (
        session.request("anthropic").messages,
        project(said, 8_000).messages,
        bridge.fit(said),
        bridge.fit(said),
    ):
        assert findings(sent, "anthropic") == []
        assert [(each["tool_use_id"], each["content"]) for each in sent[2]["content"]] == [
            ("dup", "ONE"),
            ("dup_2", "TWO"),
        ]


FOREIGN: dict[str, list[dict[str, Any]]] = {
    "signs of another vendor": [{"id": "functions.Bash:0"}, {"id": "functions.Bash:0"}],
    "empty": [{"id": ""}, {"id": ""}],
    "none": [{}, {}],
}


@pytest.mark.parametrize("ids", FOREIGN.values(), ids=FOREIGN)
def test_ids_that_anthropic_refuses_are_read(ids: list[dict[str, Any]]) -> None:
    """A gateway may give them in Anthropic's form; each result stays with its call."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for number, each in enumerate(ids):
        call = {"type": "tool_use", "name": "look", "input": {"n": number}, **each}
        result = {"type": "tool_result", "content": f"KEY-{number}"}
        result |= {"tool_use_id": each["id"]} if each else {}
        said += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    sent = project(said, 8_000, provider="anthropic").messages
    assert findings(sent, "anthropic") == []
    assert [message["content"][0].get("content") for message in sent[2::2]] == ["KEY-0", "KEY-1"]


DETOURS: dict[str, Callable[[ContextSession], object]] = {
    "a fork adds it": lambda session: added(session.history.fork("a", "t1"), [["call_0"]]),
    "an undone rewind added it": lambda session: (
        session.history.rewind("t1"),
        added(session, [["call_0"]]),
        session.history.rewind(4),
    ),
    "a turn with it is forgotten": lambda session: (
        added(session, [["call_0"]]),
        session.history.forget("t5"),
    ),
}


@pytest.mark.parametrize("detour", DETOURS.values(), ids=DETOURS)
def test_an_id_is_known_as_used_whatever_happens(
    detour: Callable[[ContextSession], object],
) -> None:
    """To another version of the log, or to the turn that has it again."""
    session = begun()
    session.add_user_turn("And the name.")
    detour(added(session, [["call_0"]]))
    added(session, [["call_0"]])
    sent = session.request("openai-responses").messages
    ids = [each["call_id"] for each in sent if each.get("type") == "function_call"]
    assert len({*ids}) == len(ids) > 1


OTHER_CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "shell": (
        {"action": {"commands": ["ls"]}, "status": "completed"},
        {
            "output": [
                {"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
            ]
        },
    ),
    "computer": (
        {
            "id": "cu_1",
            "action": {"type": "screenshot"},
            "pending_safety_checks": [],
            "status": "completed",
        },
        {
            "output": {
                "type": "computer_screenshot",
                "image_url": "data:image/png;base64,iVBORw0KGgo=",
            }
        },
    ),
}


@pytest.mark.parametrize("name", OTHER_CALLS)
@pytest.mark.parametrize("apart", [True, False])
def test_a_forgotten_call_that_is_no_functions_is_answered(name: str, *, apart: bool) -> None:
    """Its type is erased with its words, so that its output becomes that of a function."""
    call, output = (dict(each) for each in OTHER_CALLS[name])
    call |= {"type": f"{name}_call", "call_id": "c"}
    output |= {"type": f"{name}_call_output"} | ({} if "id" in output else {"call_id": "c"})
    session = ContextSession(8_000, provider="openai-responses")
    lists = [[{"role": "user", "content": "Go."}, call], [output]]
    for items in lists if apart else [[*lists[0], *lists[1]]]:
        session.extend(items)
    session.add_user_turn("And now?")
    session.history.forget("t2")
    sent = session.request().messages
    assert findings(sent, "openai-responses") == []
    assert [each["type"] for each in sent if each.get("call_id")] == [
        "function_call",
        "function_call_output",
    ]
