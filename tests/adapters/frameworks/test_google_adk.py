"""Agents of Google's ADK."""

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from polycontext.adapters import Bridge
from polycontext.base import InvalidOptionError
from polycontext.base.errors import is_installed
from polycontext.window import Role
from tests.adapters.frameworks.conversation import SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge
from tests.strict.script import png

if not is_installed("google.adk"):
    pytest.skip("no google.adk", allow_module_level=True)

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types
from pydantic import Field

from polycontext.adapters.google_adk import ContextPlugin, GoogleADKDialect


class JudgedLlm(BaseLlm):
    """Say what a judge says."""

    judge: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        """Answer once; streamed, a piece of the words first."""
        said = self.judge.asked(llm_request.contents, llm_request.config.system_instruction)
        thoughts = [json.loads(part.data) for part in said.parts]
        parts = [
            types.Part(
                text=each["thinking"], thought=True, thought_signature=each["signature"].encode()
            )
            for each in thoughts
        ]
        parts += [types.Part(text=said.text)] if said.text else []
        parts += [
            types.Part.from_function_call(name=call.name, args=json.loads(call.arguments))
            for call in said.tool_calls
        ]
        if stream and said.text:
            yield LlmResponse(
                content=types.Content(role="model", parts=[types.Part(text=said.text[:3])]),
                partial=True,
            )
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def look(at: str) -> str:
    """Look something up."""
    return found(at)


class ADKAgent(Agent):
    """Keep sessions in the service of a runner."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        self.adapter = ContextPlugin(**options)
        agent = LlmAgent(
            name="keeper",
            model=JudgedLlm(model="judged", judge=judge),
            instruction=SYSTEM,
            tools=[look, *(self.adapter.recall_tools if judge.script.query else [])],
        )
        self.sessions: Any = InMemorySessionService()
        app = App(name="cellar", root_agent=agent, plugins=[self.adapter])
        self._runner = Runner(app=app, session_service=self.sessions)
        self._saved = saved or {}
        self._kept: dict[str, Session] = {}

    async def say(self, key: str, text: str, mode: StreamingMode = StreamingMode.NONE) -> str:
        """Run once, in the session of that id."""
        if await self.sessions.get_session(app_name="cellar", user_id="u", session_id=key) is None:
            made = await self.sessions.create_session(
                app_name="cellar", user_id="u", session_id=key
            )
            for event in self._saved.get(key, ()):
                await self.sessions.append_event(made, Event.model_validate(event))
        message = types.Content(role="user", parts=[types.Part(text=text)])
        answer = ""
        run = self._runner.run_async(
            user_id="u",
            session_id=key,
            new_message=message,
            run_config=RunConfig(streaming_mode=mode),
        )
        async for event in run:
            if event.is_final_response() and not event.partial:
                answer = "".join(
                    part.text or "" for part in event.content.parts if not part.thought
                )
        self._kept[key] = await self.sessions.get_session(
            app_name="cellar", user_id="u", session_id=key
        )
        return answer

    def conversation(self, key: str) -> str:
        """Return the names of app, user, session and agent."""
        return f"cellar/u/{key}/keeper"

    async def stream(self, key: str, text: str) -> str:
        """Run once, streamed."""
        return await self.say(key, text, StreamingMode.SSE)

    def history(self, key: str) -> Sequence[str]:
        """Return what the events say."""
        parts = (part for event in self._kept[key].events for part in event.content.parts)
        return [
            str(part.function_response.response) if part.function_response else part.text or ""
            for part in parts
        ]

    def saved(self) -> Any:
        """Return the events as JSON data."""
        return {
            key: session.model_dump(mode="json", exclude_none=True)["events"]
            for key, session in self._kept.items()
        }


class TestGoogleADK(FrameworkTests):
    """Test the plugin."""

    distribution = "google-adk"
    dialect = GoogleADKDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent whose app has it."""
        return ADKAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""
        return {"model": JudgedLlm(model="judged", judge=judge), "tools": [look]}


