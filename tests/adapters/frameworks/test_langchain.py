"""Agents of LangChain."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.adapters import Bridge
from polycontext.adapters.blocks import picture
from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextOverflowError
from polycontext.window import InvalidMessagesError, Role, Turn
from tests.adapters.frameworks.conversation import ROOM, SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge
from tests.adapters.models import DEMAND
from tests.house import ROOT
from tests.test_examples import check_example

pytest.importorskip("langchain")
os.environ["LANGSMITH_TRACING"] = "false"

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    wrap_model_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core import messages as own
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from polycontext.adapters.langchain import ContextMiddleware, LangChainDialect


class Model(BaseChatModel):
    """Let a judge answer, as langchain-anthropic gives answers: whole, or in pieces."""

    judge: Any
    usage: Any = None

    @property
    def _llm_type(self) -> str:
        return "judge"

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        """Know the tools anyway."""
        return self

    def _asked(self, messages: Sequence[own.BaseMessage]) -> tuple[Turn, list[dict[str, Any]]]:
        system, rest = (
            (str(messages[0].text), messages[1:])
            if messages[0].type == "system"
            else (None, messages)
        )
        said = self.judge.asked(rest, system)
        text = [{"type": "text", "text": said.text}] if said.text else []
        return said, [*(json.loads(part.data) for part in said.parts), *text]

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        said, blocks = self._asked(messages)
        calls = [
            {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}
            for call in said.tool_calls
        ]
        return ChatResult(
            generations=[
                ChatGeneration(
                    message=own.AIMessage(blocks, tool_calls=calls, usage_metadata=self.usage)
                )
            ]
        )

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        said, blocks = self._asked(messages)
        for index, block in enumerate(blocks):
            for name, value in block.items():
                if name != "type":
                    yield ChatGenerationChunk(
                        message=own.AIMessageChunk(
                            [{"type": block["type"], name: value, "index": index}]
                        )
                    )
        for index, call in enumerate(said.tool_calls, len(blocks)):
            asked = {"name": call.name, "args": call.arguments, "id": call.id, "index": index}
            yield ChatGenerationChunk(message=own.AIMessageChunk([], tool_call_chunks=[asked]))


class LangChainAgent(Agent):
    """Keep conversations as threads of a checkpointer."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        self.adapter = ContextMiddleware(**options)
        more = self.adapter.recall_tools if judge.script.query else []
        self._agent = _made(judge, self.adapter, tools=[look, *more])
        for key, messages in (saved or {}).items():
            self._agent.update_state(_thread(key), {"messages": own.messages_from_dict(messages)})

    async def say(self, key: str, text: str) -> str:
        """Go on with the thread."""
        state = await self._agent.ainvoke({"messages": [("user", text)]}, _thread(key))
        return str(state["messages"][-1].text)

    async def stream(self, key: str, text: str) -> str:
        """Go on with the thread, streamed."""
        said: Any = {}
        async for chunk, _ in self._agent.astream(
            {"messages": [("user", text)]}, _thread(key), stream_mode="messages"
        ):
            said[chunk.id] = said.get(chunk.id, "") + chunk.text
        return str([*said.values()][-1])

    def messages(self, key: str) -> list[own.BaseMessage]:
        """Return what is in the thread."""
        messages: list[own.BaseMessage] = self._agent.get_state(_thread(key)).values["messages"]
        return messages

    def history(self, key: str) -> Sequence[str]:
        """Return what its messages say."""
        return [message.text for message in self.messages(key)]

    def saved(self) -> Any:
        """Return the threads as JSON data."""
        return {key: own.messages_to_dict(self.messages(key)) for key in "AB"}


def look(at: str) -> str:
    """Look something up."""
    return found(at)


def _made(judge: Judge, *middleware: Any, tools: Any = (look,), **settings: Any) -> Any:
    model, saver = Model(judge=judge), InMemorySaver()
    return create_agent(
        model, tools, system_prompt=SYSTEM, middleware=middleware, checkpointer=saver, **settings
    )


