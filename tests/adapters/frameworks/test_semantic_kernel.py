"""Agents of Semantic Kernel."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from polycontext.base import InvalidOptionError
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.window import Role, ToolCall, Turn, count_turn, default_counter
from polycontext.window.tokens.media_rules import PAGE_TOKENS
from tests.adapters.frameworks.conversation import ROOM, STEPS, SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge
from tests.adapters.models import DEMAND
from tests.strict.script import png

pytest.importorskip("semantic_kernel")

from semantic_kernel import contents as own
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.completion_usage import CompletionUsage
from semantic_kernel.connectors.ai.function_calling_utils import (
    update_settings_from_function_call_configuration,
)
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.contents.binary_content import BinaryContent
from semantic_kernel.functions import KernelArguments, KernelPlugin, kernel_function

from polycontext.adapters.semantic_kernel import SemanticKernelDialect, wrap

ASSISTANT = own.AuthorRole.ASSISTANT
_PLUGINS = {"look": "cellar", "context_search": "polycontext"}


class Settings(PromptExecutionSettings):
    """Say what a service is asked with."""

    tools: list[dict[str, Any]] | None = None
    tool_choice: str | None = None
    max_tokens: int | None = None


class Service(ChatCompletionClientBase):
    """Ask a judge; `usage` is what is reported of each request."""

    SUPPORTS_FUNCTION_CALLING: ClassVar[bool] = True
    judge: Any
    usage: Any = None

    def get_prompt_execution_settings_class(self) -> type[Any]:
        """Return the settings."""
        return Settings

    def _update_function_choice_settings_callback(self) -> Any:
        return update_settings_from_function_call_configuration

    def _items(self, history: Any) -> list[Any]:
        said = self.judge.asked(history.messages)
        blocks = [json.loads(part.data) for part in said.parts]
        thoughts = [
            own.ReasoningContent(text=block["thinking"], metadata={"signature": block["signature"]})
            for block in blocks
        ]
        calls = [
            own.FunctionCallContent(
                id=call.id, name=f"{_PLUGINS[call.name]}-{call.name}", arguments=call.arguments
            )
            for call in said.tool_calls
        ]
        return [*thoughts, *([own.TextContent(text=said.text)] if said.text else []), *calls]

    async def _inner_get_chat_message_contents(self, chat_history: Any, settings: Any) -> list[Any]:
        return [
            own.ChatMessageContent(
                role=ASSISTANT, items=self._items(chat_history), metadata={"usage": self.usage}
            )
        ]

    async def _inner_get_streaming_chat_message_contents(
        self, chat_history: Any, settings: Any, function_invoke_attempt: int = 0
    ) -> AsyncIterator[list[Any]]:
        more = {"choice_index": 0, "function_invoke_attempt": function_invoke_attempt}
        pieces: list[Any] = self._items(chat_history)
        kinds = {
            own.ReasoningContent: own.StreamingReasoningContent,
            own.TextContent: own.StreamingTextContent,
        }
        for place, item in enumerate(pieces):
            if kind := kinds.get(type(item)):
                pieces[place] = kind(choice_index=0, text=item.text, metadata=item.metadata)
        for item in pieces:
            yield [own.StreamingChatMessageContent(role=ASSISTANT, items=[item], **more)]
        yield [
            own.StreamingChatMessageContent(role=ASSISTANT, metadata={"usage": self.usage}, **more)
        ]


def _look(self: object, at: str) -> str:
    """Look something up."""
    return found(at)


class Cellar:
    """Hold the tool."""

    look = kernel_function(name="look", description="Look something up.")(_look)


def assistant(service: Any, **options: Any) -> Any:
    """Return an agent of the framework's."""
    auto = FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=STEPS + 2)
    more = {
        "name": "Keeper",
        "instructions": SYSTEM,
        "plugins": [KernelPlugin.from_object("cellar", Cellar())],
        "function_choice_behavior": auto,
        **options,
    }
    return ChatCompletionAgent(service=service, **more)


