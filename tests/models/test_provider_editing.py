"""A provider's own context edits are applied to the session: in process, and through the SDKs."""

from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.models.provider_editing import editing_options, take_in
from tests.polynomial.conversations import text_of
from tests.vendors import StrictAnthropic

TOOLS = [
    {"name": "look", "input_schema": {"type": "object"}},
    {"name": "count", "input_schema": {"type": "object"}},
]
JARS = "three jars of plums, two of quinces, "
CLEAR = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "input_tokens", "value": 1000},
    "keep": {"type": "tool_uses", "value": 2},
}
COMPACT = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
LONG = 12


def thinks(request: Any) -> Any:
    """Call a tool behind a thought, and answer where the user asks to sum up."""
    thought = {"type": "thinking", "thinking": f"After {len(request['messages'])} messages."}
    if "sum up" in str(request["messages"][-1]["content"])[-200:]:
        return [thought, {"type": "text", "text": "Sixty jars."}]
    return [
        thought,
        {"type": "tool_use", "name": "look", "input": {"at": len(request["messages"])}},
    ]


def asked(provider: StrictAnthropic, session: ContextSession, *edits: Any, **taking: Any) -> Any:
    """Ask Anthropic with `edits`, take the answer in, and answer its calls."""
    rendered = session.request("anthropic")
    options = (
        editing_options("anthropic", *edits, options=rendered.options)
        if edits
        else dict(rendered.options)
    )
    betas = options.pop("betas", ())
    request = {
        "model": "claude",
        "max_tokens": 500,
        "messages": rendered.messages,
        "system": list(rendered.system),
        "tools": TOOLS,
        **options,
    }
    answer = provider.create(request, betas=betas)
    take_in(session, answer, "anthropic", **taking)
    for call in session.window.open_calls:
        session.add_tool_turn(JARS * 20, tool_call_id=call)
    return answer


def begun(**options: Any) -> ContextSession:
    """Return a session with a rule and a task."""
    session = ContextSession(max_tokens=400_000, auto=False, **options)
    session.add_system("You keep a cellar.")
    session.add_user_turn("How many jars are there? Never open one.")
    return session


def thoughts(session: ContextSession) -> int:
    """Return how many bound parts stand."""
    return sum(part.is_bound for turn in session.window.all_turns() for part in turn.parts)


def test_results_that_were_cleared_become_digests() -> None:
    """The oldest results that the provider cleared become digests, while the log keeps them."""
    provider, session = StrictAnthropic(thinks), begun()
    for _ in range(6):
        asked(provider, session)
    before = session.window.total_tokens
    answer = asked(provider, session, CLEAR)
    (applied,) = answer["context_management"]["applied_edits"]
    assert applied["cleared_tool_uses"] == 4
    results = [turn for turn in session.window.all_turns() if turn.role == "tool"]
    assert [turn.is_gist for turn in results] == [True] * 4 + [False] * 3
    assert results[0].text.startswith("[Cut; the whole is t4 in the log]")
    assert session.window.total_tokens < before
    assert all("[Cut" not in turn.text for turn in session.log())
    assert thoughts(session) == 1
    again = asked(provider, session, CLEAR)
    assert not again.get("input_transformations")
    assert ContextSession.history.load(text_of(session)).window == session.window


def test_thinking_that_was_cleared_is_told_and_stays_in_the_view() -> None:
    """Thinking that the provider cleared stays in the view, which is valid only as a whole."""
    provider, session = StrictAnthropic(thinks), begun()
    for _ in range(4):
        asked(provider, session)
    edit = {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}
    answer = asked(provider, session, edit)
    assert answer["context_management"]["applied_edits"][0]["cleared_thinking_turns"] == 3
    assert thoughts(session) == 5
    assert (
        asked(provider, session, {**edit, "keep": "all"})["context_management"]["applied_edits"]
        == []
    )


