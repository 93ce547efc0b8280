"""Agents of llama-index."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextOverflowError
from polycontext.window import Role, ToolCall, Turn, count_turn, default_counter
from polycontext.window.tokens.media_rules import FILM_TOKENS, PAGE_TOKENS
from tests.adapters.frameworks.conversation import SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms import types as own
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool

from polycontext.adapters.llama_index import ContextMemory, LlamaIndexDialect, wrap

# Its agents look at every attribute that they have, also at those that pydantic would rather have
# forgotten.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:inspect")


def _answer(turn: Turn) -> own.ChatMessage:
    """Return an answer as an integration of llama-index makes it."""
    thoughts = [json.loads(part.data) for part in turn.parts]
    blocks: list[Any] = [
        own.ThinkingBlock(
            content=t["thinking"], additional_information={"signature": t["signature"]}
        )
        for t in thoughts
    ]
    blocks += [own.TextBlock(text=turn.text)] if turn.text else []
    blocks += [
        own.ToolCallBlock(tool_call_id=c.id, tool_name=c.name, tool_kwargs=json.loads(c.arguments))
        for c in turn.tool_calls
    ]
    return own.ChatMessage(role="assistant", blocks=blocks)


async def _pieces(judge: Judge, messages: Any) -> AsyncIterator[own.ChatMessage]:
    answer = _answer(judge.asked(messages))
    for stop in range(1, len(answer.blocks) + 1):
        yield own.ChatMessage(role="assistant", blocks=answer.blocks[:stop])


def _look() -> FunctionTool:
    return FunctionTool.from_defaults(found, name="look", description="Look something up.")


class LlamaIndexAgent(Agent):
    """Keep a memory for each conversation, as users of llama-index do."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        def reply(messages: list[own.ChatMessage], **_: Any) -> own.ChatMessage:
            return _answer(judge.asked(messages))

        made: dict[bool, Any] = {
            streaming: wrap(MockFunctionCallingLLM(response_generator=generator), **options)
            for streaming, generator in (
                (False, reply),
                (True, lambda messages, **_: _pieces(judge, messages)),
            )
        }
        self.adapter = made[False]
        self._agents = {
            streaming: FunctionAgent(
                llm=llm,
                tools=[_look(), *(llm.recall_tools if judge.script.query else [])],
                system_prompt=SYSTEM,
                streaming=streaming,
            )
            for streaming, llm in made.items()
        }
        before = {
            key: [own.ChatMessage.model_validate(each) for each in messages]
            for key, messages in (saved or {}).items()
        }
        self._memories = {key: ContextMemory.from_defaults(before.get(key)) for key in "AB"}

    async def say(self, key: str, text: str) -> str:
        """Run once."""
        return await self._run(key, text, streaming=False)

    async def stream(self, key: str, text: str) -> str:
        """Run once, streamed."""
        return await self._run(key, text, streaming=True)

    async def _run(self, key: str, text: str, *, streaming: bool) -> str:
        output = await self._agents[streaming].run(
            text, memory=self._memories[key], max_iterations=1000
        )
        return str(output.response.content)

    def conversation(self, key: str) -> Any:
        """Return the messages."""
        return self._memories[key].get_all()

    def history(self, key: str) -> Sequence[str]:
        """Return what its memory says."""
        return [message.content or "" for message in self._memories[key].get_all()]

    def saved(self) -> Any:
        """Return the messages as JSON data."""
        return {
            key: [message.model_dump(mode="json") for message in memory.get_all()]
            for key, memory in self._memories.items()
        }