class SKAgent(Agent):
    """Keep a history for each conversation, as users of Semantic Kernel do."""

    def __init__(self, judge: Judge, saved: dict[str, str] | None, **options: Any) -> None:
        self.adapter: Any = wrap(Service(ai_model_id="fake", judge=judge), **options)
        plugins = [KernelPlugin.from_object("cellar", Cellar())]
        plugins += self.adapter.recall_tools if judge.script.query else []
        self._agent = assistant(self.adapter, plugins=plugins)
        self._kept = {
            key: own.ChatHistory.restore_chat_history(text) for key, text in (saved or {}).items()
        }

    def _thread(self, key: str) -> Any:
        return ChatHistoryAgentThread(self._kept.setdefault(key, own.ChatHistory()), thread_id=key)

    async def say(self, key: str, text: str) -> str:
        """Run once."""
        return str(await self._agent.get_response(messages=text, thread=self._thread(key)))

    async def stream(self, key: str, text: str) -> str:
        """Run once, streamed."""
        return "".join(
            [
                str(piece)
                async for piece in self._agent.invoke_stream(
                    messages=text, thread=self._thread(key)
                )
            ]
        )

    def conversation(self, key: str) -> Any:
        """Return the history."""
        return self._kept[key]

    def history(self, key: str) -> Sequence[str]:
        """Return what its messages say."""
        return [str(item) for message in self._kept[key] for item in message.items]

    def saved(self) -> Any:
        """Return the histories as JSON data."""
        return {key: history.serialize() for key, history in self._kept.items()}


class TestSemanticKernel(FrameworkTests):
    """Test the service that is wrapped."""

    distribution = "semantic-kernel"
    dialect = SemanticKernelDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return agents that ask it."""
        return SKAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a service and its plugin."""
        return {
            "model": Service(ai_model_id="fake", judge=judge),
            "plugins": [KernelPlugin.from_object("cellar", Cellar())],
        }


# --- what is Semantic Kernel's own ---------------------------------------------------


def asking(judge: Any = None, *, usage: Any = None, **options: Any) -> tuple[Any, Any]:
    """Return a service that is wrapped, and its judge."""
    judge = judge or Judge(SemanticKernelDialect(), "anthropic")
    return wrap(Service(ai_model_id="fake", judge=judge, usage=usage), **options), judge


