"""Agents of strands-agents."""

import json
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from polycontext import ContextOverflowError
from polycontext.adapters import Bridge
from tests.adapters.frameworks.conversation import SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.converse_rules import check_converse
from tests.adapters.frameworks.judge import Judge
from tests.house import DATA

pytest.importorskip("strands")

import strands
from strands.models.model import Model

from polycontext.adapters.strands import ContextConversationManager, StrandsDialect

RECORDED = DATA / "wire_recorded.jsonl"


class Scripted(Model):
    """Say what a function of the messages and the system prompt says, as the events of Converse."""

    def __init__(self, reply: Any, **config: Any) -> None:
        self._reply, self._config = reply, config

    def update_config(self, **model_config: Any) -> None:
        """Take nothing else."""

    def get_config(self) -> Any:
        """Return what it was made with."""
        return self._config

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Have none."""
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Answer block by block, and tell what was counted where the function tells it."""
        blocks, usage = self._reply(messages, system_prompt)
        yield {"messageStart": {"role": "assistant"}}
        for block in blocks:
            use: Any = block.get("toolUse")
            start: Any = (
                {"toolUse": {"name": use["name"], "toolUseId": use["toolUseId"]}} if use else {}
            )
            yield {"contentBlockStart": {"start": start}}
            if use:
                yield {
                    "contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(use["input"])}}}
                }
            elif "reasoningContent" in block:
                for name, said in block["reasoningContent"]["reasoningText"].items():
                    yield {"contentBlockDelta": {"delta": {"reasoningContent": {name: said}}}}
            else:
                yield {"contentBlockDelta": {"delta": block}}
            yield {"contentBlockStop": {}}
        yield {
            "messageStop": {
                "stopReason": "tool_use"
                if any("toolUse" in block for block in blocks)
                else "end_turn"
            }
        }
        yield {
            "metadata": {
                "usage": {
                    "inputTokens": usage,
                    "outputTokens": 9,
                    "totalTokens": usage + 9 if usage else 0,
                },
                "metrics": {"latencyMs": 1},
            }
        }


def _judged(judge: Judge) -> Any:
    def reply(messages: Any, system: Any) -> Any:
        said = judge.asked(messages, system)
        thoughts = [json.loads(part.data) for part in said.parts]
        blocks: list[Any] = [
            {
                "reasoningContent": {
                    "reasoningText": {"text": each["thinking"], "signature": each["signature"]}
                }
            }
            for each in thoughts
        ]
        blocks += [{"text": said.text}] if said.text else []
        uses = [
            {"toolUseId": call.id, "name": call.name, "input": json.loads(call.arguments)}
            for call in said.tool_calls
        ]
        return [*blocks, *({"toolUse": use} for use in uses)], 0

    return reply


@strands.tool  # type: ignore[untyped-decorator, unused-ignore]
def look(at: str) -> str:
    """Look something up."""
    return found(at)


class StrandsAgent(Agent):
    """Have an agent for each conversation, and one manager for all."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        self._judge, self.adapter = judge, ContextConversationManager(**options)
        self._tools = [look, *(self.adapter.recall_tools if judge.script.query else [])]
        self._saved = saved or {}
        self._agents: dict[str, strands.Agent] = {}

    async def say(self, key: str, text: str) -> str:
        """Ask the agent of this key."""
        return str(await self._agent(key).invoke_async(text))

    async def stream(self, key: str, text: str) -> str:
        """Ask it, streamed."""
        return "".join(
            [event.get("data", "") async for event in self._agent(key).stream_async(text)]
        )

    def _agent(self, key: str) -> strands.Agent:
        if key not in self._agents:
            messages = self._saved.get(key, [])
            self._agents[key] = strands.Agent(
                Scripted(_judged(self._judge)),
                messages=messages,
                tools=self._tools,
                agent_id=key,
                system_prompt=SYSTEM,
                conversation_manager=self.adapter,
                callback_handler=None,
            )
        return self._agents[key]

    def conversation(self, key: str) -> str:
        """Return the names of session and agent."""
        return f"{self._agents[key].session_id}/{key}"

    def history(self, key: str) -> Sequence[str]:
        """Return what its messages say."""
        return [
            str(block) for message in self._agents[key].messages for block in message["content"]
        ]

    def saved(self) -> Any:
        """Return the messages, which are JSON data."""
        return {key: agent.messages for key, agent in self._agents.items()}


class TestStrands(FrameworkTests):
    """Test the conversation manager."""

    distribution = "strands-agents"
    dialect = StrandsDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return agents that have it."""
        return StrandsAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""
        return {"model": Scripted(_judged(judge)), "tools": [look]}