@pytest.mark.parametrize("question", ["And then?", "Please sum up."])
def test_a_summary_at_a_threshold_stands_for_all_before_the_answer(question: str) -> None:
    """A compaction replaces everything before the answer, and the answer's thinking stays.

    The thinking of an open call is dropped, because the task is repeated before it.
    """
    provider, session = (
        StrictAnthropic(thinks, summary=lambda _: "Many shelves were seen, all full."),
        begun(),
    )
    for number in range(LONG):
        session.add_assistant_turn("I look.")
        session.add_user_turn(f"Shelf {number}: {JARS * 600}")
    session.add_assistant_turn("I see.")
    session.add_user_turn(question)
    answer = asked(provider, session, COMPACT)
    assert answer["content"][0]["type"] == "compaction"
    assert [each["type"] for each in answer["usage"]["iterations"]] == ["compaction", "message"]
    gist = session.window.all_turns()[1]
    assert gist.native_providers == {"anthropic"}
    texts = [turn.text for turn in session.window.all_turns()]
    assert texts.count("How many jars are there? Never open one.") == 1
    assert (question in texts) == (question == "And then?")
    assert session.window.total_tokens < 6_000
    assert thoughts(session) == (1 if question == "Please sum up." else 0)
    if not session.window.open_calls and texts[-1] != question:
        session.add_user_turn("Thank you.")
    follow = asked(provider, session, COMPACT)
    assert follow["content"][0]["type"] == "thinking"
    assert not follow.get("input_transformations")
    assert follow["usage"]["input_tokens"] <= session.window.total_tokens
    assert ContextSession.history.load(text_of(session)).window == session.window


def test_thinking_that_the_provider_dropped_falls_in_the_view() -> None:
    """It was made behind another prefix; what comes from then on is valid."""
    provider, session = StrictAnthropic(thinks), begun()
    for _ in range(3):
        asked(provider, session)
    binding = {
        "thinking": {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        }
    }
    rendered = session.request("anthropic")
    request = {
        "model": "claude",
        "max_tokens": 500,
        "messages": rendered.messages,
        "system": "Another rule.",
        "tools": TOOLS,
        **binding,
    }
    answer = provider.create(request, betas=["thinking-binding-controls-2026-08-01"])
    assert len(answer["input_transformations"]) == 3
    take_in(session, answer, "anthropic")
    assert thoughts(session) == 1
    assert session.window.epoch.unbound == ("anthropic",)


def test_a_summary_that_is_longer_than_what_it_stands_for_is_not_taken() -> None:
    """A summary longer than the turns it replaces is ignored, and thoughts after it are dropped."""
    session = begun()
    session.add_assistant_turn(JARS)
    session.add_user_turn("And now?")
    before = session.window.all_turns()
    thought = {"type": "thinking", "thinking": "so", "signature": "c2ln"}
    blocks = [
        {"type": "compaction", "content": "They talked."},
        thought,
        {"type": "text", "text": "Ten."},
    ]
    usage = {"iterations": [{"type": "compaction", "output_tokens": 10_000}]}
    take_in(session, {"content": blocks, "usage": usage}, "anthropic")
    assert session.window.all_turns()[:-1] == before
    assert (session.window.all_turns()[-1].text, thoughts(session)) == ("Ten.", 0)


def test_an_open_call_stands_whole_though_a_summary_comes_behind_it() -> None:
    """Its result must find it."""
    session = begun()
    session.add_assistant_turn(JARS * 40)
    session.add_user_turn("And now?")
    call = {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "call_1",
        "name": "look",
        "arguments": "{}",
    }
    take_in(
        session,
        {"output": [call, {"id": "cmp_1", "type": "compaction", "encrypted_content": "x" * 40}]},
        "openai-responses",
    )
    turns = session.window.all_turns()
    assert (turns[1].is_gist, turns[-1].tool_calls[0].id, turns[-2].text) == (
        True,
        "call_1",
        "And now?",
    )
    session.add_tool_turn("ten", tool_call_id="call_1")
    assert session.messages("openai-responses")[0]["type"] == "compaction"


def test_openais_removed_reasoning_falls_in_the_view() -> None:
    """Named by its id."""
    session = begun()
    item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "x"}
    said = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Ten."}],
    }
    take_in(session, {"output": [item, said]}, "openai-responses")
    session.add_user_turn("And now?")
    removed = [
        {"type": "reasoning", "id": "rs_1", "action": "removed", "reason": "prefix_mismatch"},
        {"type": "reasoning", "id": ""},
    ]
    take_in(
        session,
        {"output": [{**said, "id": "msg_2"}], "input_transformations": removed},
        "openai-responses",
    )
    assert thoughts(session) == 0


def test_what_a_provider_cannot_do_is_refused_in_words() -> None:
    """An unknown edit, a provider that edits nothing, no answer."""
    with pytest.raises(InvalidOptionError, match="clear_tool_uses_20250919"):
        editing_options("anthropic", {"type": "compaction"})
    with pytest.raises(InvalidOptionError, match="edits nothing"):
        editing_options("openai", {"type": "compaction"})
    with pytest.raises(UnknownNameError):
        editing_options("nobody")
    for provider in ("openai", "anthropic", "openai-responses"):
        with pytest.raises(InvalidOptionError, match="answer"):
            take_in(begun(), {"choices": []}, provider)
