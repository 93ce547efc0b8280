"""The state of the strict provider: bound signatures, summaries, the prompt cache, the window."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from polycontext.base import InvalidOptionError
from polycontext.testing.strict import (
    Break,
    RequestRefusedError,
    overloaded,
    overloaded_midway,
)
from polycontext.window.providers.anthropic.versions import BINDING_BETA, COMPACTION_BETA
from tests.testing.strict.bad_anthropic import ASK, TOOL, marked, result, text, user
from tests.vendors import StrictAnthropic

Block = dict[str, Any]
DROP = {
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
}


def thinks(request: Any) -> list[Block]:
    """Think, say something, call a tool."""
    count = len(request["messages"])
    return [
        {"type": "thinking", "thinking": f"hm {count}"},
        text(f"Step {count}."),
        {"type": "tool_use", "name": "look", "input": {"n": count}},
    ]


def loop(provider: StrictAnthropic, steps: int, **fields: Any) -> dict[str, Any]:
    """Return a request that `provider` has answered that many times, and that ends in a result."""
    request: dict[str, Any] = {
        "model": "claude",
        "max_tokens": 99,
        "system": "Be brief.",
        "tools": [TOOL],
        "messages": [ASK],
        **fields,
    }
    for _ in range(steps):
        answer = provider.create(request, betas=[BINDING_BETA])
        request["messages"] += [
            {"role": "assistant", "content": answer["content"]},
            user(result(answer["content"][-1]["id"])),
        ]
    return request


def refused(provider: StrictAnthropic, request: Any, **options: Any) -> RequestRefusedError:
    """Return why `provider` refuses."""
    with pytest.raises(RequestRefusedError) as caught:
        provider.create(request, **options)
    return caught.value


@pytest.fixture
def provider() -> StrictAnthropic:
    """Return a provider whose model thinks."""
    return StrictAnthropic(thinks)


def test_a_loop_that_only_grows_is_never_refused(provider: StrictAnthropic) -> None:
    """Sixty steps with thinking are accepted, also by another process with the same secret."""
    request = loop(provider, 60)
    assert len(request["messages"]) == 121
    assert StrictAnthropic(thinks).create(request)["stop_reason"] == "tool_use"
    assert refused(StrictAnthropic(thinks, secret=b"other"), request).rule == "thinking-signature"


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "other system": lambda request: request.update(system="Be very brief."),
    "other tools": lambda request: request.update(tools=[TOOL, {**TOOL, "name": "run"}]),
    "another word at the start": lambda request: request["messages"][0].update(
        content="What was it?"
    ),
    "a message more at the start": lambda request: request["messages"].insert(0, ASK),
    "another result": lambda request: request["messages"][2]["content"][0].update(content="unseen"),
    "other arguments": lambda request: request["messages"][1]["content"][2]["input"].update(n=7),
    "text left out": lambda request: request["messages"][1]["content"].pop(1),
    "an exchange left out": lambda request: request["messages"].__delitem__(slice(1, 3)),
    "thinking left out": lambda request: request["messages"][1]["content"].pop(0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_thinking_behind_a_change_is_refused(provider: StrictAnthropic, name: str) -> None:
    """Thinking after a change is refused, or left out and listed with drop_block."""
    request = copy.deepcopy(loop(provider, 3))
    CHANGES[name](request)
    refusal = refused(provider, request)
    assert refusal.rule == "thinking-moved"
    assert refusal.index is not None
    path = f"messages.{refusal.index}.content.0"
    assert refusal.message == (
        f"{path}: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. "
        "Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
        '"drop_block".'
    )
    answer = provider.create({**request, **DROP}, betas=[BINDING_BETA])
    dropped = answer["input_transformations"]
    blocks = [
        (i, b)
        for i, m in enumerate(request["messages"])
        if m["role"] == "assistant"
        for b in m["content"]
        if b["type"] == "thinking"
    ]
    assert [entry["path"] for entry in dropped] == [
        f"messages.{i}.content.0" for i, _ in blocks if i >= refusal.index
    ]
    assert {entry["reason"] for entry in dropped} == {"prefix_binding_mismatch"}


def test_thinking_before_a_change_stays_valid_and_so_does_what_comes_after(
    provider: StrictAnthropic,
) -> None:
    """A change invalidates only thinking after it that existed before."""
    request = copy.deepcopy(loop(provider, 3, **DROP))
    request["messages"][4]["content"][0]["content"] = "changed"
    answer = provider.create(request, betas=[BINDING_BETA])
    assert [entry["path"] for entry in answer["input_transformations"]] == ["messages.5.content.0"]
    request["messages"] += [
        {"role": "assistant", "content": answer["content"]},
        user(result(answer["content"][-1]["id"])),
    ]
    assert len(provider.create(request, betas=[BINDING_BETA])["input_transformations"]) == 1
    del request["messages"][5]["content"][0]
    assert provider.create(request, betas=[BINDING_BETA])["input_transformations"] == []
    assert "input_transformations" not in provider.create(
        {**request, "thinking": {"type": "adaptive"}}
    )


SAME: dict[str, Callable[[dict[str, Any]], object]] = {
    "cache breakpoints": lambda request: request["messages"][2]["content"][0].update(
        cache_control={"type": "ephemeral"}
    ),
    "text as one block": lambda request: request["messages"][0].update(
        content=[text("What is it?")]
    ),
    "system as one block": lambda request: request.update(system=[marked(text("Be brief."))]),
    "a message split in two of one role": lambda request: request["messages"].__setitem__(
        slice(1, 2),
        [{"role": "assistant", "content": [block]} for block in request["messages"][1]["content"]],
    ),
    "all thinking left out from some place on": lambda request: [
        m["content"].pop(0) for m in request["messages"][3:] if m["role"] == "assistant"
    ],
    "other keys first": lambda request: request["messages"][1].update(
        content=[dict(reversed(b.items())) for b in request["messages"][1]["content"]]
    ),
    "an empty field": lambda request: request["messages"][1]["content"][1].update(citations=None),
    "other options": lambda request: request.update(
        max_tokens=7, stop_sequences=["end"], metadata={"user_id": "u"}
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_what_the_vendor_does_not_compare_is_no_change(
    provider: StrictAnthropic, name: str
) -> None:
    """Cache marks, the form of a text, joined neighbours and later content keep a block valid."""
    request = copy.deepcopy(loop(provider, 3))
    SAME[name](request)
    provider.create(request)


def test_without_the_binding_only_the_block_itself_is_checked() -> None:
    """Older models look whether a block is unchanged, and no further."""
    provider = StrictAnthropic(thinks, binding=False)
    request = copy.deepcopy(loop(provider, 2))
    request["system"] = "Be long."
    provider.create(request)
    request["messages"][1]["content"][0]["thinking"] = "hum"
    assert refused(provider, request).rule == "thinking-signature"


def test_another_models_thinking_is_dropped_without_an_error() -> None:
    """It is told which blocks were, also when the conversation goes on."""
    provider = StrictAnthropic(thinks)
    request = {**loop(provider, 2, model="small"), "thinking": {"type": "adaptive"}}
    other = provider.create({**request, "model": "other"}, betas=[BINDING_BETA])
    reasons = [entry["reason"] for entry in other["input_transformations"]]
    assert reasons == ["model_binding_mismatch"] * 2
    answer = {"role": "assistant", "content": other["content"]}
    messages = [*request["messages"], answer, user(result(other["content"][-1]["id"]))]
    further = {**request, "model": "other", "messages": messages}
    assert len(provider.create(further, betas=[BINDING_BETA])["input_transformations"]) == 2


def test_redacted_thinking_is_bound_like_any_other() -> None:
    """Its data is its signature."""
    provider = StrictAnthropic(
        lambda request: [{"type": "redacted_thinking"}, *thinks(request)[1:]]
    )
    request = copy.deepcopy(loop(provider, 2))
    provider.create(request)
    request["messages"][0]["content"] = "Else?"
    assert refused(provider, request).message.startswith(
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block"
    )


def test_a_summary_stands_for_what_it_sums_up(provider: StrictAnthropic) -> None:
    """A summary on demand comes alone, and keeps thinking valid when it is sent back first."""
    request = loop(provider, 4)
    messages = request["messages"]
    asked = {**request, "messages": messages[:5], "compaction": {"type": "summarize"}}
    answer = provider.create(asked, betas=[COMPACTION_BETA])
    assert (answer["stop_reason"], [block["type"] for block in answer["content"]]) == (
        "compaction",
        ["compaction"],
    )
    assert answer["content"][0]["content"] == "Summary of 5 messages."
    summary = {"role": "assistant", "content": answer["content"]}
    request["messages"] = [summary, *messages[5:]]
    again = provider.create(request, betas=[COMPACTION_BETA])
    request["messages"] += [
        {"role": "assistant", "content": again["content"]},
        user(result(again["content"][-1]["id"])),
    ]
    provider.create(request, betas=[COMPACTION_BETA])
    assert (
        refused(provider, {**request, "system": "Other."}, betas=[COMPACTION_BETA]).rule
        == "thinking-moved"
    )
    assert (
        refused(
            provider,
            {**request, "messages": [summary, ASK, *messages[5:]]},
            betas=[COMPACTION_BETA],
        ).rule
        == "thinking-moved"
    )
    assert refused(provider, request).rule == "compaction-beta"


def test_a_summary_is_taken_back_unchanged_first_and_alone(provider: StrictAnthropic) -> None:
    """A summary that is misplaced, doubled, altered or not allowed here is an error."""
    betas = [COMPACTION_BETA]
    request = loop(provider, 2)
    asked = {**request, "compaction": {"type": "summarize"}}
    (block,) = provider.create(asked, betas=betas)["content"]

    def why(*blocks: Block, messages: list[Any] | None = None) -> tuple[str, str | None]:
        given = (
            messages
            if messages is not None
            else [{"role": "assistant", "content": list(blocks)}, ASK]
        )
        refusal = refused(provider, {**request, "messages": given}, betas=betas)
        return refusal.rule, refusal.code

    assert why({**block, "content": "Something else."}) == (
        "compaction-content",
        "compaction_content_mismatch",
    )
    assert why({**block, "signature": "c2ln"}) == (
        "compaction-signature",
        "compaction_signature_invalid",
    )
    assert why(block, block)[0] == "compaction-ambiguous"
    assert (
        why(messages=[ASK, {"role": "assistant", "content": [block]}, ASK])[0] == "compaction-place"
    )
    assert refused(provider, asked).rule == "compaction-beta"
    open_ended = {**asked, "messages": request["messages"][:-1]}
    assert refused(provider, open_ended, betas=betas).code == "compaction_incomplete_turn"
    failed = StrictAnthropic(thinks, summary=lambda request: None).create(asked, betas=betas)
    assert failed["content"][0]["content"] is None


def test_the_prompt_cache_is_accounted_for_by_the_vendors_rules() -> None:
    """A breakpoint's prefix is written once and then read, within the vendor's limits."""
    now = [0.0]
    provider = StrictAnthropic(lambda request: "Fine.", clock=lambda: now[0])
    long, short = text("word " * 2000), text("word " * 10)

    def use(*blocks: Block, **fields: Any) -> tuple[int, int, int]:
        usage = provider.create(
            {"model": "m", "max_tokens": 9, "messages": [user(*blocks)], **fields}
        )["usage"]
        return (
            usage["input_tokens"],
            usage["cache_creation_input_tokens"],
            usage["cache_read_input_tokens"],
        )

    fresh, written, read = use(marked(long), short)
    assert (written > 2000, read) == (True, 0)
    assert use(marked(long), text("other")) == (use(long, text("other"))[0] - written, 0, written)
    assert use(long, marked(short))[2] == written
    assert use(long, *[text(str(n)) for n in range(19)], marked(text("end")))[2] == 0
    assert use(long, *[text(str(n)) for n in range(18)], marked(text("near")))[2] == written
    assert use(marked(short)) == (use(short)[0], 0, 0)
    assert use(long, text("tail"), cache_control={"type": "ephemeral"})[2] == written
    now[0] = 301
    assert use(marked(long), short)[1:] == (written, 0)
    assert fresh > 0


def test_what_changes_before_a_breakpoint_is_not_read() -> None:
    """A change in tools, system or messages invalidates only what follows it."""
    provider = StrictAnthropic(lambda request: "Fine.", floor=10)
    head = {
        "model": "m",
        "max_tokens": 9,
        "tools": [marked({**TOOL, "description": "word " * 50})],
        "messages": [user(marked(text("word " * 50)))],
    }

    def read(**fields: Any) -> int:
        return int(provider.create({**head, **fields})["usage"]["cache_read_input_tokens"])

    assert read() == 0
    whole = read()
    assert 0 < read(system="New.") < whole
    assert read(model="other") == 0
    assert read() == whole


def test_breakpoints_of_an_hour_are_told_apart() -> None:
    """The usage tells what is written for how long."""
    provider = StrictAnthropic(lambda request: "Fine.", floor=10)
    request = {
        "model": "m",
        "max_tokens": 9,
        "messages": [user(marked(text("word " * 50), "1h"), marked(text("word " * 20)))],
    }
    created = provider.create(request)["usage"]["cache_creation"]
    assert created["ephemeral_1h_input_tokens"] > created["ephemeral_5m_input_tokens"] > 0


def test_the_window_is_exact() -> None:
    """A prompt of the window's exact size is accepted, and one more token is not."""
    request = {"model": "m", "max_tokens": 9, "messages": [user(text("word " * 100))]}
    tokens = StrictAnthropic(lambda request: "x").count_tokens(request)["input_tokens"]
    StrictAnthropic(lambda request: "x", window=tokens).create(request)
    tight = StrictAnthropic(lambda request: "x", window=tokens - 1)
    assert (
        refused(tight, request).message
        == f"prompt is too long: {tokens} tokens > {tokens - 1} maximum"
    )
    assert tight.count_tokens(request) == {"input_tokens": tokens}
    with pytest.raises(InvalidOptionError):
        StrictAnthropic(lambda request: "x", window=0)


