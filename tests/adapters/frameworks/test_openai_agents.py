"""Agents of openai-agents."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.adapters.frameworks.conversation import ROOM, SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge
from tests.strict.script import png

pytest.importorskip("agents")
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

from agents import Agent as Own
from agents import ModelSettings, RunConfig, Runner, SQLiteSession, function_tool
from agents.models.chatcmpl_converter import Converter
from agents.run import CallModelData, ModelInputData
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseReasoningItem

from polycontext import ContextOverflowError
from polycontext.adapters.openai_agents import ContextFilter, OpenAIAgentsDialect
from polycontext.base import InvalidOptionError


def model_of(judge: Judge) -> ScriptedModel:
    """Return a model that asks the judge, as often as it is asked."""

    def reply(call: Any) -> list[Any]:
        model.enqueue(ModelStep.respond(reply))
        said, number = judge.asked(call.input, call.system_instructions), len(judge.sent)
        thoughts = [
            ResponseReasoningItem(**json.loads(part.data))
            for part in said.parts
            if part.type == "reasoning"
        ]
        words = [assistant_message(said.text, item_id=f"msg_{number}")] if said.text else []
        calls = [
            function_call(
                call.name, json.loads(call.arguments), call_id=call.id, item_id=f"fc_{call.id}"
            )
            for call in said.tool_calls
        ]
        return [*thoughts, *words, *calls]

    model = ScriptedModel([ModelStep.respond(reply)])
    return model


class OpenAIAgent(Agent):
    """Keep each conversation in a session of the framework."""

    def __init__(self, judge: Judge, saved: dict[str, list[Any]] | None, **options: Any) -> None:
        tools: list[Any] = [function_tool(found, name_override="look")]
        self.adapter = fitting = ContextFilter(key=lambda context: context, **options)
        tools += fitting.recall_tools if judge.script.query else []
        self._agent = Own("Cellar", instructions=SYSTEM, model=model_of(judge), tools=tools)
        self._run: dict[str, Any] = {
            "run_config": RunConfig(call_model_input_filter=fitting),
            "hooks": fitting,
            "max_turns": None,
        }
        self._saved, self._kept = saved or {}, dict[str, Any]()

    async def _session(self, key: str) -> Any:
        if key not in self._kept:
            self._kept[key] = SQLiteSession(key)
            await self._kept[key].add_items(self._saved.get(key, []))
        return self._kept[key]

    async def say(self, key: str, text: str) -> str:
        """Run once; the session has what was said before."""
        result = await Runner.run(
            self._agent, text, session=await self._session(key), context=key, **self._run
        )
        return str(result.final_output)

    async def stream(self, key: str, text: str) -> str:
        """Run once, streamed."""
        result = Runner.run_streamed(
            self._agent, text, session=await self._session(key), context=key, **self._run
        )
        async for _ in result.stream_events():
            pass
        return str(result.final_output)

    def history(self, key: str) -> Sequence[str]:
        """Return what its items say."""
        return [str(item.get("content") or item.get("output")) for item in self.saved()[key]]

    def saved(self) -> Any:
        """Return the items of all sessions."""
        return {key: asyncio.run(session.get_items()) for key, session in self._kept.items()}


class TestOpenAIAgents(FrameworkTests):
    """Test the filter."""

    distribution = "openai-agents"
    provider = "openai-responses"
    dialect = OpenAIAgentsDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent that has it."""
        return OpenAIAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""
        return {"model": model_of(judge), "tools": [function_tool(found, name_override="look")]}


# --- what is its own ----------------------------------------------------------------


async def fit(
    fitting: ContextFilter, items: list[Any], agent: Any = None, **model: Any
) -> list[Any]:
    """Return what a filter sends of `items`, as a run calls it."""
    asked = ModelInputData(input=items, instructions=SYSTEM)
    sent = await fitting(
        CallModelData(asked, agent or Own("Cellar", model_settings=ModelSettings(**model)), None)
    )
    assert sent.instructions == SYSTEM
    return list(sent.input)


def talk(exchanges: int, name: str = "A") -> list[Any]:
    """Return a conversation: per exchange a question, a thought, a call, a result and an answer."""
    return [item for number in range(exchanges) for item in exchange(f"{name}{number}")]


def exchange(name: str) -> list[Any]:
    """Return the items of an exchange, as a session keeps them."""
    words = [{"type": "output_text", "text": f"Answer {name}.", "annotations": []}]
    return [
        {"role": "user", "content": f"{name}: " + "please " * 20},
        {"type": "reasoning", "id": f"rs_{name}", "summary": [], "encrypted_content": "plum" * 20},
        {
            "type": "function_call",
            "id": f"fc_{name}",
            "call_id": name,
            "name": "look",
            "arguments": "{}",
        },
        {"type": "function_call_output", "call_id": name, "output": found(name)},
        {
            "type": "message",
            "id": f"msg_{name}",
            "role": "assistant",
            "status": "completed",
            "content": words,
        },
    ]