class TestLlamaIndex(FrameworkTests):
    """Test the LLM that is wrapped, and the memory beside it."""

    distribution = "llama-index-core"
    dialect = LlamaIndexDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent that has both."""
        return LlamaIndexAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""
        model = MockFunctionCallingLLM(
            response_generator=lambda messages, **_: _pieces(judge, messages)
        )
        return {"model": model, "tools": [_look()]}


def _llm(asked: list[Any], *answers: Any, **fields: Any) -> Any:
    """Return a fake LLM that records its requests and returns or raises the given `answers`."""
    left = [*answers]

    def reply(messages: Sequence[own.ChatMessage], **_: Any) -> own.ChatMessage:
        asked.append(messages)
        answer = left.pop(0) if left else "Yes."
        if isinstance(answer, BaseException):
            raise answer
        return own.ChatMessage(role="assistant", content=answer)

    return MockFunctionCallingLLM(response_generator=reply, **fields)


def _long(number: int, words: str = "please ") -> list[own.ChatMessage]:
    """Return a conversation."""
    roles = ("user", "assistant")
    return [
        own.ChatMessage(role=roles[place % 2], content=f"{place}: " + words * 20)
        for place in range(number)
    ]


@pytest.mark.parametrize("form", ["chat", "stream_chat", "achat", "astream_chat"])
def test_every_way_to_chat_fits(form: str) -> None:
    """Synchronous or not, streamed or not; the system prompt stays in front, as it is."""
    asked: list[Any] = []
    llm = wrap(_llm(asked), 1000)
    system = own.ChatMessage(role="system", content="You keep a cellar.")
    messages = [system, *_long(4001 if form == "chat" else 201)]
    if form == "chat":
        said = llm.chat(messages).message
    elif form == "stream_chat":
        said = [*llm.stream_chat(messages)][-1].message
    elif form == "achat":
        said = asyncio.run(llm.achat(messages)).message
    else:

        async def streamed() -> Any:
            return [each async for each in await llm.astream_chat(messages)][-1].message

        said = asyncio.run(streamed())
    assert said.content == "Yes."
    (sent,) = asked
    assert sent[0] is system
    assert sent[-1] is messages[-1]
    assert len(sent) < 40


def test_the_type_and_the_settings_are_those_of_the_llm() -> None:
    """A wrapped LLM keeps its type and settings, also settings that change later.

    An LLM that is wrapped twice is fitted once, to the last window.
    """
    asked: list[Any] = []
    own_llm = _llm(asked)
    wrapped = wrap(own_llm, 100_000)
    again = wrap(wrapped, 1000)
    assert isinstance(again, MockFunctionCallingLLM)
    assert again.class_name() == own_llm.class_name()
    again.is_chat_model = True
    assert own_llm.metadata.is_chat_model
    again.chat(_long(401))
    assert len(asked[0]) < 40


def test_what_is_no_llm_is_refused() -> None:
    """In words, when it is wrapped."""
    with pytest.raises(InvalidOptionError, match=r"^llm = 'gpt-5'"):
        wrap("gpt-5")


def test_what_a_request_needs_besides_is_taken_off() -> None:
    """Its tools, of llama-index or of a vendor, and the longest reply."""
    asked: list[Any] = []
    plain, messages = (
        FunctionTool.from_defaults(found, name="look", description="Look something up. " * 300),
        _long(201),
    )
    theirs = {"name": "look", "input_schema": {"description": "Look. " * 600}}
    wrap(_llm(asked), 3000).chat(messages)
    wrap(_llm(asked), 3000).chat_with_tools([plain], chat_history=messages)
    wrap(_llm(asked), 3000).chat(messages, tools=[theirs, object()], max_tokens=800)
    free, tooled, both = (sum(len(each.content) for each in sent) for sent in asked)
    assert both < tooled < free
    with pytest.raises(ContextOverflowError, match="a reply of up to"):
        wrap(_llm(asked), 3000).chat(messages, max_tokens=3000)


def test_pictures_count_and_other_blocks_stay() -> None:
    """Pictures count, and unknown blocks are sent as the same objects."""
    asked: list[Any] = []
    llm = wrap(_llm(asked), 20_000)
    png = b"\x89PNG\r\n\x1a\n" + bytes(64)
    blocks = [
        own.TextBlock(text="What are these?"),
        own.ImageBlock(url="https://example.org/plum.png"),
        own.ImageBlock(image=png, image_mimetype="image/png"),
        own.ImageBlock(image=BytesIO(png), image_mimetype="image/png"),
        own.DocumentBlock(data=b"plums", document_mimetype="text/plain"),
        own.CachePoint(cache_control=own.CacheControl(type="ephemeral")),
    ]
    asks = own.ChatMessage(role="user", blocks=blocks)
    nothing = own.ChatMessage(role="assistant", content=None)
    llm.chat([asks, nothing, own.ChatMessage(role="user", content="")])
    assert asked[0][0] is asks
    assert asked[0][1] is nothing
    (piece,) = LlamaIndexDialect().split([asks])
    assert [part.type for part in piece.turn.parts] == [
        *["image_url"] * 3,
        "document",
        "cache",
    ]
    (anew,) = LlamaIndexDialect().write([piece.turn])
    assert [block.block_type for block in anew.blocks] == [
        "text",
        *["image"] * 3,
        "document",
        "cache",
    ]
    assert [each.turn.parts for each in LlamaIndexDialect().split([anew])] == [piece.turn.parts]


def _tokens(*blocks: Any) -> int:
    """Return what a message of these blocks counts."""
    (piece,) = LlamaIndexDialect().split([own.ChatMessage(role="user", blocks=[*blocks])])
    (anew,) = LlamaIndexDialect().write([piece.turn])
    assert anew.blocks == [*blocks]
    return count_turn(default_counter(), piece.turn)


def test_documents_recordings_and_citable_words_count(tmp_path: Path) -> None:
    """Of a document its pages, of a recording its seconds, and of citable content its parts."""
    pdf = b"%PDF-1.4\n" + b"".join(b"%d 0 obj<</Type /Page>>endobj\n" % n for n in range(3))
    document = own.DocumentBlock(data=pdf, document_mimetype="application/pdf", title="a.pdf")
    assert _tokens(document) >= 3 * PAGE_TOKENS
    assert _tokens(own.DocumentBlock(url="https://example.org/a.pdf")) >= PAGE_TOKENS
    assert 500 < _tokens(own.AudioBlock(audio=bytes(100_000), format="mp3")) < 1_000
    assert _tokens(own.VideoBlock(url="https://example.org/a.mp4")) >= FILM_TOKENS
    (tmp_path / "plums.txt").write_text("jar " * 500)
    inside = own.CitableBlock(
        title="T", source="s", content=[own.TextBlock(text="plums " * 500), document]
    )
    assert _tokens(inside) >= 3 * PAGE_TOKENS + 500
    cited = own.CitationBlock(
        cited_content=own.TextBlock(text="plums " * 500),
        source="s",
        title="T",
        additional_location_info={},
    )
    assert _tokens(cited) >= 500
    there = own.DocumentBlock(path=tmp_path / "plums.txt", document_mimetype="text/plain")
    (piece,) = LlamaIndexDialect().split([own.ChatMessage(role="user", blocks=[there])])
    assert 500 < count_turn(default_counter(), piece.turn) < 1_000


@pytest.mark.parametrize(
    ("kwargs", "answers"),
    [
        (
            {"tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]},
            {"tool_call_id": "c1"},
        ),
        ({"tool_calls": [{"id": "c1", "name": "look", "input": {}}]}, {"tool_call_id": "c1"}),
        ({"function_call": {"name": "look", "arguments": "{}"}}, {"name": "look"}),
    ],
)
def test_calls_of_older_histories_keep_their_results(kwargs: Any, answers: Any) -> None:
    """They stand beside the blocks of a message, in the form of the vendor."""
    role = "tool" if "tool_call_id" in answers else "function"
    messages = [
        *_long(1)[:1],
        own.ChatMessage(role="assistant", content=None, additional_kwargs=kwargs),
        own.ChatMessage(role=role, content="plums", additional_kwargs=answers),
    ]
    asked: list[Any] = []
    wrap(_llm(asked), 3000).chat(messages)
    assert [*asked[0]] == messages
    turns = [piece.turn for piece in LlamaIndexDialect().split(messages)]
    assert [(call.name, call.arguments) for call in turns[1].tool_calls] == [("look", "{}")]


def test_a_result_that_nobody_gave_names_its_call_and_its_tool() -> None:
    """A process that ended before the result leaves a call without one."""
    call = own.ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={})
    messages = [*_long(1)[:1], own.ChatMessage(role="assistant", blocks=[call]), *_long(2)[:1]]
    asked: list[Any] = []
    wrap(_llm(asked), 3000).chat(messages)
    assert asked[0][2].additional_kwargs == {"tool_call_id": "c1", "name": "look"}


def test_calls_that_are_known_by_their_tool_alone_keep_their_results() -> None:
    """Two calls of one tool without ids are matched to their results by order."""
    calls = [own.ToolCallBlock(tool_name="look", tool_kwargs={"at": at}) for at in "ab"]
    results = [
        own.ChatMessage(
            role="tool", content=f"found {at}", additional_kwargs={"tool_call_id": "look"}
        )
        for at in "ab"
    ]
    messages = [_long(1)[0], own.ChatMessage(role="assistant", blocks=calls), *results]
    asked: list[Any] = []
    wrap(_llm(asked), 3000).chat(messages)
    assert [*asked[0]] == messages
    turns = [piece.turn for piece in LlamaIndexDialect().split(messages)]
    assert (
        [call.id for call in turns[1].tool_calls]
        == [turn.tool_call_id for turn in turns[2:]]
        == ["look", "look~2"]
    )
    (anew,) = LlamaIndexDialect().write([turns[3]])
    assert anew == results[1]


def test_calls_are_written_as_they_came() -> None:
    """With arguments that are an object, and with those that are none."""
    turn = Turn(
        Role.ASSISTANT,
        "So.",
        tool_calls=[ToolCall("1", "look", '{"at": "a"}'), ToolCall("2", "look", "Paris")],
    )
    (message,) = LlamaIndexDialect().write([turn])
    assert [block.tool_kwargs for block in message.blocks[1:]] == [{"at": "a"}, "Paris"]
    assert [piece.turn for piece in LlamaIndexDialect().split([message])] == [turn]


def test_the_memory_hands_out_copies() -> None:
    """An agent with a state writes it into the last message: what is kept stays as it was said."""
    asked: list[Any] = []
    memory = ContextMemory.from_defaults(_long(2))
    agent = FunctionAgent(llm=wrap(_llm(asked), 4000), initial_state={"jars": 7}, streaming=False)

    async def run() -> None:
        await agent.run("How many?", memory=memory)

    asyncio.run(run())
    assert "'jars': 7" in str(asked[0][-1])
    assert "jars" not in str(memory.get_all())
    assert memory.get(input="How many?", initial_token_count=5) == memory.get_all()
    memory.reset()
    assert memory.get() == []