class Eager:
    """Answer anything; what was sent stands in `sent`."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []

    def asked(self, messages: Sequence[Any]) -> Turn:
        """Answer."""
        self.sent.append([*messages])
        return Turn(Role.ASSISTANT, "Answer.")


def said(role: str, *items: Any, **more: Any) -> Any:
    """Return a message."""
    return own.ChatMessageContent(role=own.AuthorRole(role), items=[*items], **more)


def words(text: str) -> Any:
    """Return a text."""
    return own.TextContent(text=text)


def step(number: int, count: int) -> list[Any]:
    """Return a call and its result."""
    call = own.FunctionCallContent(id=f"c{number}", name="cellar-look", arguments={"at": number})
    result = own.FunctionResultContent(id=f"c{number}", name="cellar-look", result="jar " * count)
    return [said("assistant", words(f"Look {number}."), call), said("tool", result)]


def sent(messages: Sequence[Any], settings: Any = None, **options: Any) -> list[Any]:
    """Return what a service sends of a history, which it leaves alone."""
    service, eager = asking(Eager(), **options)
    history = own.ChatHistory(messages=[*messages])
    asyncio.run(service.get_chat_message_contents(history, settings or Settings()))
    assert [*map(id, history.messages)] == [*map(id, messages)]
    return list(eager.sent[-1])


def test_what_fits_is_the_very_messages() -> None:
    """Behind instructions; items that nobody knows with them, and nothing at all."""
    strange = [
        own.AnnotationContent(quote="q"),
        own.FileReferenceContent(file_id="f"),
        own.AudioContent(data=b"1", mime_type="audio/wav"),
    ]
    none = own.FunctionCallContent(id=None, name="cellar-look", arguments=None)
    messages = [
        said("system", words("Be brief.")),
        said("developer", words("Be kind.")),
        said("user", words("Look."), *strange),
    ]
    messages += [
        *step(1, 5),
        said("assistant", none),
        said("tool", own.FunctionResultContent(id="unknown", name="cellar-look")),
    ]
    messages += [
        said("assistant"),
        said("tool", words("lost")),
        said("user", *strange),
        said("user", words("And?")),
    ]
    assert [*map(id, sent(messages, model=50_000))] == [*map(id, messages)]
    assert sent(messages[:2], model=ROOM) == messages[:2]
    turns = [turn for message in messages[3:7] for turn in SemanticKernelDialect().read(message)]
    assert [
        (turn.name, [(call.name, call.arguments) for call in turn.tool_calls]) for turn in turns
    ] == [
        (None, [("cellar-look", '{"at": 1}')]),
        ("cellar-look", []),
        (None, [("cellar-look", "{}")]),
        ("cellar-look", []),
    ]


def test_many_windows_fit() -> None:
    """Every call keeps its result; instructions, demand and newest message stay."""
    messages = [said("system", words(SYSTEM)), said("user", words(f"Look. {DEMAND}"))]
    for number in range(120):
        messages += step(number, 250)
    out = sent(messages, model=1000)
    items = [item for message in out for item in message.items]
    called = [item.id for item in items if isinstance(item, own.FunctionCallContent)]
    assert called == [item.id for item in items if isinstance(item, own.FunctionResultContent)]
    assert out[0] is messages[0]
    assert out[-1] is messages[-1]
    assert DEMAND in str([*map(str, out[1:4])])
    assert len(out) < 40


def test_a_result_that_is_cut_keeps_its_name() -> None:
    """The other result of its message stands beside it."""
    calls = [own.FunctionCallContent(id=each, name="cellar-look", arguments="{}") for each in "ab"]
    results = [
        own.FunctionResultContent(id=each, name="cellar-look", result=text)
        for each, text in (("a", "jar " * 2000), ("b", "short"))
    ]
    out = sent(
        [said("user", words("Look.")), said("assistant", *calls), said("tool", *results)], model=900
    )
    assert [(item.id, item.name, len(item.result) < 4000) for item in out[-1].items] == [
        (each, "cellar-look", True) for each in "ab"
    ]
    assert out[-1].items[1].result == "short"


def test_pictures_count_and_are_written_again() -> None:
    """Those of an address too."""
    shown = own.ImageContent(data_uri=f"data:image/png;base64,{png(1024)}")
    addressed = said(
        "user", words("Which?"), shown, own.ImageContent(uri="https://example.org/plum.png")
    )
    (turn,) = SemanticKernelDialect().read(addressed)
    (again,) = SemanticKernelDialect().write([turn])
    assert [str(item) for item in again.items] == [str(item) for item in addressed.items]
    assert (
        len(sent([said("user", words(f"{number}?"), shown) for number in range(40)], model=ROOM))
        < 12
    )


def test_recordings_and_files_count_and_are_written_again() -> None:
    """In messages and in results of functions, with their data or an address."""
    pdf = b"%PDF-1.4\n" + b"".join(b"%d 0 obj<</Type /Page>>endobj\n" % n for n in range(2))
    shown: list[Any] = [
        (own.AudioContent(data=bytes(100_000), data_format="base64", mime_type="audio/mp3"), 500),
        (
            BinaryContent(data=pdf, data_format="base64", mime_type="application/pdf"),
            2 * PAGE_TOKENS,
        ),
        (BinaryContent(uri="https://example.org/plum.pdf"), PAGE_TOKENS),
        (own.FileReferenceContent(file_id="f"), PAGE_TOKENS),
        (own.AnnotationContent(file_id="f", quote="jar " * 500), 500),
    ]
    for item, least in shown:
        (turn,) = SemanticKernelDialect().read(said("user", words("Which?"), item))
        assert least <= count_turn(default_counter(), turn) < least * 1.1 + 300
        (again,) = SemanticKernelDialect().write([turn])
        assert [each.model_dump(mode="json") for each in again.items[1:]] == [
            item.model_dump(mode="json")
        ]
    found = own.FunctionResultContent(
        id="a", name="cellar-look", result=[words("Plums."), shown[1][0]]
    )
    (turn,) = SemanticKernelDialect().read(said("tool", found))
    assert turn.text == "Plums."
    assert 2 * PAGE_TOKENS <= count_turn(default_counter(), turn) < 2.1 * PAGE_TOKENS
    (again,) = SemanticKernelDialect().write([turn])
    assert [*SemanticKernelDialect().read(again)] == [turn]


def test_words_beside_results_are_a_turn() -> None:
    """They count, and are written again."""
    beside = said(
        "tool", own.FunctionResultContent(id="a", name="look", result="jar"), words("And?")
    )
    turns = [*SemanticKernelDialect().read(beside)]
    assert [(turn.role, turn.text) for turn in turns] == [(Role.TOOL, "jar"), (Role.USER, "And?")]


WRITTEN = [
    Turn(Role.SYSTEM, "Brief."),
    Turn(Role.ASSISTANT, "Look.", tool_calls=[ToolCall("c1", "cellar-look", '{"at": 1}')]),
    Turn(Role.TOOL, "jar", tool_call_id="c1", name="cellar-look"),
]


@pytest.mark.parametrize("turn", WRITTEN)
def test_what_is_written_is_read_again(turn: Turn) -> None:
    """As the same turn."""
    (native,) = SemanticKernelDialect().write([turn])
    assert [*SemanticKernelDialect().read(native)] == [turn]


def test_tools_instructions_and_the_reply_are_taken_off_the_room() -> None:
    """The tools, the instructions and the longest reply are subtracted from the budget."""
    messages = [said("user", words(f"{number}: look. " + "please " * 30)) for number in range(60)]
    tools = [
        {
            "type": "function",
            "function": {"name": "look", "description": "word " * 2000, "parameters": {}},
        }
    ]
    plain = len(sent(messages, model=ROOM))
    assert len(sent(messages, Settings(tools=tools), model=ROOM)) < plain
    assert len(sent(messages, Settings(max_tokens=2000), model=ROOM)) < plain
    assert len(sent([said("system", words("word " * 2000)), *messages], model=ROOM)) < plain


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_used_is_learnt(stream: bool) -> None:
    """If the provider counts more tokens than we do, less is sent."""

    def largest(usage: Any) -> int:
        service, judge = asking(usage=usage, model=ROOM)
        agent = assistant(service)
        history = own.ChatHistory()

        async def talk() -> None:
            for number in range(12):
                task, thread = f"{number}: look. " + "please " * 60, ChatHistoryAgentThread(history)
                if stream:
                    assert [piece async for piece in agent.invoke_stream(task, thread=thread)]
                else:
                    await agent.get_response(task, thread=thread)

        asyncio.run(talk())
        return int(judge.largest)

    assert largest(CompletionUsage(prompt_tokens=3500, completion_tokens=5)) < 0.8 * largest(None)


def test_a_thread_may_be_named(tmp_path: Any) -> None:
    """A thread id in the settings names the conversation.

    Without one, a conversation is recognised by its first messages, whatever its instructions are.
    """
    store = SQLiteStore(tmp_path / "s.db")
    service, eager = asking(Eager(), model=ROOM, store=store)

    async def talk() -> None:
        for place in range(3):
            agent = assistant(service, instructions=f"{SYSTEM} It is {place} o'clock.")
            await agent.get_response(f"{place}?", thread=ChatHistoryAgentThread(history))
            arguments = KernelArguments(settings=Settings(extension_data={"thread_id": "k1"}))
            await agent.get_response(
                f"{place}?", thread=ChatHistoryAgentThread(named), arguments=arguments
            )

    history, named = own.ChatHistory(), own.ChatHistory()
    asyncio.run(talk())
    assert len(store.list_sessions()) == 2
    assert "k1" in store.list_sessions()
    assert [str(messages[0])[-10] for messages in eager.sent] == [*"001122"]
    store.close()


def test_many_conversations_at_once_and_some_cancelled() -> None:
    """One service serves them all; who is cancelled goes on."""
    service, judge = asking(model=ROOM)
    agent = assistant(service)

    async def talk(number: int) -> None:
        history = own.ChatHistory()
        for again in range(8):
            task = asyncio.create_task(
                agent.get_response(
                    f"{number} {again}: look. " + "please " * 60,
                    thread=ChatHistoryAgentThread(history),
                )
            )
            for _ in range(again * number):
                await asyncio.sleep(0)
            if again % 3 == 1:
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await agent.get_response(f"{number} last: look.", thread=ChatHistoryAgentThread(history))

    async def main() -> None:
        await asyncio.gather(*map(talk, range(5)))

    asyncio.run(main())
    assert judge.largest <= ROOM
    for turns in judge.sent:
        assert (
            len(
                {
                    turn.text[0]
                    for turn in turns
                    if turn.role is Role.USER and "look." in turn.text and turn.text[0].isdigit()
                }
            )
            == 1
        )
    assert sum("last" in str(turns) for turns in judge.sent) == 10


def test_what_cannot_be_is_refused() -> None:
    """An object that is no service, and a history that reduces itself, are rejected."""
    with pytest.raises(InvalidOptionError, match=r"^service = "):
        wrap("gpt-5", ROOM)
    service, _ = asking(Eager(), model=ROOM)
    history = own.ChatHistoryTruncationReducer(target_count=5, auto_reduce=True)
    with pytest.raises(InvalidOptionError, match=r"^chat_history = .*auto_reduce=False"):
        asyncio.run(service.get_chat_message_contents(history, Settings()))


def test_the_last_wrapping_counts() -> None:
    """The type stays, and the service that was wrapped is left alone."""
    eager = Eager()
    plain = Service(ai_model_id="fake", judge=eager)
    twice = wrap(wrap(plain, 500), ROOM)
    messages = [said("user", words(f"{number}: look. " + "please " * 30)) for number in range(30)]
    for service in (plain, wrap(plain, ROOM), twice):
        asyncio.run(
            service.get_chat_message_contents(own.ChatHistory(messages=[*messages]), Settings())
        )
    assert type(twice) is Service
    assert [len(each) for each in eager.sent] == [30, len(eager.sent[2]), len(eager.sent[2])]
    assert "_inner_get_chat_message_contents" not in str(twice.model_dump(exclude={"judge"}))
