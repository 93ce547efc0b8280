"""Compaction by the vendors, through their own SDKs and strict providers over loopback HTTP."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from polycontext import ContextSession
from polycontext.models import AnthropicCompaction, OpenAICompaction
from polycontext.pressure.native import prefix_plan
from polycontext.testing.strict import StrictServer, overloaded
from polycontext.testing.strict.provider import Faults
from polycontext.window import Part, ToolCall, Turn
from polycontext.window.part import PartKind
from tests.polynomial.conversations import text_of
from tests.vendors import StrictAnthropic, StrictResponses

TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]
WORDS = "three jars of plums stand on the shelf. " * 12


def talked(session: ContextSession, exchanges: int = 4) -> ContextSession:
    """Return `session` after some exchanges."""
    session.add_system("Be brief.")
    session.add_user_turn("Count the jars.")
    for number in range(exchanges):
        session.add_assistant_turn("I look.", [ToolCall(f"toolu_{number}", "look", "{}")])
        session.add_tool_turn(f"{number}: {WORDS}", tool_call_id=f"toolu_{number}")
    session.add_assistant_turn("Twelve jars.")
    session.add_user_turn("And the lids?")
    return session


def half(session: ContextSession) -> Any:
    """Return the plan by which half is left."""
    return prefix_plan(session.window, session.window.total_tokens // 2)


class Server:
    """Serve both vendors; `summary` is what Anthropic's says, `heard` are the requests for one."""

    def __init__(self) -> None:
        self.summary: str | None = "They counted twelve jars."
        self.heard: list[Any] = []
        self.claude = StrictAnthropic(
            lambda _: [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Ten."}],
            summary=self._says,
        )
        self.gpt = StrictResponses(lambda _: "Ten.")

    def _says(self, request: Any) -> str | None:
        self.heard.append(request)
        return self.summary


@pytest.fixture
def vendors() -> Iterator[tuple[Server, str]]:
    """Yield what serves both vendors, and its address."""
    server = Server()
    with StrictServer((server.claude, server.gpt)) as http:
        yield server, http.url


@pytest.fixture
def claude(vendors: tuple[Server, str]) -> Iterator[anthropic.Anthropic]:
    """Yield Anthropic's SDK."""
    with anthropic.Anthropic(api_key="none", base_url=vendors[1], max_retries=0) as client:
        yield client


@pytest.fixture
def gpt(vendors: tuple[Server, str]) -> Iterator[openai.OpenAI]:
    """Yield OpenAI's SDK."""
    with openai.OpenAI(api_key="none", base_url=f"{vendors[1]}/v1", max_retries=0) as client:
        yield client


def asked(client: anthropic.Anthropic, session: ContextSession, **further: Any) -> Any:
    """Return Anthropic's answer to the session's request, which is taken in."""
    request = session.request("anthropic")
    options: Any = {"betas": [], **request.options, **further}
    create: Any = client.beta.messages.create
    answer = create(
        model="claude",
        max_tokens=500,
        system=list(request.system),
        messages=request.messages,
        tools=TOOLS,
        **options,
    )
    session.extend([{"role": "assistant", "content": answer.content}], "anthropic")
    return answer


def test_anthropic_summarises_what_the_session_sends_and_goes_on_behind_it(
    vendors: tuple[Server, str], claude: anthropic.Anthropic
) -> None:
    """The request is the prefix of the session's own; what was thought since stays valid."""
    session = talked(ContextSession(max_tokens=100_000))
    asked(claude, session)
    session.add_user_turn("And the labels?")
    plan = half(session)
    fulfilment = AnthropicCompaction(claude, "claude").fulfil(plan, tools=TOOLS)
    (request,) = vendors[0].heard
    sent = session.request("anthropic")
    assert request["messages"] == sent.messages[: len(request["messages"])]
    assert (request["system"], request["tools"]) == (list(sent.system), TOOLS)
    output = session.background.commit(fulfilment)
    assert output.refused == ()
    assert output.compression is not None
    assert output.compression.reached
    block = session.request("anthropic").messages[0]
    assert block["role"] == "assistant"
    assert block["content"][0]["content"] == "They counted twelve jars."
    assert not asked(claude, session).to_dict().get("input_transformations")
    assert sum(part.is_bound for turn in session.window.all_turns() for part in turn.parts) == 2


def test_openai_compacts_and_goes_on_behind_its_item(gpt: openai.OpenAI) -> None:
    """User messages before the compaction item stay as the vendor asks, without repetitions."""
    session = talked(ContextSession(max_tokens=100_000))
    session.add_assistant_turn("Nine.")
    session.add_user_turn("And the labels?")
    output = session.background.commit(
        OpenAICompaction(gpt, "gpt-5.6").fulfil(
            prefix_plan(session.window, 150), reading=session.conversation.reading
        )
    )
    assert output.refused == ()
    items: Any = session.messages("openai-responses")
    kinds = [item.get("type", item.get("role")) for item in items]
    assert kinds[: kinds.index("compaction") + 2] in (
        ["message", "compaction", "system"],
        ["compaction", "system"],
    )
    response = gpt.responses.create(model="gpt-5.6", input=items, store=False)
    assert response.output_text == "Ten."


def test_both_ask_without_blocking(vendors: tuple[Server, str]) -> None:
    """A turn that comes meanwhile stays behind what they wrote."""

    async def ask(vendor: str) -> ContextSession:
        session = talked(ContextSession(max_tokens=100_000))
        plan = half(session)
        if vendor == "anthropic":
            async with anthropic.AsyncAnthropic(
                api_key="none", base_url=vendors[1], max_retries=0
            ) as client:
                fulfilment = await AnthropicCompaction(client, "claude").afulfil(plan, tools=TOOLS)
        else:
            async with openai.AsyncOpenAI(
                api_key="none", base_url=f"{vendors[1]}/v1", max_retries=0
            ) as client:
                fulfilment = await OpenAICompaction(client, "gpt-5.6").afulfil(plan)
        session.add_assistant_turn("Ten lids.")
        assert (await session.background.acommit(fulfilment)).refused == ()
        return session

    for vendor in ("anthropic", "openai-responses"):
        session = asyncio.run(ask(vendor))
        assert session.request(vendor).messages
        assert session.window.all_turns()[-1].text == "Ten lids."


def test_a_summary_that_failed_changes_nothing_and_says_why(
    vendors: tuple[Server, str], claude: anthropic.Anthropic
) -> None:
    """No content, a refusal, an error, an unfinished answer, a lost line; the same of OpenAI's."""
    server, session = vendors[0], talked(ContextSession(max_tokens=100_000))
    plan, compaction, before = half(session), AnthropicCompaction(claude, "claude"), session.window
    server.summary = None
    failures = [compaction.fulfil(plan, tools=TOOLS)]
    server.claude.faults = Faults({1: overloaded()})
    failures += [
        compaction.fulfil(plan, tools=TOOLS),
        AnthropicCompaction(object(), "claude").fulfil(plan),
    ]
    for answer in (
        {"stop_reason": "refusal", "content": []},
        {"stop_reason": "end_turn", "content": [{"type": "text", "text": "They counted."}]},
        {"stop_reason": "compaction", "content": []},
        {
            "stop_reason": "compaction",
            "content": [{"type": "compaction", "content": "", "signature": "x"}],
        },
        None,
    ):
        failures.append(AnthropicCompaction(Answering(answer), "claude").fulfil(plan))
    told = [
        "holds no content",
        "OverloadedError",
        "AttributeError",
        "'refusal'",
        "'end_turn'",
        "holds no summary",
        "holds no content",
        "answered nothing",
    ]
    for failure, why in zip(failures, told, strict=True):
        for fallback in (False, True):
            (refused,) = session.background.commit(failure, fallback=fallback).refused
            assert why in refused.reason
            assert session.window == before
    answers: list[Any] = [
        {"output": []},
        {"output": [{"type": "message"}]},
        {"output": [{"type": "compaction", "encrypted_content": ""}]},
        None,
    ]
    for given in answers:
        assert session.background.commit(
            OpenAICompaction(Answering(given), "gpt").fulfil(plan)
        ).refused
    assert session.window == before


def test_what_the_requests_have_besides_is_sent_too(
    vendors: tuple[Server, str], claude: anthropic.Anthropic
) -> None:
    """Extra request fields are sent, and custom instructions replace the vendor's."""
    session = talked(ContextSession(max_tokens=100_000))
    thinking = {"thinking": {"type": "adaptive"}, "betas": ["thinking-binding-controls-2026-08-01"]}
    compaction = AnthropicCompaction(claude, "claude", instructions="In French.", further=thinking)
    assert (
        session.background.commit(
            compaction.fulfil(half(session), tools=TOOLS, system="You are an agent.")
        ).refused
        == ()
    )
    (request,) = vendors[0].heard
    assert request["compaction"] == {"type": "summarize", "instructions": "In French."}
    assert request["thinking"] == thinking["thinking"]
    assert [block["text"] for block in request["system"]] == ["You are an agent.", "Be brief."]


class Answering:
    """Answer whatever is asked with the same data, as a client of either vendor."""

    def __init__(self, answer: Any) -> None:
        self.beta = self.messages = self.responses = self
        self.create = self.compact = lambda **_: answer


def test_a_part_that_stands_for_the_words_is_stored_with_the_turn() -> None:
    """And a session that holds one is read again as it was."""
    session = talked(ContextSession(max_tokens=100_000))
    answer: dict[str, Any] = {
        "stop_reason": "compaction",
        "content": [{"type": "compaction", "content": "Jars.", "signature": "c2ln"}],
        "usage": {"output_tokens": 40},
    }
    session.background.commit(
        AnthropicCompaction(Answering(answer), "claude").fulfil(half(session))
    )
    again = ContextSession.history.load(text_of(session))
    assert again.window == session.window
    gist: Turn = again.window.all_turns()[1]
    assert gist.parts == (
        Part("anthropic", json.dumps(answer["content"][0], separators=(",", ":")), PartKind.NATIVE),
    )
