"""Epochs of a session: requests only grow, and whatever changes their inside says what it took."""

import json
from base64 import b64encode
from struct import pack
from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextState
from polycontext.testing import FAST
from polycontext.window import Part, ToolCall, Turn
from tests.house import gated, sizes
from tests.vendors import check_request

WORDS = "Step {0} changed src/module.py, and test {1} failed with code 7. " * 4


def thought(number: int, words: int = 20) -> Part:
    """Return thinking that only behind its prefix is valid."""
    said = f"so {number} " * words
    block = {"type": "thinking", "thinking": said, "signature": f"sig{number}"}
    return Part("anthropic", json.dumps(block))


def picture(number: int) -> Part:
    """Return a picture of 1000 x 1000 pixels."""
    head = (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
        + pack(">II", 1000, 1000)
        + bytes([number % 256] * 99)
    )
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(head).decode()}
    return Part("anthropic", json.dumps({"type": "image", "source": source}))


def worked(session: ContextSession, steps: int, words: int = 20) -> ContextSession:
    """Let a model think, call and hear so many times."""
    session.add_system("You are an agent.")
    session.add_user_turn("Mend the tests.")
    for number in range(steps):
        calls = [ToolCall(f"c{number}", "run", json.dumps({"n": number}))]
        session.add(
            Turn("assistant", f"Trying {number}.", tool_calls=calls, parts=[thought(number, words)])
        )
        session.add_tool_turn(WORDS.format(number, number), tool_call_id=f"c{number}")
    return session


def signatures(session: ContextSession) -> list[str]:
    """Return the signatures of the thinking that is sent."""
    blocks = (
        block for message in session.request("anthropic").messages for block in message["content"]
    )
    return [block["signature"] for block in blocks if block["type"] == "thinking"]


def test_within_an_epoch_all_thinking_goes_along() -> None:
    """And nothing is asked of the provider for it."""
    session = worked(ContextSession(100_000, counter=FAST), 10)
    assert (
        session.window.epoch.number,
        session.window.epoch.first_changed,
        session.window.epoch.why,
    ) == (1, None, None)
    assert signatures(session) == [f"sig{number}" for number in range(10)]
    assert session.request("anthropic").options == {}


