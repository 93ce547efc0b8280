"""The tests of a wrapped SDK client: it passes the same tests as every framework's adapter.

The agent is a hand-written loop on the client, which asks a server on loopback.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from attrs import define

from polycontext.testing.strict import StrictServer
from polycontext.testing.strict.provider import (
    Endpoint,
    Event,
    Headers,
    Request,
    RequestRefusedError,
)
from tests.adapters.agent_step import Ask, Message, exchange
from tests.adapters.frameworks.conversation import Agent, FrameworkTests
from tests.adapters.frameworks.judge import Judge


@define(eq=False)
class Listening:
    """Stand before a judge's provider on the wire: what comes in is remembered by the judge."""

    judge: Judge
    list_name: str

    @property
    def path(self) -> str:
        """Return where a model is asked."""
        return str(self.judge.strict.path)

    @property
    def stream_path(self) -> str:
        """Return where a model is asked for a stream."""
        return str(self.judge.strict.stream_path)

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return the further paths."""
        found: Mapping[str, Endpoint] = self.judge.strict.endpoints
        return found

    def error_body(self, refusal: RequestRefusedError) -> dict[str, Any]:
        """Return what the vendor says of a request that it refuses."""
        self.judge.refused += 1
        body: dict[str, Any] = self.judge.strict.error_body(refusal)
        return body

    def create(self, request: Request, *, headers: Headers | None = None) -> dict[str, Any]:
        """Return the vendor's answer."""
        answer: dict[str, Any] = self._fine().create(request, headers=headers)
        self._remember(request)
        return answer

    def stream(self, request: Request, *, headers: Headers | None = None) -> Iterator[Event]:
        """Return it as events."""
        found: Iterator[Event] = self._fine().stream(request, headers=headers)
        self._remember(request)
        return found

    def _fine(self) -> Any:
        self.judge.fail_if_asked_to()
        return self.judge.strict

    def _remember(self, request: Request) -> None:
        system = request.get("system", request.get("instructions"))
        self.judge.remember(request[self.list_name], system if isinstance(system, str) else None)


class ByHand(Agent):
    """Keep a list for each conversation, and take back what nobody answered."""

    listed: Callable[[list[Message]], list[Message]] = staticmethod(lambda messages: messages)
    """Makes a list what the client is asked with."""

    def __init__(
        self, client: Any, ask: Ask, stream: Ask | None, saved: dict[str, list[Message]] | None
    ) -> None:
        self._client, self._ask, self._stream, self._lists = client, ask, stream, saved or {}
        self.adapter = client

    def conversation(self, key: str) -> list[Message]:
        """Return the list."""
        return self.listed(self._lists[key])

    async def say(self, key: str, text: str) -> str:
        """Ask, answer calls, and ask again."""
        return await self._said(key, text, self._ask)

    async def stream(self, key: str, text: str) -> str:
        """Do so with streams."""
        return (
            await self._said(key, text, self._stream)
            if self._stream
            else await super().stream(key, text)
        )

    def history(self, key: str) -> Sequence[str]:
        """Return what the list says."""
        return [json.dumps(entry) for entry in self._lists[key]]

    def saved(self) -> Any:
        """Return the lists."""
        return self._lists

    async def _said(self, key: str, text: str, ask: Ask) -> str:
        messages = [*self._lists.get(key, ())]
        await exchange(self._client, ask, messages, text)
        self._lists[key] = messages
        return json.dumps(messages[-1])


@pytest.mark.gate
@pytest.mark.no_cover  # tests/adapters/test_sdks.py shows the same lines
class SdkTests(FrameworkTests):
    """The tests of a wrapped client.

    `client` creates a client for a URL, `wrap` wraps it, and `ask` and `streamed` call it in
    each form.
    """

    list_name = "messages"
    wrap: Callable[..., Any]
    ask: Ask
    streamed: Ask | None = None
    clients: ExitStack
    """Closes them behind a test."""

    @pytest.fixture
    def judge(self) -> Iterator[Judge]:
        """Judge what comes in on loopback."""
        judge = Judge(self.dialect(), self.provider)
        listening: Any = Listening(judge, self.list_name)
        with StrictServer((listening,)) as server, ExitStack() as self.clients:
            judge.url = server.url
            yield judge

    def client(self, url: str) -> Any:
        """Return a client that asks `url`."""
        raise NotImplementedError

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent on a wrapped client."""
        cls, client = type(self), self.client(judge.url)
        self.clients.callback(client.close)
        return ByHand(cls.wrap(client, **options), cls.ask, cls.streamed, saved)
