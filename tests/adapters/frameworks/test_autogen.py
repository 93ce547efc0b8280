"""Agents of AutoGen."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.window import Role, ToolCall, Turn
from polycontext.window.media import read_medium
from tests.adapters.frameworks.conversation import ROOM, STEPS, SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import TOOL, Judge
from tests.adapters.models import DEMAND

pytest.importorskip("autogen_agentchat")

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent, MultiModalMessage
from autogen_core import FunctionCall, Image
from autogen_core import models as own
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from PIL import Image as Drawn

from polycontext.adapters.autogen import AutoGenDialect, ContextChatCompletionContext

USAGE = own.RequestUsage(prompt_tokens=1, completion_tokens=1)


class Client(own.ChatCompletionClient):
    """Ask a judge."""

    def __init__(self, judge: Judge, vision: bool = True) -> None:
        self._judge, self._vision = judge, vision

    async def create(self, messages: Sequence[Any], **besides: Any) -> Any:
        """Return what the judge says."""
        said = self._judge.asked(messages)
        calls = [FunctionCall(call.id, call.arguments, call.name) for call in said.tool_calls]
        finish: Any = "function_calls" if calls else "stop"
        thought = said.text if calls else None
        return own.CreateResult(
            finish_reason=finish,
            content=calls or said.text,
            usage=USAGE,
            cached=False,
            thought=thought,
        )

    async def create_stream(self, messages: Sequence[Any], **besides: Any) -> AsyncIterator[Any]:
        """Yield what the judge says in two pieces, and whole."""
        said = await self.create(messages)
        if isinstance(said.content, str):
            yield said.content[:3]
            yield said.content[3:]
        yield said

    async def close(self) -> None:
        """Do nothing."""

    def actual_usage(self) -> Any:
        """Return what was used."""
        return USAGE

    total_usage = actual_usage

    def count_tokens(self, messages: Sequence[Any], **besides: Any) -> int:
        """Return none."""
        return 0

    remaining_tokens = count_tokens

    @property
    def capabilities(self) -> Any:
        """Return what it can."""
        return self.model_info

    @property
    def model_info(self) -> Any:
        """Return what it can."""
        can = dict.fromkeys(("function_calling", "json_output", "structured_output"), True)
        return own.ModelInfo(
            family="unknown",
            vision=self._vision,
            **can,  # type: ignore[typeddict-item, unused-ignore]
        )


def assistant(judge: Judge, context: Any, *, stream: bool = False, **options: Any) -> Any:
    """Return an agent of AutoGen's."""
    more = {"system_message": SYSTEM, "tools": [look], "max_tool_iterations": STEPS + 2, **options}
    return AssistantAgent(
        "keeper", Client(judge), model_context=context, model_client_stream=stream, **more
    )


async def look(at: str) -> str:
    """Look something up."""
    return found(at)


class AutoGenAgent(Agent):
    """Have an agent for each conversation, as users of AutoGen do."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        self._made: dict[str, Any] = {}
        self._judge, self._saved, self._options = judge, saved or {}, options
        ContextChatCompletionContext(**options)

    async def _of(self, key: str, *, stream: bool = False) -> Any:
        if key not in self._made:
            schema = [{"name": "look", "description": "Look something up.", "parameters": TOOL}]
            context = ContextChatCompletionContext(system=SYSTEM, tools=schema, **self._options)
            self._made[key] = assistant(self._judge, context, stream=stream)
            if key in self._saved:
                await self._made[key].load_state(self._saved[key])
        return self._made[key]

    async def say(self, key: str, text: str) -> str:
        """Run once."""
        result = await (await self._of(key)).run(task=text)
        return str(result.messages[-1].content)

    async def stream(self, key: str, text: str) -> str:
        """Run once, streamed."""
        pieces = [event async for event in (await self._of(key, stream=True)).run_stream(task=text)]
        return "".join(
            piece.content for piece in pieces if isinstance(piece, ModelClientStreamingChunkEvent)
        )

    def history(self, key: str) -> Sequence[str]:
        """Return what the context keeps."""
        return [
            json.dumps(message)
            for message in asyncio.run(self._made[key].model_context.save_state())["messages"]
        ]

    def saved(self) -> Any:
        """Return the agents' states."""
        return {key: asyncio.run(agent.save_state()) for key, agent in self._made.items()}


