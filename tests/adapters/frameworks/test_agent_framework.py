"""Agents of Microsoft's agent-framework."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from polycontext.adapters import Bridge
from polycontext.base import InvalidOptionError
from polycontext.window import count_turn, default_counter
from polycontext.window.tokens.media_rules import FILM_TOKENS, PAGE_TOKENS
from tests.adapters.frameworks.conversation import ROOM, SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge
from tests.strict.script import png

pytest.importorskip("agent_framework")

from agent_framework import Agent as Own
from agent_framework import (
    AgentSession,
    BaseChatClient,
    ChatContext,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    SlidingWindowStrategy,
)

from polycontext.adapters.agent_framework import AgentFrameworkDialect, ContextMiddleware


class Client(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Let a judge answer, in the layers of the framework's own clients."""

    def __init__(self, judge: Judge, usage: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        # As many steps as the judge's script has.
        self.function_invocation_configuration["max_iterations"] = 100
        self._judge, self._usage = judge, usage
        self.seen: list[list[Message]] = []

    def _inner_get_response(
        self, *, messages: Any, stream: bool, options: Any, **kwargs: Any
    ) -> Any:
        self.seen.append([*messages])

        def contents() -> list[Content]:
            said = self._judge.asked(messages, options.get("instructions"))
            thoughts = [json.loads(part.data) for part in said.parts]
            return [
                *(
                    Content.from_text_reasoning(
                        text=each["thinking"], protected_data=each["signature"]
                    )
                    for each in thoughts
                ),
                *([Content.from_text(said.text)] if said.text else []),
                *(
                    Content.from_function_call(call.id, call.name, arguments=call.arguments)
                    for call in said.tool_calls
                ),
            ]

        async def whole() -> ChatResponse:
            return ChatResponse(
                messages=[Message("assistant", contents())], usage_details=self._usage
            )

        async def pieces() -> AsyncIterator[ChatResponseUpdate]:
            for content in contents():
                yield ChatResponseUpdate(role="assistant", contents=[content])
            if self._usage:
                yield ChatResponseUpdate(
                    role="assistant", contents=[Content.from_usage(self._usage)]
                )

        return self._build_response_stream(pieces()) if stream else whole()


def look(at: str) -> str:
    """Look something up."""
    return found(at)


def made(judge: Judge, middleware: Any, **settings: Any) -> Own:
    """Return an agent of the framework."""
    more = middleware.recall_tools if judge.script.query else []
    return Own(
        client=Client(judge, **settings),
        instructions=SYSTEM,
        tools=[look, *more],
        middleware=[middleware],
    )


class OwnAgent(Agent):
    """Keep conversations as sessions of the framework."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        self.adapter = ContextMiddleware(**options)
        self._agent = made(judge, self.adapter)
        self._sessions = {key: AgentSession.from_dict(kept) for key, kept in (saved or {}).items()}

    def _session(self, key: str) -> AgentSession:
        return self._sessions.setdefault(key, AgentSession(session_id=key))

    async def say(self, key: str, text: str) -> str:
        """Run once in the session."""
        return str((await self._agent.run(text, session=self._session(key))).text)

    async def stream(self, key: str, text: str) -> str:
        """Run once, streamed."""
        return "".join(
            [
                update.text
                async for update in self._agent.run(text, session=self._session(key), stream=True)
            ]
        )

    def history(self, key: str) -> Sequence[str]:
        """Return what its messages say."""
        messages = self._sessions[key].state["in_memory"]["messages"]
        return [
            content.text or str(content.result)
            for message in messages
            for content in message.contents
        ]

    def saved(self) -> Any:
        """Return the sessions as JSON data."""
        return {key: session.to_dict() for key, session in self._sessions.items()}


class TestAgentFramework(FrameworkTests):
    """Test the middleware."""

    distribution = "agent-framework-core"
    dialect = AgentFrameworkDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent that has it."""
        return OwnAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""
        return {"model": Client(judge), "tools": [look]}


# --- what is its own ----------------------------------------------------------------


@pytest.fixture
def judge() -> Judge:
    """Judge what is sent."""
    return Judge(AgentFrameworkDialect(), "anthropic")


ODD = [
    Content.from_uri(f"data:image/png;base64,{png(64)}"),
    Content.from_uri("https://example.org/plum.jpg", media_type="image/jpeg"),
    Content.from_data(b"%PDF-1.4 plums", "application/pdf"),
    Content("search_tool_result", call_id="s", result=["plums"], output=object()),
    Content("function_call", call_id="f", name="server", arguments=None, informational_only=True),
]


def test_files_elsewhere_count_as_files() -> None:
    """A link, and an upload, of which only the kind is known."""
    shown = [
        (Content.from_uri("https://example.org/a.pdf", media_type="application/pdf"), PAGE_TOKENS),
        (Content.from_uri("https://example.org/a.mp4", media_type="video/mp4"), FILM_TOKENS),
        (Content.from_hosted_file("f"), PAGE_TOKENS),
    ]
    for content, least in shown:
        (turn,) = AgentFrameworkDialect().read(Message("user", ["Which?", content]))
        assert least <= count_turn(default_counter(), turn) < least + 200
        (again,) = AgentFrameworkDialect().write([turn])
        assert again.contents[1].to_dict() == content.to_dict()


def test_what_a_message_has_besides_is_written_anew_with_it() -> None:
    """A message that lost some of its content keeps its media, calls, results and author."""
    natives = [
        Message("developer", ["Be kind."]),
        Message("user", ["Which?", *ODD], author_name="ann"),
        Message(
            "assistant",
            [
                "Look.",
                Content.from_function_call("a", "look", arguments={"at": "Böden"}),
                Content.from_function_call("b", "look"),
            ],
        ),
        Message(
            "tool",
            [
                Content.from_function_result("a", result=["plums", ODD[0]][1:]),
                Content.from_function_result("b", result=None),
            ],
        ),
        Message("assistant", [Content.from_text_reasoning(id="rs", protected_data="ZW5j"), "So."]),
        Message("poet", [Content("function_result", call_id="c", result={"at": 1}), "and"]),
        Message("user", [Content.from_usage({"total_token_count": 1})]),
        Message("user", []),
    ]
    dialect = AgentFrameworkDialect()
    pieces = [*dialect.split(natives)]
    assert [piece.turn.role.value for piece in pieces] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "user",
    ]
    turns = [piece.turn for piece in pieces]
    assert [part.is_medium for part in turns[1].parts] == [True, True, True, False, False]
    assert [part.is_medium for part in turns[3].parts] == [True]
    assert turns[5].parts[0].provider == "openai-responses"
    assert (turns[6].text, turns[7].text, turns[4].text) == ('{"at": 1}', "and", "")
    groups = [turns[:1], turns[1:2], turns[2:3], turns[3:5], turns[6:]]
    written = [message for group in groups for message in dialect.write(group)]
    again = [piece.turn for piece in dialect.split(written)]
    assert [turn.parts for turn in again] == [turn.parts for group in groups for turn in group]
    assert [turn.text for turn in again] == [turn.text for group in groups for turn in group]
    assert [turn.tool_calls for turn in again] == [
        turn.tool_calls for group in groups for turn in group
    ]
    assert [turn.tool_call_id for turn in again] == [
        turn.tool_call_id for group in groups for turn in group
    ]
    assert [each.media_type for each in written[1].contents[1:4]] == [
        "image/png",
        "image/jpeg",
        "application/pdf",
    ]
    assert (written[1].author_name, written[3].role) == ("ann", "tool")
    bridge: Any = Bridge(dialect, model=40_000)
    assert all(
        fitted is native
        for fitted, native in zip(bridge.fit(natives[1:5]), natives[1:5], strict=True)
    )