class Reply(BaseLlm):
    """Say the next of some answers, and remember the requests."""

    answers: list[Any]
    requests: list[Any] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        """Answer once."""
        self.requests.append(llm_request.model_copy(deep=True))
        parts = self.answers.pop(0)
        parts = [types.Part(text=parts)] if isinstance(parts, str) else parts
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def _runner(agent: LlmAgent, plugin: ContextPlugin, **settings: Any) -> Runner:
    app = App(name="cellar", root_agent=agent, plugins=[plugin], **settings)
    return Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)


async def _ask(runner: Runner, key: str, *parts: Any) -> list[Event]:
    message = types.Content(
        role="user",
        parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts],
    )
    return [
        event async for event in runner.run_async(user_id="u", session_id=key, new_message=message)
    ]


def _call(name: str, **fields: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args={}), **fields)


def _result(name: str, said: str, **fields: Any) -> types.Part:
    return types.Part(
        function_response=types.FunctionResponse(name=name, response={"result": said}, **fields)
    )


def test_results_find_their_calls_by_name_and_order() -> None:
    """Results without ids match their calls by name and order, even where some were removed."""
    shown = types.FunctionResponsePart(
        inline_data=types.FunctionResponseBlob(mime_type="image/png", data=b64decode(png(64)))
    )
    contents = [
        types.Content(role="user", parts=[types.Part(text="Look.")]),
        types.Content(
            role="model",
            parts=[_call("look", thought_signature=b"\xff1"), _call("taste"), _call("look")],
        ),
        types.Content(
            role="user",
            parts=[
                _result("taste", "sweet", parts=[shown]),
                _result("look", "jar " * 9_000),
                _result("look", "two"),
            ],
        ),
    ]
    turns = [piece.turn for piece in GoogleADKDialect().split(contents)]
    assert [(turn.text[:4], turn.tool_call_id) for turn in turns[2:]] == [
        ("swee", "by-order:1:taste"),
        ("jar ", "by-order:0:look"),
        ("two", "by-order:2:look"),
    ]
    bridge = Bridge(GoogleADKDialect(), model=20_000)
    assert all(sent is given for sent, given in zip(bridge.fit(contents), contents, strict=True))
    (written,) = GoogleADKDialect().write(turns[2:])
    assert written == contents[2]
    sent = Bridge(GoogleADKDialect(), model=8_000).fit(contents)
    assert len(sent) == 3
    assert all(sent[place] is contents[place] for place in (0, 1))
    sweet, cut, two = (part.function_response for part in sent[2].parts)
    left_out = "[image/png, 64 x 64, left out; recall t3]"
    assert (sweet.response, sweet.parts) == ({"result": f"sweet\n{left_out}"}, None)
    assert (cut.id, cut.name, two.response) == (None, "look", {"result": "two"})
    assert cut.response["result"].startswith("[Cut; ")


def test_ids_are_kept_where_there_are_any() -> None:
    """Ids pair results with calls in any order, and rewritten contents keep them."""
    calls = [
        types.FunctionCall(id=f"toolu_{side}", name="look", args={"at": side}) for side in "ab"
    ]
    answers = [
        types.FunctionResponse(id=f"toolu_{side}", name="look", response={"at": side})
        for side in "ba"
    ]
    contents = [
        types.Content(role="model", parts=[types.Part(function_call=call) for call in calls]),
        types.Content(
            role="user", parts=[types.Part(function_response=answer) for answer in answers]
        ),
    ]
    turns = [piece.turn for piece in GoogleADKDialect().split(contents)]
    assert [turn.tool_call_id for turn in turns[1:]] == ["toolu_b", "toolu_a"]
    (written,) = GoogleADKDialect().write(turns[1:])
    assert [part.function_response.id for part in written.parts] == ["toolu_b", "toolu_a"]
    *_, written = GoogleADKDialect().write(turns[:1])
    assert written == contents[0]