class TestAutoGen(FrameworkTests):
    """Test the model context."""

    distribution = "autogen-agentchat"
    provider = "openai"
    dialect = AutoGenDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return agents that have it."""
        return AutoGenAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""
        return {"model": Client(judge), "tools": [look]}


# --- what is AutoGen's own -----------------------------------------------------------


def fitted(natives: Sequence[Any], **options: Any) -> list[Any]:
    """Return what a context hands out that was filled with `natives`."""
    return asyncio.run(
        ContextChatCompletionContext(initial_messages=natives, **options).get_messages()
    )


def step(number: int, words: int = 40) -> list[Any]:
    """Return what one step adds: a call, its thought and its result."""
    calls = [FunctionCall(f"c{number}", "{}", "look")]
    result = own.FunctionExecutionResult(
        content="jar " * words, name="look", call_id=f"c{number}", is_error=True
    )
    return [
        own.AssistantMessage(content=calls, thought=f"Look {number}.", source="k"),
        own.FunctionExecutionResultMessage(content=[result]),
    ]


def test_what_fits_is_the_very_messages() -> None:
    """Thoughts, names and errors with them, and messages of kinds that nobody knows."""
    strange: Any = type("Strange", (), {"content": ["of", 7]})()
    asked = own.UserMessage(content="Look.", source="ann")
    natives = [
        own.SystemMessage(content="Be brief."),
        asked,
        *step(1),
        own.AssistantMessage(content="", source="k"),
        strange,
        asked,
    ]
    out = fitted(natives, model=ROOM)
    assert [*map(id, out)] == [*map(id, natives)]
    assert [turn.text for turn in AutoGenDialect().read(natives[2])] == ["Look 1."]


def test_a_hundred_windows_fit() -> None:
    """Every call has its result, what is kept is the framework's own, and the newest stands."""
    natives = [own.UserMessage(content=f"Look. {DEMAND}", source="ann")]
    for number in range(400):
        natives += step(number, words=250)
    out = fitted(natives, model=1000)
    called = [
        call.id
        for message in out
        if isinstance(message, own.AssistantMessage)
        for call in message.content
    ]
    assert called == [
        each.call_id
        for message in out
        if isinstance(message, own.FunctionExecutionResultMessage)
        for each in message.content
    ]
    assert out[-1] is natives[-1]
    assert DEMAND in str(out[:3])
    assert len(out) < 40


def test_a_result_that_is_cut_keeps_its_name() -> None:
    """The other result of its step stands in the same message."""
    calls = [FunctionCall("", "{}", "look"), FunctionCall("", "{}", "read")]
    results = [
        own.FunctionExecutionResult(content=text, name=name, call_id="", is_error=bad)
        for text, name, bad in RESULTS
    ]
    natives = [
        own.UserMessage(content="Look.", source="ann"),
        own.AssistantMessage(content=calls, source="k"),
    ]
    out = fitted([*natives, own.FunctionExecutionResultMessage(content=results)], model=900)
    assert [*map(id, out[:2])] == [*map(id, natives)]
    assert [(each.name, each.is_error) for each in out[2].content] == [
        ("look", None),
        ("read", True),
    ]
    assert len(out[2].content[0].content) < 4000
    assert out[2].content[1].content == "short"


RESULTS = [("jar " * 2000, "look", None), ("short", "read", True)]


def test_pictures_count_and_go_out_as_they_came() -> None:
    """A message with pictures is written with the same pictures."""
    shown = own.UserMessage(
        content=["Which?", Image.from_pil(Drawn.new("RGB", (1024, 1024)))], source="ann"
    )
    assert fitted([shown], model=ROOM)[0] is shown
    (turn,) = AutoGenDialect().read(shown)
    (medium,) = [read_medium(json.loads(part.data)) for part in turn.parts]
    assert medium is not None
    assert medium.width == 1024
    (again,) = AutoGenDialect().write([turn])
    assert (again.content[0], again.source) == ("Which?", "ann")
    assert again.content[1].to_base64() == shown.content[1].to_base64()
    many = [
        own.UserMessage(content=[f"{number}?", *shown.content[1:]], source="ann")
        for number in range(40)
    ]
    assert len(fitted(many, model=ROOM)) < 12