async def process(
    middleware: ContextMiddleware,
    messages: Sequence[Message],
    key: str | None = "A",
    usage: Any = None,
    **options: Any,
) -> list[Message]:
    """Return what a middleware sends of `messages`, as a client calls it."""
    session = None if key is None else AgentSession(session_id=key)
    context = ChatContext(
        client=Client(Judge(AgentFrameworkDialect(), "anthropic")),
        messages=messages,
        options=options,
        session=session,
    )

    async def call_next() -> None:
        context.result = ChatResponse(messages=[], usage_details=usage)

    await middleware.process(context, call_next)
    return [*context.messages]


def talk(exchanges: int, name: str = "A") -> list[Message]:
    """Return a conversation."""
    return [
        message
        for number in range(exchanges)
        for message in (
            Message("user", [f"{name}{number}: " + "please " * 40]),
            Message("assistant", [f"Answer {name}{number}."]),
        )
    ] + [Message("user", ["Well?"])]


def test_what_only_the_framework_knows_goes_out_as_it_is() -> None:
    """Content that only the framework knows is sent in the original message object, uncopied."""
    messages = [*talk(600), Message("user", ["Which?", *ODD])]
    before = [*messages]
    sent = asyncio.run(process(ContextMiddleware(20_000), messages))
    assert sent[-1] is messages[-1]
    assert 1 < len(sent) < len(messages)
    assert messages == before


def test_what_is_asked_for_besides_counts() -> None:
    """System prompt, tools of every kind, and the longest reply take room."""
    hosted: dict[str, Any] = {"type": "web_search", "description": "plums, " * 700}

    def long(at: str) -> str:
        """Look something up."""
        return at

    long.__doc__ = "plums, " * 700
    messages = talk(45)
    lengths = [
        len(asyncio.run(process(ContextMiddleware(ROOM), messages, **options)))
        for options in (
            {},
            {"instructions": "plums, " * 700},
            {"tools": [hosted]},
            {"tools": [long, object()]},
            {"max_tokens": 1_800},
            {"instructions": [{"type": "text", "text": "plums, " * 700}]},
        )
    ]
    assert lengths[0] == len(messages)
    assert all(length < len(messages) for length in lengths[1:]), lengths


def test_another_compaction_is_refused(judge: Judge) -> None:
    """Of the client or of the agent; nothing was sent."""
    strategy = SlidingWindowStrategy(keep_last_groups=3)
    of_client = made(judge, ContextMiddleware(ROOM), compaction_strategy=strategy)
    of_agent = Own(
        client=Client(judge), middleware=[ContextMiddleware(ROOM)], compaction_strategy=strategy
    )
    for agent in (of_client, of_agent):
        with pytest.raises(InvalidOptionError, match="compaction_strategy"):
            asyncio.run(agent.run("Well?"))
    assert not judge.sent


def test_what_the_server_keeps_itself_is_left_alone() -> None:
    """Of a conversation at the provider only what is new is sent: it is no edit of what we have."""
    middleware = ContextMiddleware(ROOM)
    asyncio.run(process(middleware, talk(5)))
    new = [Message("tool", [Content.from_function_result("c", result="plums")])]
    assert asyncio.run(process(middleware, new, conversation_id="conv_1")) == new
    assert len([*middleware._bridge.sessions.get("A").log()]) == 11