USED = {
    "role": "assistant",
    "content": [
        {"toolUse": {"toolUseId": f"t{side}", "name": "look", "input": {"at": side}}}
        for side in "ab"
    ],
}


def _result(side: str, *content: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": f"t{side}", "status": "success", "content": [*content]}}


def test_results_of_a_step_stay_in_one_message() -> None:
    """Unchanged messages are sent as they are, and shortened results stay in one message.

    Media stay beside their text.
    """
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    messages: list[Any] = [
        {"role": "user", "content": [{"text": "Look."}]},
        USED,
        {
            "role": "user",
            "content": [
                _result("a", {"text": "jar " * 9_000}),
                _result("b", {"text": "two"}, image),
            ],
        },
    ]
    sent = Bridge(StrandsDialect(), model=50_000).fit(messages)
    assert all(one is other for one, other in zip(sent, messages, strict=True))
    turns = [piece.turn for piece in StrandsDialect().split(messages)]
    assert StrandsDialect().write(turns[2:]) == messages[2:]
    sent = Bridge(StrandsDialect(), model=8_000).fit(messages)
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    cut, two = (block["toolResult"] for block in sent[2]["content"])
    assert (cut["toolUseId"], two["toolUseId"]) == ("ta", "tb")
    assert cut["content"][0]["text"].startswith("[Cut; ")


def test_what_the_vendors_own_tools_found_goes_out_as_it_is() -> None:
    """Nobody here has to answer their calls."""
    use = {"toolUseId": "s", "name": "code", "input": {}, "type": "server_tool_use"}
    found = {"toolUseId": "s", "status": "success", "content": [{"json": {"stdOut": "2"}}]}
    messages: list[Any] = [
        {"role": "user", "content": [{"text": "1 + 1?"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": use}, {"toolResult": found}, {"text": "2."}],
        },
        {"role": "user", "content": [{"text": "Sure?"}]},
    ]
    assert Bridge(StrandsDialect(), model=8_000).fit(messages) == messages


@pytest.mark.skipif(not RECORDED.exists(), reason="no recordings beside the project")
def test_recorded_conversations_of_converse_are_taken() -> None:
    """All that Bedrock accepted, and all of its answers, unchanged; shortened, none is invalid."""
    taken = 0
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        exchange = json.loads(line)
        if (exchange["kind"], exchange["status"]) != ("converse", 200):
            continue
        answer = exchange["response"]
        said = answer["output"]["message"] if isinstance(answer, Mapping) else None
        messages = with_bytes([*exchange["request"]["messages"], *([said] if said else [])])
        uses = [each["toolUse"] for each in messages[-1]["content"] if "toolUse" in each]
        results = [_result(use["toolUseId"], {"text": "Plums. " * 200}) for use in uses]
        for result, use in zip(results, uses, strict=True):
            result["toolResult"]["toolUseId"] = use["toolUseId"]
        if said:
            messages.append({"role": "user", "content": results or [{"text": "Go on."}]})
        assert Bridge(StrandsDialect(), model=1_000_000).fit(messages) == messages
        taken += 1
        if messages[0]["role"] == "user":
            for size in (250, 600, 1_500):
                with suppress(ContextOverflowError):
                    check_converse(Bridge(StrandsDialect(), model=size).fit(messages))
    assert taken > 100


def with_bytes(value: Any, name: str = "") -> Any:
    """Return recorded JSON data with the bytes that an SDK has there."""
    if isinstance(value, dict):
        return {key: with_bytes(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_bytes(inner) for inner in value]
    is_coded = name in ("bytes", "redactedContent") and isinstance(value, str)
    return b64decode(value) if is_coded else value


def test_system_prompt_tools_and_reply_are_taken_off_the_room() -> None:
    """In blocks or as text; a model whose settings are no mapping reserves nothing."""

    def sent(config: Any = None, **settings: Any) -> int:
        counts: list[int] = []

        def reply(messages: Any, system: Any) -> Any:
            counts.append(len(messages))
            return [{"text": "Yes. " * 40}], 0

        model = Scripted(reply)
        model._config = config
        agent = strands.Agent(
            model,
            conversation_manager=ContextConversationManager(1_600),
            callback_handler=None,
            **settings,
        )
        for number in range(14):
            agent(f"{number}: " + "plums, " * 40)
        return sum(counts)

    @strands.tool(  # type: ignore[untyped-decorator, unused-ignore]
        description="Look closely. " * 250
    )
    def described(at: str) -> str:
        return at

    plain = sent()
    assert sent(system_prompt="Be brief. " * 250) < plain
    assert (
        sent(system_prompt=[{"text": "Be brief. " * 250}, {"cachePoint": {"type": "default"}}])
        < plain
    )
    assert sent(tools=[described]) < plain
    assert sent({"max_tokens": 800}) < plain