def test_a_script_of_faults_is_checked() -> None:
    """It gives each fault by the number of a request, from 1."""
    nonsense: list[Any] = [{0: overloaded()}, {"1": overloaded()}, {1: "no"}]
    for bad in nonsense:
        with pytest.raises(InvalidOptionError):
            StrictAnthropic(thinks, faults=bad)


def test_a_stream_says_what_the_answer_says(provider: StrictAnthropic) -> None:
    """The stream's events add up to the answer, and a fault breaks it in the middle."""
    request = {"model": "m", "max_tokens": 9, "messages": [ASK]}
    events = list(provider.stream(request))
    assert [event.name for event in events][:2] == ["message_start", "ping"]
    assert [event.name for event in events][-2:] == ["message_delta", "message_stop"]
    deltas = [event.data["delta"] for event in events if event.name == "content_block_delta"]
    whole = provider.create(request)["content"]
    assert "".join(delta.get("thinking", "") for delta in deltas) == whole[0]["thinking"]
    assert [delta["signature"] for delta in deltas if "signature" in delta] == [
        whole[0]["signature"]
    ]
    assert "".join(delta.get("partial_json", "") for delta in deltas) == '{"n":1}'
    broken = StrictAnthropic(thinks, faults={1: Break(4), 2: overloaded_midway(4)})
    with pytest.raises(ConnectionResetError):
        list(broken.stream(request))
    assert [event.name for event in broken.stream(request)][-1] == "error"