def test_what_nobody_here_knows_stays_with_its_content() -> None:
    """Rewritten contents keep unknown parts, and calls keep their thought signatures."""
    parts = [
        types.Part(text="Let me see.", thought=True),
        types.Part(
            executable_code=types.ExecutableCode(code="1 + 1", language=types.Language.PYTHON)
        ),
        types.Part(inline_data=types.Blob(mime_type="audio/wav", data=b"RIFF\xff")),
        types.Part(
            file_data=types.FileData(mime_type="application/pdf", file_uri="gs://cellar/plums.pdf")
        ),
        types.Part(thought_signature=b"\xfe"),
        types.Part(text=""),
        _call("look", thought_signature=b"\xff"),
    ]
    model = types.Content(role="model", parts=parts)
    contents = [
        types.Content(role="user"),
        model,
        types.Content(parts=[_result("look", "lost"), types.Part(text="And?"), _call("mine")]),
    ]
    turns = [piece.turn for piece in GoogleADKDialect().split(contents)]
    assert [turn.role for turn in turns] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER]
    *_, written = GoogleADKDialect().write([turns[1]])
    assert written.parts == [part for part in parts if part.text != ""]
    (written,) = GoogleADKDialect().write(turns[3:])
    assert written == types.Content(role="user", parts=[types.Part(text="And?"), _call("mine")])


def test_system_prompt_tools_and_reply_are_taken_off_the_room() -> None:
    """The system prompt, the tools and the longest reply are subtracted from the budget."""

    def sent(**settings: Any) -> int:
        model = Reply(model="reply", answers=["Yes. " * 40] * 14)
        runner = _runner(LlmAgent(name="keeper", model=model, **settings), ContextPlugin(1_600))

        async def talk() -> None:
            for number in range(14):
                await _ask(runner, "A", f"{number}: " + "plums, " * 40)

        asyncio.run(talk())
        return sum(len(request.contents) for request in model.requests)

    def described(at: str) -> str:
        return at

    described.__doc__ = "Look closely. " * 250
    plain = sent()
    assert sent(instruction="Be brief. " * 250) < plain
    assert sent(tools=[described]) < plain
    assert sent(generate_content_config=types.GenerateContentConfig(max_output_tokens=800)) < plain


def test_each_agent_of_a_session_has_a_conversation() -> None:
    """One that hands over to another: neither rewinds what the other was sent."""
    handing = _call("transfer_to_agent")
    handing.function_call.args = {"agent_name": "taster"}
    taster = LlmAgent(
        name="taster",
        model=Reply(model="reply", answers=["Sweet.", "Sour."]),
        instruction="You taste.",
        description="Tastes.",
    )
    agent = LlmAgent(
        name="keeper", model=Reply(model="reply", answers=[[handing]]), sub_agents=[taster]
    )
    plugin = ContextPlugin(4_000)
    runner = _runner(agent, plugin)

    async def talk() -> None:
        await _ask(runner, "A", "How does it taste?")
        await _ask(runner, "A", "And that one?")

    asyncio.run(talk())
    sessions = [plugin._bridge.sessions.get(f"cellar/u/A/{name}") for name in ("keeper", "taster")]
    assert [[*session.log()][-1].role for session in sessions] == [Role.USER, Role.USER]
    assert not any(
        "Rewind" in type(event).__name__
        for session in sessions
        for event in session.history.events()
    )


@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL. EventsCompactionConfig:UserWarning")
def test_a_second_compaction_is_refused() -> None:
    """Two that shorten one conversation would each undo what the other remembers."""
    plugin = ContextPlugin(4_000)
    settings = {
        "events_compaction_config": EventsCompactionConfig(compaction_interval=2, overlap_size=1)
    }
    runner = _runner(
        LlmAgent(name="keeper", model=Reply(model="reply", answers=["Yes."])), plugin, **settings
    )
    with pytest.raises(RuntimeError, match="None: the plugin compresses already") as caught:
        asyncio.run(_ask(runner, "A", "Plums?"))
    assert isinstance(caught.value.__cause__, InvalidOptionError)