def scripted(*steps: Any, tool: Any = found, **settings: Any) -> tuple[ScriptedModel, Any]:
    """Return a model of these steps, and an agent that asks it."""
    model = ScriptedModel(steps)
    tools: list[Any] = [function_tool(tool, name_override="look")]
    return model, Own(
        "Cellar",
        instructions=SYSTEM,
        model=model,
        tools=tools,
        model_settings=ModelSettings(**settings),
    )


def test_what_goes_out_is_the_very_items() -> None:
    """The items of a conversation longer than the window are sent as the same objects.

    A repeated list gives the same request, and Chat Completions accepts the items too.
    """
    items, fitting = talk(200), ContextFilter(ROOM)
    short, sent = asyncio.run(fit(fitting, items[:15])), asyncio.run(fit(fitting, items))
    assert [id(item) for item in short] == [id(item) for item in items[:15]]
    own = {id(item) for item in items}
    assert sent[-1] is items[-1]
    assert sum(id(item) in own for item in sent) > len(sent) // 2
    assert len(sent) < 60
    assert asyncio.run(fit(fitting, items)) == sent
    assert len(Converter.items_to_messages(sent)) > 2


def test_kinds_of_items_that_nobody_here_knows_go_out_as_they_are() -> None:
    """Searches, references, what is new tomorrow; and pictures, which count."""
    odd = [
        {"role": "user", "content": "Look."},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "of_tomorrow", "data": [1, 2]},
        {
            "role": "user",
            "content": [{"type": "of_tomorrow", "data": 1}, {"type": "input_text", "text": "And?"}],
        },
        {"type": "item_reference", "id": "msg_1"},
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{png(1024)}"}],
        },
    ]
    sent = asyncio.run(fit(ContextFilter(ROOM), odd))
    assert [id(item) for item in sent] == [id(item) for item in odd]
    pictures = [item for number in range(6) for item in (odd[-1], *exchange(f"P{number}"))]
    assert str(asyncio.run(fit(ContextFilter(ROOM), pictures))).count("input_image") == 1


@pytest.mark.parametrize(
    ("name", "value"), [("truncation", "auto"), ("context_management", [{"type": "compaction"}])]
)
def test_a_provider_that_shortens_too_is_refused(name: str, value: Any) -> None:
    """It would cut what this has kept."""
    with pytest.raises(
        InvalidOptionError, match=rf"^{name} of the agent Cellar = .*this filter makes room"
    ):
        asyncio.run(fit(ContextFilter(ROOM), talk(1), **{name: value}))
    assert asyncio.run(fit(ContextFilter(ROOM), talk(1), truncation="disabled")) == talk(1)


def test_tools_handoffs_and_the_reply_take_room() -> None:
    """Those of a server of tools, too."""
    items, long = talk(15), "long " * 2_000

    class Server:
        """Stand for a server that is asked for its tools."""

    async def served(_: Any) -> list[Any]:
        return [function_tool(found, description_override=long)]

    full = Own("Full")
    full.mcp_servers.append(Server())
    full.get_mcp_tools = served
    assert asyncio.run(fit(ContextFilter(ROOM), items)) == items
    others = [
        Own("Tools", tools=[function_tool(found, description_override=long)]),
        Own("Hands over", handoffs=[Own("Other", handoff_description=long)]),
        Own("Says much", model_settings=ModelSettings(max_tokens=2_000)),
        full,
    ]
    assert [
        len(asyncio.run(fit(ContextFilter(ROOM), items, agent))) < len(items) for agent in others
    ] == [True] * 4
    with pytest.raises(ContextOverflowError):
        asyncio.run(fit(ContextFilter(ROOM), items, max_tokens=ROOM))


def test_hooks_without_the_filter_learn_nothing() -> None:
    """There was no request to learn of."""
    _, agent = scripted([assistant_message("Plums.")])
    assert (
        asyncio.run(Runner.run(agent, "Hello", hooks=ContextFilter(ROOM))).final_output == "Plums."
    )


def test_a_conversation_that_openai_keeps_is_left_alone() -> None:
    """Of it only what is new is sent: results, behind calls that only OpenAI has."""
    model, agent = scripted(
        [function_call("look", {"at": "1"}, call_id="c")], [assistant_message("Plums.")]
    )
    config = RunConfig(call_model_input_filter=ContextFilter(ROOM))
    asyncio.run(Runner.run(agent, "Look.", conversation_id="conv_1", run_config=config))
    assert [item["call_id"] for item in model.calls[1].input] == ["c"]