def test_what_is_handed_in_is_neither_changed_nor_kept(provider: StrictAnthropic) -> None:
    """Requests stay as they were, and answers are the caller's own."""
    request = loop(provider, 2)
    before = copy.deepcopy(request)
    answer = provider.create(request)
    assert request == before
    answer["content"][0]["thinking"] = "mine"
    assert provider.create(request)["content"][0]["thinking"] != "mine"


@pytest.mark.parametrize(
    "hostile",
    [float("nan"), b"x", {1: 2}, "\ud800", 2**2000, object()],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_refused_in_process_too(
    provider: StrictAnthropic, hostile: object
) -> None:
    """Whatever Python has and JSON has not ends in a refusal, in a message or beside them."""
    message = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"x": hostile}}],
    }
    request = {"model": "m", "max_tokens": 9, "messages": [ASK, message, user(result())]}
    assert refused(provider, request).index == 1
    if not isinstance(hostile, float):  # NaN beside the messages is null
        assert (
            refused(
                provider,
                {"model": "m", "max_tokens": 9, "messages": [ASK], "metadata": {"x": hostile}},
            ).status
            == 400
        )


def test_deep_nests_are_refused_and_shared_ones_are_not(provider: StrictAnthropic) -> None:
    """A hundred levels are too deep; ninety blocks side by side are not."""
    deep: Any = "x"
    for _ in range(150):
        deep = [deep]
    nested = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"x": deep}}],
    }
    assert (
        refused(
            provider, {"model": "m", "max_tokens": 9, "messages": [ASK, nested, user(result())]}
        ).rule
        == "not-json"
    )
    provider.create(
        {"model": "m", "max_tokens": 9, "messages": [user(*[text(str(n)) for n in range(200)])]}
    )