WRITTEN = [
    Turn(Role.SYSTEM, "Brief."),
    Turn(Role.ASSISTANT, "Yes.", name="k"),
    Turn(Role.ASSISTANT, "Look 1.", tool_calls=[ToolCall("c1", "look", "{}")]),
]


@pytest.mark.parametrize("turn", WRITTEN)
def test_what_is_written_is_read_again(turn: Turn) -> None:
    """As the same turn."""
    (native,) = AutoGenDialect().write([turn])
    assert [*AutoGenDialect().read(native)] == [turn]


def test_many_conversations_at_once_over_one_store(tmp_path: Any) -> None:
    """Each agent has its own context; its saved state names the conversation to continue."""
    store = SQLiteStore(tmp_path / "s.db")

    async def talk(
        key: str | None, state: Mapping[str, Any] | None, number: int
    ) -> tuple[Any, Any]:
        judge = Judge(AutoGenDialect(), "openai")
        context = ContextChatCompletionContext(ROOM, store=store, key=key)
        agent = assistant(judge, context)
        if state is not None:
            await agent.load_state(state)
        for again in range(8):
            await agent.run(task=f"{number} {again}: look. " + "please " * 60)
        assert all(
            f" {number} " in f" {turn.text}"
            for turns in judge.sent
            for turn in turns
            if turn.role is Role.USER and "look." in turn.text
        )
        return await agent.save_state(), judge.largest

    async def main() -> None:
        first = await asyncio.gather(*(talk(f"k{number}", None, number) for number in range(5)))
        assert [state["llm_context"]["key"] for state, _ in first] == [
            f"k{number}" for number in range(5)
        ]
        second = await asyncio.gather(
            *(talk(None, state, number) for number, (state, _) in enumerate(first))
        )
        assert all(
            state["llm_context"]["key"] == f"k{number}" for number, (state, _) in enumerate(second)
        )
        assert all(largest <= ROOM for _, largest in second)

    asyncio.run(main())
    assert sorted(store.list_sessions()) == [f"k{number}" for number in range(5)]
    store.close()


def test_a_run_that_is_cancelled_is_gone_on_from() -> None:
    """Wherever it was, even within a fit."""
    judge = Judge(AutoGenDialect(), "openai")
    context = ContextChatCompletionContext(ROOM)
    agent = assistant(judge, context)

    async def main() -> None:
        for number in range(30):
            task = asyncio.create_task(agent.run(task=f"{number}: look. " + "please " * 40))
            for _ in range(number % 6):
                await asyncio.sleep(0)
            if number % 3:
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await agent.run(task="And at last?")

    asyncio.run(main())
    assert judge.largest <= ROOM
    assert "And at last?" in str(judge.sent[-1])


def test_edited_and_cleared() -> None:
    """Messages that were taken back are not sent, and a cleared context starts anew."""
    context = ContextChatCompletionContext(ROOM)
    asked = [own.UserMessage(content=f"{number}?", source="ann") for number in range(4)]

    async def main() -> None:
        for message in asked:
            await context.add_message(message)
        assert await context.get_messages() == await context.get_messages() == asked
        await context.load_state({"messages": [asked[0].model_dump(), asked[3].model_dump()]})
        assert await context.get_messages() == [asked[0], asked[3]]
        await context.clear()
        assert await context.get_messages() == []
        await context.add_message(asked[2])
        assert await context.get_messages() == [asked[2]]

    asyncio.run(main())


def test_memory_reflection_and_models_without_eyes() -> None:
    """Memory, reflection and models without vision work with the context."""
    judge = Judge(AutoGenDialect(), "openai")
    memory = ListMemory(
        memory_contents=[MemoryContent(content="Ann likes pears.", mime_type=MemoryMimeType.TEXT)]
    )
    context = ContextChatCompletionContext(ROOM)
    agent = assistant(
        judge, context, memory=[memory], reflect_on_tool_use=True, max_tool_iterations=1
    )
    agent._model_client._vision = False

    async def main() -> None:
        image = Image.from_pil(Drawn.new("RGB", (64, 64)))
        for number in range(30):
            await agent.run(
                task=MultiModalMessage(content=[f"{number}: look.", image], source="user")
            )

    asyncio.run(main())
    assert len(judge.sent) == 60
    assert judge.largest <= ROOM
    assert "Ann likes pears." in str(judge.sent[-1])
    assert "<image>" in str(judge.sent[-1])