def test_a_compression_begins_an_epoch_and_says_what_fell() -> None:
    """From then on the provider is told that what it misses is gone."""
    session = worked(ContextSession(100_000, counter=FAST), 10)
    output = session.compress(0.001)
    assert output.epoch == session.window.epoch
    assert (
        session.window.epoch.number,
        session.window.epoch.first_changed,
        session.window.epoch.why,
    ) == (2, 2, "compress")
    assert session.window.epoch.unbound == ("anthropic",)
    assert signatures(session) == []
    options = session.request("anthropic").options
    assert options["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert options["betas"] == ["thinking-binding-controls-2026-08-01"]
    assert session.request("openai").options == {}


BINDING = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BETA = "thinking-binding-controls-2026-08-01"
ERROR = {"block_binding": {"prefix_mismatch_behavior": "error"}}


@pytest.mark.parametrize(
    ("own", "merged"),
    [
        ({}, {"thinking": {"type": "adaptive", **BINDING}, "betas": [BETA]}),
        (
            {"thinking": {"type": "adaptive", **ERROR}},
            {"thinking": {"type": "adaptive", **ERROR}, "betas": [BETA]},
        ),
        ({"thinking": None, "betas": None}, {"thinking": None, "betas": [BETA]}),
        (
            {"betas": ["mine", BETA]},
            {"thinking": {"type": "adaptive", **BINDING}, "betas": [BETA, "mine"]},
        ),
    ],
)
def test_options_of_the_caller_are_merged_and_win(
    own: dict[str, Any], merged: dict[str, Any]
) -> None:
    """The caller's options win over those that the provider needs after a compression."""
    session, given = worked(ContextSession(100_000, counter=FAST), 10), json.dumps(own)
    before = {name: value for name, value in own.items() if (name, value) != ("betas", None)}
    assert session.request("anthropic", options=own).options == before
    session.compress(0.001)
    session.add_assistant_turn("Mended.")
    session.add_user_turn("And now?")
    assert session.request("anthropic", options=own).options == merged
    assert session.request("anthropic", options=own, cache=True).options == merged
    assert json.dumps(own) == given
    mine = {"prompt_cache_key": "mine"}
    assert session.request("openai", options=mine, cache=True).options == mine


def test_enabled_thinking_is_off_in_a_tool_loop_that_lost_its_own() -> None:
    """The provider refuses it there; behind the final answer it is on again."""
    session, own = (
        worked(ContextSession(100_000, counter=FAST), 10),
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    )

    def accepted() -> Any:
        rendered = session.request("anthropic", options=own)
        options = dict(rendered.options)
        betas = options.pop("betas", ())
        tools = [{"name": "run", "input_schema": {"type": "object"}}]
        body = {
            "model": "claude",
            "max_tokens": 2000,
            "tools": tools,
            "system": list(rendered.system),
            "messages": rendered.messages,
        }
        check_request({**body, **options}, "anthropic", betas=betas)
        return options["thinking"]["type"]

    assert accepted() == "enabled"
    session.compress(0.001)
    assert accepted() == "disabled"
    session.add_assistant_turn("Mended.")
    session.add_user_turn("And now?")
    assert accepted() == "enabled"


def test_clearing_begins_an_epoch_and_promoting_none() -> None:
    """A class is no content."""
    session = worked(ContextSession(100_000, counter=FAST), 2)
    session.promote(session.log()[-1].resource_id, ResourceClass.PRESERVED)
    assert session.window.epoch.number == 1
    session.clear()
    assert (
        session.window.epoch.number,
        session.window.epoch.why,
        session.window.epoch.unbound,
    ) == (2, "clear", ("anthropic",))


def test_recalling_begins_an_epoch() -> None:
    """A recall starts an epoch, and thinking signed for the old prefix is omitted."""
    session = worked(ContextSession(100_000, counter=FAST), 10)
    session.compress(0.001)
    first = session.log()[2].resource_id
    session.recall([first])
    assert (session.window.epoch.number, session.window.epoch.why) == (3, "recall")
    assert any(
        "Trying 0." in json.dumps(message) for message in session.request("anthropic").messages
    )
    assert signatures(session) == []
    before = session.window.epoch
    session.recall([first])
    assert session.window.epoch == before


def test_a_picture_that_fell_can_be_recalled() -> None:
    """Its line says by which id."""
    session = ContextSession(8_000, counter=FAST)
    session.add(Turn("user", "Describe this.", parts=[picture(1)]))
    session.add_assistant_turn("A cat.")
    session.add_user_turn("Thank you for that. Now compare.")
    session.compress(0.1)
    assert session.window.epoch.fell == ("t1",)
    line = session.window.all_turns()[0].text.split("\n")[1]
    assert line.endswith("recall t1]")
    session.recall(["t1"])
    assert session.window.all_turns()[0] == session.log()[0]


def test_room_is_made_before_a_thinking_model_is_asked() -> None:
    """Not between the question and an answer that is bound to it."""
    session = ContextSession(1_500, counter=FAST)
    worked(session, 40)
    for number in range(40, 60):
        asked = session.window.epoch.number
        calls = [ToolCall(f"c{number}", "run", "{}")]
        session.add(
            Turn("assistant", f"Trying {number}.", tool_calls=calls, parts=[thought(number)])
        )
        assert session.window.epoch.number == asked
        session.add_tool_turn(WORDS.format(number, number), tool_call_id=f"c{number}")
        assert session.state is not ContextState.PRESSURED
    assert session.window.epoch.number > 3


def test_thoughts_of_an_imported_history_fall_behind_the_first_compression() -> None:
    """They were made on all of it."""
    whole = worked(ContextSession(100_000, counter=FAST), 40)
    session = ContextSession(1_500, counter=FAST)
    session.extend(whole.request("anthropic").messages, "anthropic")
    assert session.window.epoch.number > 1
    assert signatures(session) == []
    # The log keeps what came.
    assert sum(bool(turn.parts) for turn in session.log()) == 40


@pytest.mark.parametrize(
    ("max_tokens", "exchanges"), gated([(2_000, 50), (4_000, 150)], (2_000, 50))
)
def test_thinking_never_fills_a_window(max_tokens: int, exchanges: int) -> None:
    """Several times what the window holds goes through on defaults, however small it is."""
    session = ContextSession(max_tokens)
    session.add_system("You are an agent.")
    for number in range(exchanges):
        session.add_user_turn(f"Question {number}: what of item {number * 7}?")
        session.request("anthropic")
        session.add(Turn("assistant", f"It is {number}.", parts=[thought(number, 100)]))
        assert session.window.total_tokens < max_tokens
    assert len(session.log()) == 2 * exchanges + 1


@pytest.mark.no_cover
@pytest.mark.parametrize("pictures", sizes(25, 200))
def test_pictures_never_fill_a_window(pictures: int) -> None:
    """Many go through eight thousand tokens, the newest in sight."""
    session = ContextSession(8_000)
    for number in range(pictures):
        session.add(Turn("user", f"Picture {number}?", parts=[picture(number)]))
        newest: Any = session.request("anthropic").messages[-1]["content"]
        assert newest[0]["type"] == "image"
        session.add_assistant_turn(f"It shows {number}.")
