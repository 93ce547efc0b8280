"""Agents that call models by LiteLLM."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from polycontext.base import InvalidOptionError
from polycontext.polynomial import StoreError
from polycontext.polynomial.stores import InMemoryStore
from polycontext.window import Turn
from tests.adapters.frameworks.conversation import ROOM, SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
pytest.importorskip("litellm")

import litellm
from litellm import CustomLLM, ModelResponse
from litellm.types.utils import CallTypes

from polycontext.adapters.litellm import ContextCallback, LiteLLMDialect

pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? '.*' on TypedDict class:UserWarning"
)  # LiteLLM's types, on Python 3.11


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    """Leave LiteLLM as it was."""
    yield
    litellm.callbacks, litellm.custom_provider_map = [], []


class Provider(CustomLLM):
    """Let a judge answer, as LiteLLM gives answers of Anthropic's models: whole, or in pieces."""

    def __init__(self, judge: Judge, usage: Any = None) -> None:
        super().__init__()
        self.judge, self.usage = judge, usage
        self.sent: list[Any] = []

    def _asked(self, messages: Sequence[Any]) -> Turn:
        self.sent.append(messages)
        return self.judge.asked(messages)

    async def acompletion(self, messages: Any, *args: Any, **settings: Any) -> ModelResponse:
        """Answer."""
        said = self._asked(messages)
        thoughts = [json.loads(part.data) for part in said.parts]
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in said.tool_calls
        ]
        message = {
            "role": "assistant",
            "content": said.text,
            "tool_calls": calls or None,
            "thinking_blocks": thoughts,
        }
        return ModelResponse(
            choices=[{"message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            usage=self.usage,
        )

    async def astreaming(self, messages: Any, *args: Any, **settings: Any) -> AsyncIterator[Any]:
        """Answer in pieces."""
        said = self._asked(messages)
        rest = {"finish_reason": "", "is_finished": False, "usage": None, "index": 0}
        yield {"text": said.text, "tool_use": None, **rest}
        for number, call in enumerate(said.tool_calls):
            asked = {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
                "index": number,
            }
            yield {"text": "", "tool_use": asked, **rest}
        yield {
            "text": "",
            "tool_use": None,
            **rest,
            "finish_reason": "tool_calls" if said.tool_calls else "stop",
            "is_finished": True,
        }


class LiteLLMAgent(Agent):
    """Call the model in a loop, and keep the messages, as users of LiteLLM do."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        self.adapter = ContextCallback(**options)
        litellm.callbacks = [self.adapter]
        litellm.custom_provider_map = [{"provider": "judge", "custom_handler": Provider(judge)}]
        self._kept: dict[str, list[Any]] = saved or {}

    async def say(self, key: str, text: str) -> str:
        """Ask until nothing is called."""
        messages = self._kept.setdefault(key, [{"role": "system", "content": SYSTEM}])
        messages.append({"role": "user", "content": text})
        while True:
            answer = (
                (await litellm.acompletion(model="judge/one", messages=messages)).choices[0].message
            )
            messages.append(answer)
            if not answer.tool_calls:
                return str(answer.content)
            messages.extend(_results(answer))

    async def stream(self, key: str, text: str) -> str:
        """Ask until nothing is called, streamed."""
        messages = self._kept.setdefault(key, [{"role": "system", "content": SYSTEM}])
        messages.append({"role": "user", "content": text})
        while True:
            chunks = [
                chunk
                async for chunk in await litellm.acompletion(
                    model="judge/one", messages=messages, stream=True
                )
            ]
            answer = litellm.stream_chunk_builder(chunks).choices[0].message
            messages.append(answer)
            if not answer.tool_calls:
                return str(answer.content)
            messages.extend(_results(answer))

    def conversation(self, key: str) -> Any:
        """Return the messages."""
        return self._kept[key]

    def history(self, key: str) -> Sequence[str]:
        """Return what its messages say."""
        return [str(message["content"]) for message in self._kept[key]]

    def saved(self) -> Any:
        """Return the messages as JSON data."""
        return {
            key: [
                message if isinstance(message, dict) else message.model_dump(exclude_none=True)
                for message in messages
            ]
            for key, messages in self._kept.items()
        }


def _results(answer: Any) -> list[dict[str, str]]:
    return [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": found(**json.loads(call.function.arguments)),
        }
        for call in answer.tool_calls
    ]


class TestLiteLLM(FrameworkTests):
    """Test the callback."""

    distribution = "litellm"
    dialect = LiteLLMDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent that has it."""
        return LiteLLMAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model."""
        litellm.custom_provider_map = [{"provider": "judge", "custom_handler": Provider(judge)}]
        return {"model": "judge/one"}


def _asked_by(judge: Judge, usage: Any = None, **options: Any) -> tuple[ContextCallback, Provider]:
    callback, provider = ContextCallback(ROOM, **options), Provider(judge, usage)
    litellm.callbacks, litellm.custom_provider_map = (
        [callback],
        [{"provider": "judge", "custom_handler": provider}],
    )
    return callback, provider


@pytest.fixture
def judge() -> Judge:
    """Judge what is sent."""
    return Judge(LiteLLMDialect(), "anthropic")


def _talk(exchanges: int) -> list[dict[str, Any]]:
    pairs = [
        (
            {"role": "user", "content": f"{number}: {'plums ' * 90}"},
            {"role": "assistant", "content": "Yes."},
        )
        for number in range(exchanges)
    ]
    return [message for pair in pairs for message in pair]


def test_every_route_in_its_own_format() -> None:
    """Chat Completions, Responses and Anthropic Messages calls are each fitted in their format.

    Other calls, and calls that continue a conversation stored elsewhere, pass unchanged.
    """
    callback, asked = ContextCallback(ROOM), {"role": "user", "content": "And now?"}

    def sent(call: CallTypes, **kwargs: Any) -> Any:
        return asyncio.run(callback.async_pre_call_deployment_hook(kwargs, call))

    for call, name in (
        (CallTypes.acompletion, "messages"),
        (CallTypes.anthropic_messages, "messages"),
        (CallTypes.aresponses, "input"),
    ):
        whole = [*_talk(100), asked]
        kwargs = sent(
            call,
            model="m",
            max_tokens=500,
            system=[{"type": "text", "text": "Be kind."}],
            **{name: whole},
        )
        assert (kwargs["model"], kwargs[name][-1], len(whole)) == ("m", asked, 201)
        assert len(kwargs[name]) < 60
        assert sent(call, **{**kwargs, name: kwargs[name]}) is None
    assert sent(CallTypes.aresponses, input="And now?") is None
    assert sent(CallTypes.aresponses, input=[asked], previous_response_id="resp_1") is None
    assert sent(CallTypes.aembedding, input=["plums"]) is None
    assert sent(None, messages=[asked]) is None


def test_what_cannot_be_seen_or_is_shortened_elsewhere_is_refused(judge: Judge) -> None:
    """If the callback is strict: before anything is sent, with what to do."""
    _asked_by(judge, strict=True)
    with pytest.raises(Exception, match=r"messages = None. Use messages=..., by name"):
        asyncio.run(litellm.acompletion("judge/one", [{"role": "user", "content": "Hello."}]))
    with pytest.raises(Exception, match=r"context_management = .*Use none beside this callback"):
        asyncio.run(
            litellm.acompletion(
                model="judge/one", messages=_talk(1), context_management={"edits": []}
            )
        )
    assert judge.sent == []


class BrokenStore(InMemoryStore):
    """A store that is gone, full or slow."""

    def __init__(self, fail: Callable[[], None]) -> None:
        super().__init__()
        self.fail = fail

    def load(self, session_id: str, after: int = 0) -> Any:
        """Fail."""
        self.fail()
        return super().load(session_id, after)

    def append(self, *args: Any, **options: Any) -> Any:
        """Fail."""
        self.fail()
        return super().append(*args, **options)


def _gone() -> None:
    raise StoreError("store 'sessions.db'", "the disk is full", "Make room")


@pytest.mark.parametrize(
    ("fail", "reason"), [(_gone, "StoreError"), (lambda: time.sleep(1), "TimeoutError")]
)
def test_requests_pass_whatever_the_store_does(
    judge: Judge, fail: Callable[[], None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Unchanged, with the reason in the log; they are counted."""
    callback, provider = _asked_by(judge, store=BrokenStore(fail), seconds=0.2)
    for length in (1, 3, 5):
        asyncio.run(litellm.acompletion(model="judge/one", messages=_talk(9)[:length]))
    assert [len(sent) for sent in provider.sent] == [1, 3, 5]
    assert callback.figures.failures == {reason: 3}
    assert (callback.figures.requests, callback.figures.shortened) == (3, 0)
    assert "a request of 5 messages passes unchanged" in caplog.text


def test_a_request_that_cannot_fit_passes(judge: Judge) -> None:
    """The provider decides; a strict callback raises."""
    huge = [{"role": "system", "content": "plums " * 2 * ROOM}, *_talk(1)[:1]]
    callback, provider = _asked_by(judge)
    with suppress(Exception):  # the judge of these tests takes no such request
        asyncio.run(litellm.acompletion(model="judge/one", messages=huge))
    assert len(provider.sent[0][0]["content"]) == len(huge[0]["content"])
    assert callback.figures.failures == {"ContextOverflowError": 1}


def test_models_have_budgets_of_their_own() -> None:
    """By the names that requests use, with or without their provider."""
    callback = ContextCallback(ROOM, budgets={"large": 50 * ROOM})
    lengths = []
    for model in ("large", "openai/large", "small"):
        kwargs: dict[str, Any] = {"model": model, "messages": _talk(60)}
        hook: Any = callback.async_pre_call_deployment_hook(kwargs, CallTypes.acompletion)
        sent = asyncio.run(hook)
        lengths.append(len(sent["messages"]))
    assert lengths[:2] == [120, 120]
    assert lengths[2] < 60
    assert (callback.figures.requests, callback.figures.shortened) == (3, 1)
    assert callback.figures.messages == (360, sum(lengths))


@pytest.mark.parametrize("has_store", [True, False])
def test_keys_and_session_ids_keep_conversations_apart(has_store: bool) -> None:
    """Two callers that say the same have sessions of their own, also after a restart."""
    store = InMemoryStore() if has_store else None
    names = set[str]()
    for _ in range(2):
        callback = ContextCallback(ROOM, store=store)
        for key, session_id in (("k1", ""), ("k2", ""), ("k1", "a"), ("k1", "b")):
            kwargs: dict[str, Any] = {
                "model": "m",
                "messages": _talk(2)[:3],
                "metadata": {"user_api_key_hash": key},
                "litellm_session_id": session_id or None,
            }
            hook: Any = callback.async_pre_call_deployment_hook(kwargs, CallTypes.acompletion)
            assert asyncio.run(hook)["messages"] == _talk(2)[:3]
            found = callback.session(_talk(2)[:3], key=key, session_id=session_id)
            assert len(found.log()) == 3
            names.add(found.session_id)
        assert len(callback.sessions()) == 4
    assert len(names) == 4


def test_a_conversation_is_told_by_its_messages(judge: Judge) -> None:
    """Nothing else has a session."""
    callback: Any = _asked_by(judge)[0]
    for wrong in ("thread-7", None):
        with pytest.raises(InvalidOptionError, match=r"^messages = "):
            callback.session(wrong)
    assert callback.session(_talk(1)) is callback.session(_talk(1))