def _thread(key: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": key}, "recursion_limit": 1000}


class TestLangChain(FrameworkTests):
    """Test the middleware."""

    distribution = "langchain"
    dialect = LangChainDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent that has it."""
        return LangChainAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""
        return {"model": Model(judge=judge), "tools": [look]}


def test_an_agents_nodes_run_as_nodes_of_langgraph() -> None:
    """The graph routes by the machine's state, and each node takes one step."""
    check_example(ROOT / "examples" / "adapters" / "with_langgraph.py")


@pytest.fixture
def judge() -> Judge:
    """Judge what is sent."""
    return Judge(LangChainDialect(), "anthropic")


@pytest.fixture
def sent(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> list[list[own.BaseMessage]]:
    """Take what the model is sent, as LangChain's own objects."""
    seen, asked = [], Model._asked

    def remembered(self: Model, messages: Sequence[own.BaseMessage]) -> Any:
        seen.append([*messages[1:]])
        return asked(self, messages)

    monkeypatch.setattr(Model, "_asked", remembered)
    return seen


def test_agents_that_do_not_await(judge: Judge) -> None:
    """They are invoked and streamed alike, and their thread is whole."""
    agent = _made(judge, ContextMiddleware(ROOM))
    for number in range(20):
        if number % 2:
            agent.invoke({"messages": [("user", f"{number}: look. {DEMAND}")]}, _thread("A"))
        else:
            assert [
                *agent.stream(
                    {"messages": [("user", f"{number}: look. {DEMAND}")]},
                    _thread("A"),
                    stream_mode="messages",
                )
            ]
    assert len(judge.sent) == 40
    assert judge.largest <= ROOM
    assert len(agent.get_state(_thread("A")).values["messages"]) == 20 * 5 > len(judge.sent[-1])


def test_an_agent_inside_of_a_tool_has_a_conversation_of_its_own(judge: Judge) -> None:
    """It is on the same thread, and its messages are not taken for an edit of the other's."""
    middleware = ContextMiddleware(ROOM)
    inner = create_agent(Model(judge=judge), [look], middleware=[middleware])

    def ask(at: str) -> str:
        """Look something up."""
        said: str = inner.invoke({"messages": [("user", f"inner {at}")]})["messages"][-1].text
        return said

    ask.__name__ = "look"
    agent = _made(judge, middleware, tools=[ask])
    for number in range(3):
        agent.invoke({"messages": [("user", f"outer {number}")]}, _thread("A"))
    assert len(judge.sent) == 3 * (2 + 2 * 2)
    for turns in judge.sent:
        assert len({turn.text[:5] for turn in turns if turn.role is Role.USER}) == 1
    outer = middleware._bridge.sessions.get("A")
    assert outer.history.revision == len([*outer.log()]) == 3 * 5 - 1
    assert len(middleware._bridge.sessions) == 7


def test_pictures_count_and_what_nobody_knows_goes_out_as_it_is(
    judge: Judge, sent: list[list[own.BaseMessage]]
) -> None:
    """Both stand in the very message that they came in."""
    dot = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Er"
        "kJggg=="
    )
    forms: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{dot}"}},
        {"type": "image", "base64": dot, "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": dot, "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": dot}},
    ]
    assert {
        part
        for form in forms
        for turn in LangChainDialect().read(HumanMessage([form]))
        for part in turn.parts
    } == {picture(forms[0]["image_url"]["url"])}
    odd = {"type": "odd", "of": b"b"}
    shown = HumanMessage(
        [
            {"type": "text", "text": "Which?"},
            {"type": "image", "url": "https://example.org/plum.png"},
            odd,
        ]
    )
    agent = _made(judge, ContextMiddleware(12_000))
    for number in range(30):
        agent.invoke(
            {
                "messages": [
                    shown.model_copy()
                    if number in {0, 29}
                    else ("user", f"{number}: look for plums. " + "please " * 200)
                ]
            },
            _thread("A"),
        )
    assert judge.largest <= 12_000
    assert sent[0][0].content == sent[-1][-4].content == shown.content
    assert sum("plum.png" in str(message.content) for message in sent[-1]) == 1


def test_what_a_message_has_besides_is_written_anew_with_it() -> None:
    """A message whose text was cut keeps its media, thoughts, invalid calls and result ids."""
    dialect = LangChainDialect()
    held = [
        {"type": "file", "base64": "cGx1bXM=", "mime_type": "text/plain"},
        {"type": "audio", "base64": "cGx1bXM=", "mime_type": "audio/wav"},
        {"type": "search_result", "source": "https://example.org", "title": "Plums", "content": []},
    ]
    natives = [
        own.SystemMessage("Be kind."),
        HumanMessage([*held, {"type": "text", "text": "Which?"}]),
        AIMessage(
            [
                {"type": "reasoning", "reasoning": "So.", "extras": {"signature": "c2ln"}},
                {"type": "text", "text": "Look."},
            ],
            tool_calls=[{"id": "a", "name": "look", "args": {"at": "Böden"}}],
            invalid_tool_calls=[{"id": "b", "name": None, "args": "{oops", "error": "no JSON"}],
        ),
        ToolMessage("none", tool_call_id="a", name="look"),
        ToolMessage([{"type": "text", "text": "no JSON"}], tool_call_id="b", status="error"),
        AIMessage(
            [{"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "ZW5j"}],
            tool_calls=[{"id": None, "name": "look", "args": {}}],
        ),
    ]
    turns = [piece.turn for piece in dialect.split(natives)]
    written: list[Any] = dialect.write(turns)
    assert [message.type for message in written] == ["system", "human", "ai", "tool", "tool", "ai"]
    assert [block["type"] for block in written[1].content] == [
        "file",
        "input_audio",
        "search_result",
        "text",
    ]
    assert written[1].content[0]["file"]["file_data"] == "data:text/plain;base64,cGx1bXM="
    assert written[2].content[0] == {"type": "thinking", "thinking": "So.", "signature": "c2ln"}
    assert (written[2].tool_calls[0]["args"], written[2].invalid_tool_calls[0]["args"]) == (
        {"at": "Böden"},
        "{oops",
    )
    assert (written[3].name, written[4].tool_call_id) == ("look", "b")
    assert written[5].content[0]["encrypted_content"] == "ZW5j"
    assert [piece.turn for piece in dialect.split(written)] == turns
    bridge: Any = Bridge(dialect, model=ROOM)
    assert all(
        fitted is native for fitted, native in zip(bridge.fit(natives), natives, strict=False)
    )


def test_roles_of_other_kinds_of_messages() -> None:
    """A chat message has the role that it names; unknown roles become user messages."""
    kinds = [
        own.ChatMessage("So.", role=role) for role in ("developer", "assistant", "tool", "poet")
    ]
    chunks = [
        own.AIMessageChunk("So."),
        own.SystemMessageChunk("So."),
        own.FunctionMessage(name="look", content="So."),
    ]
    roles = [turn.role for kind in [*kinds, *chunks] for turn in LangChainDialect().read(kind)]
    assert roles == [
        Role.SYSTEM,
        Role.ASSISTANT,
        Role.USER,
        Role.USER,
        Role.ASSISTANT,
        Role.SYSTEM,
        Role.USER,
    ]


def test_what_is_asked_for_besides_counts(judge: Judge) -> None:
    """Tools, the form of the answer, and the longest reply take room; so does the system prompt."""

    class Jar(BaseModel):
        """Say which."""

        number: int = Field(description="which, " * 700)

    long = {
        "type": "function",
        "function": {"name": "long", "description": "which, " * 700, "parameters": {}},
    }
    for settings in (
        {"tools": [long]},
        {"response_format": ToolStrategy(Jar)},
        {"system_prompt": "which, " * 700},
    ):
        agent = create_agent(
            Model(judge=judge), middleware=[ContextMiddleware(1000)], **{"tools": [], **settings}
        )
        with pytest.raises(ContextOverflowError):
            agent.invoke({"messages": [("user", "Look.")]})
    replies = wrap_model_call(
        lambda request, handler: handler(request.override(model_settings={"max_tokens": 999}))
    )
    with pytest.raises(ContextOverflowError):
        create_agent(Model(judge=judge), middleware=[replies, ContextMiddleware(1000)]).invoke(
            {"messages": [("user", "Look.")]}
        )
    assert judge.sent == []


def test_another_middleware_that_shortens_is_refused(judge: Judge) -> None:
    """In words: what it has cleared would be taken for an edit of the conversation."""
    editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=100, keep=1)])
    agent = _made(judge, editing, ContextMiddleware(ROOM))
    with pytest.raises(InvalidOptionError, match=r"ContextEditingMiddleware.*Use "):
        agent.invoke({"messages": [("user", "Look.")]}, _thread("A"))


def test_its_messages_are_taken_in_as_those_of_openai() -> None:
    """As they are, they have no role; the error says what converts them."""
    session = ContextSession(max_tokens=2_000)
    messages = [HumanMessage("Hello"), AIMessage("Hi")]
    with pytest.raises(InvalidMessagesError, match="convert_to_openai_messages"):
        session.extend(messages)
    session.extend(own.convert_to_openai_messages(messages))
    assert [turn.text for turn in session.log()] == ["Hello", "Hi"]
