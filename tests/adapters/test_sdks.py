"""The clients of both SDKs: concurrent long conversations over HTTP against strict providers."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import anthropic
import openai
import pytest
from httpx2 import RemoteProtocolError

from polycontext.adapters import anthropic as anthropic_adapter
from polycontext.adapters import openai as openai_adapter
from polycontext.adapters.wire_dialect import Bridges
from polycontext.base import InvalidOptionError
from polycontext.testing.strict import Break, StrictServer
from polycontext.window import default_counter
from tests.adapters.agent_step import (
    ANTHROPIC,
    Ask,
    Message,
    anthropic_turns,
    chat,
    chat_stream,
    closed,
    exchange,
    messages_,
    messages_stream,
    responses,
)
from tests.adapters.models import Looking
from tests.house import gated
from tests.vendors import StrictAnthropic, StrictChat, StrictResponses

ROOM = 2_000
EXCHANGES = 8
"""Of each conversation."""


def clients(url: str, room: int = ROOM, **options: Any) -> dict[str, tuple[Callable[[], Any], Ask]]:
    """Return what makes each client, and how it is asked."""

    def of(wrap: Callable[..., Any], cls: Any, base: str) -> Callable[[], Any]:
        return lambda: wrap(cls(base_url=base, api_key="none"), room, **options)

    return {
        "chat": (of(openai_adapter.wrap, openai.OpenAI, f"{url}/v1"), chat),
        "chat, async": (of(openai_adapter.wrap, openai.AsyncOpenAI, f"{url}/v1"), chat),
        "chat, streamed": (of(openai_adapter.wrap, openai.OpenAI, f"{url}/v1"), chat_stream),
        "responses": (of(openai_adapter.wrap, openai.OpenAI, f"{url}/v1"), responses),
        "responses, async": (of(openai_adapter.wrap, openai.AsyncOpenAI, f"{url}/v1"), responses),
        "messages": (of(anthropic_adapter.wrap, anthropic.Anthropic, url), messages_),
        "messages, async": (of(anthropic_adapter.wrap, anthropic.AsyncAnthropic, url), messages_),
        "messages, streamed": (
            of(anthropic_adapter.wrap, anthropic.Anthropic, url),
            messages_stream,
        ),
    }


FORMS = list(clients(""))


class Served:
    """Hold a server of all three vendors, and the model behind it."""

    def __init__(self, server: StrictServer, model: Looking) -> None:
        self.url, self.model = server.url, model


class Deployed(StrictChat):
    """Answer where Azure has a deployment."""

    @property
    def path(self) -> str:
        """Return the path of it."""
        return "/v1/deployments/gpt-5/chat/completions"


@pytest.fixture
def served() -> Iterator[Served]:
    """Serve all three, with a model that looks things up once before it answers."""
    model = Looking()
    providers = (
        StrictChat(model.chat),
        Deployed(model.chat),
        StrictResponses(model.responses),
        StrictAnthropic(model.anthropic),
    )
    with StrictServer(providers) as server:
        yield Served(server, model)


def sent(request: Mapping[str, Any]) -> list[Message]:
    """Return the list of a request."""
    return list(request.get("messages", request.get("input", [])))


def test_thoughts_that_are_not_wanted_stay_away(served: Served) -> None:
    """A caller that disables thinking gets it disabled, even after a compression."""
    make, ask = clients(served.url)["messages"]
    client, messages = make(), list[Message]()
    for number in range(EXCHANGES):
        asyncio.run(exchange(client, ask, messages, f"{number}: look for plums. " + "please " * 20))
    assert served.model.requests[-1]["thinking"] != ANTHROPIC["thinking"]
    messages.append({"role": "user", "content": "And now?"})
    client.messages.create(
        model="claude-opus-4-7",
        messages=messages,
        **{**ANTHROPIC, "thinking": {"type": "disabled"}},
    )
    assert len(sent(served.model.requests[-1])) < len(messages)
    assert served.model.requests[-1]["thinking"] == {"type": "disabled"}
    client.close()


@pytest.mark.parametrize(
    "thinking",
    [{"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive", "display": "omitted"}],
)
def test_the_callers_thinking_is_kept_behind_a_compression(
    thinking: dict[str, Any], served: Served
) -> None:
    """After a compression, thinking gains `block_binding`, or is disabled if it must be."""
    with anthropic_adapter.wrap(
        anthropic.Anthropic(base_url=served.url, api_key="none"), 2 * ROOM
    ) as client:
        options: dict[str, Any] = {**ANTHROPIC, "max_tokens": 1_500, "thinking": thinking}
        messages = list[Message]()

        async def ask(client: Any, messages: list[Message]) -> list[Message]:
            return anthropic_turns(
                client.messages.create(messages=messages, model="claude-opus-4-7", **options)
            )

        for number in range(14):
            asyncio.run(
                exchange(client, ask, messages, f"{number}: look for plums. " + "please " * 20)
            )
    sent_thinking = [request["thinking"] for request in served.model.requests]
    binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert sent_thinking[0] == thinking
    assert {**thinking, **binding} in sent_thinking
    # Enabled thinking is refused in a tool loop that has lost its own.
    off = [{"type": "disabled"}] if thinking["type"] == "enabled" else []
    assert all(each in [thinking, {**thinking, **binding}, *off] for each in sent_thinking)


class Double:
    """Count two tokens for each of o200k_base's."""

    exact = True

    def count(self, text: str) -> int:
        """Return them."""
        return 2 * default_counter().count(text)


@pytest.mark.parametrize(
    "form", gated([form for form in FORMS if "streamed" not in form], "chat", "messages, async")
)
def test_what_the_provider_counts_is_learned(form: str) -> None:
    """It counts twice as many tokens and refuses what is too long for it: nothing ever is."""
    model = Looking(steps=0)
    counts: dict[str, Any] = {"counter": Double(), "window": 2 * ROOM}
    providers = (
        StrictChat(model.chat, **counts),
        StrictResponses(model.responses, **counts),
        StrictAnthropic(model.anthropic, **counts),
    )

    async def talk(url: str) -> None:
        make, ask = clients(url, room=2 * ROOM)[form]
        client, messages = make(), list[Message]()
        for number in range(30):
            await exchange(client, ask, messages, f"{number}: look for plums. " + "please " * 100)
        await closed(client)

    with StrictServer(providers) as server:
        asyncio.run(talk(server.url))
    assert len(model.requests) == 30


@pytest.mark.parametrize("form", ["chat, streamed", "messages, streamed"])
def test_a_stream_that_breaks_leaves_nothing_behind(form: str) -> None:
    """The next request is as the one before."""
    model = Looking(steps=0)
    breaks: dict[str, Any] = {"faults": {8: Break(2)}}
    with StrictServer(
        (StrictChat(model.chat, **breaks), StrictAnthropic(model.anthropic, **breaks))
    ) as server:
        make, ask = clients(server.url)[form]
        client, messages = make().with_options(max_retries=0), list[Message]()
        for number in range(7):
            asyncio.run(
                exchange(client, ask, messages, f"{number}: look for plums. " + "please " * 200)
            )
        messages.append({"role": "user", "content": "And now?"})

        async def asked() -> None:
            await ask(client, messages)

        with pytest.raises((openai.APIError, anthropic.APIError, RemoteProtocolError)):
            asyncio.run(asked())
        asyncio.run(asked())
        client.close()
    assert len(model.requests) == 9
    assert sent(model.requests[-1]) == sent(model.requests[-2])


LONG: Any = [{"role": "user", "content": f"{number}: " + "plums " * 60} for number in range(40)]


class Mine(openai.OpenAI):
    """A client of somebody's own."""


USES: dict[str, Callable[[Any], Any]] = {
    "plain": lambda client: client.chat.completions.create(model="gpt-5", messages=LONG),
    "raw": lambda client: client.chat.completions.with_raw_response.create(
        model="gpt-5", messages=LONG
    ).parse(),
    "streamed raw": lambda client: _entered(
        client.chat.completions.with_streaming_response.create(model="gpt-5", messages=LONG)
    ),
    "parsed": lambda client: client.chat.completions.parse(model="gpt-5", messages=LONG),
    "stream": lambda client: _entered(client.chat.completions.stream(model="gpt-5", messages=LONG)),
    "responses": lambda client: client.responses.create(model="gpt-5.6", input=LONG),
    "responses, raw": lambda client: client.with_raw_response.responses.create(
        model="gpt-5.6", input=LONG
    ).parse(),
    "responses, parsed": lambda client: client.responses.parse(model="gpt-5.6", input=LONG),
    "responses, stream": lambda client: _entered(
        client.responses.stream(model="gpt-5.6", input=LONG)
    ),
}


def _entered(manager: Any) -> None:
    with manager as response:
        for _ in response.iter_lines() if hasattr(response, "iter_lines") else response:
            pass


KINDS = [
    *((openai.OpenAI, form) for form in USES),
    *product([Mine, openai.AzureOpenAI], ["plain", "stream"]),
]
"""Azure has one path for all responses, and one of chat for each deployment."""


@pytest.mark.parametrize(("kind", "form"), KINDS)
def test_a_client_that_was_used_before_fits_in_every_form(
    served: Served, kind: Any, form: str
) -> None:
    """The objects handed out before the wrap, and the connection, stay the same."""
    options: dict[str, Any] = {"api_version": "2026-01-01"} if kind is openai.AzureOpenAI else {}
    client = kind(base_url=f"{served.url}/v1", api_key="none", **options)
    completions, responses_ = client.chat.completions, client.responses
    wrapped = openai_adapter.wrap(client, ROOM)
    USES[form](wrapped)
    assert len(sent(served.model.requests[-1])) < 40
    assert isinstance(wrapped, kind)
    assert (client.chat.completions, client.responses) == (completions, responses_)
    USES[form](client)
    assert len(sent(served.model.requests[-1])) == 40
    assert wrapped._client is client._client
    client.close()


def test_whatever_asks_no_model_is_left_alone(served: Served) -> None:
    """Counting has the same list, and embeddings have one of the same name."""
    client = openai_adapter.wrap(openai.OpenAI(base_url=f"{served.url}/v1", api_key="none"), ROOM)
    assert client.responses.input_tokens.count(model="gpt-5.6", input=LONG).input_tokens > 40 * 60
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="e", input=["plums", "pears"])
    client.close()


@pytest.mark.parametrize("form", ["chat", "chat, async", "messages", "messages, async"])
def test_of_a_client_that_is_wrapped_twice_the_last_counts(served: Served, form: str) -> None:
    """It does not fit twice."""
    make, ask = clients(served.url)[form]
    wrap = anthropic_adapter.wrap if form.startswith("messages") else openai_adapter.wrap

    def asked(client: Any) -> int:
        async def ask_once() -> None:
            await ask(client, [dict(message) for message in LONG])
            await closed(client)

        asyncio.run(ask_once())
        return len(sent(served.model.requests[-1]))

    assert asked(make()) < 15
    assert asked(wrap(make(), 20 * ROOM)) == 40
    assert asked(wrap(wrap(make(), 20 * ROOM), ROOM)) < 15


def test_what_is_no_client_is_refused() -> None:
    """In words; so are options that cannot be, and a client of another vendor."""
    for wrap in (openai_adapter.wrap, anthropic_adapter.wrap):
        with pytest.raises(InvalidOptionError, match=r"Use an (OpenAI|Anthropic)"):
            wrap("client")
    with pytest.raises(InvalidOptionError):
        openai_adapter.wrap(openai.OpenAI(api_key="none"), -1)
    with (
        openai.OpenAI(api_key="none") as gpt,
        anthropic.Anthropic(api_key="none") as claude,
    ):
        with pytest.raises(InvalidOptionError, match="an OpenAI or AsyncOpenAI"):
            openai_adapter.wrap(claude, ROOM)
        with pytest.raises(InvalidOptionError, match="an Anthropic or AsyncAnthropic"):
            anthropic_adapter.wrap(gpt, ROOM)


def test_without_a_model_the_model_of_each_request_decides() -> None:
    """A long list goes on whole to a model whose window holds it, and to others as by default."""
    given = [{"role": "user", "content": "Count the plums."}]
    for number in range(60):
        given += [
            {"role": "assistant", "content": f"Shelf {number} holds plums. " * 40},
            {"role": "user", "content": "And the next one?"},
        ]
    seen: list[int] = []

    def reply(request: Any) -> str:
        seen.append(len(request["messages"]))
        return "Noted."

    providers = (StrictChat(reply), StrictAnthropic(reply))
    with (
        StrictServer(providers) as server,
        openai.OpenAI(api_key="none", base_url=f"{server.url}/v1") as gpt,
        anthropic.Anthropic(api_key="none", base_url=server.url) as claude,
    ):
        chat_client: Any = openai_adapter.wrap(gpt)
        chat_client.chat.completions.create(model="gpt-5", messages=given)
        with pytest.warns(UserWarning, match="unknown model 'a-model-of-mine'"):
            chat_client.chat.completions.create(model="a-model-of-mine", messages=given)
        messages_client: Any = anthropic_adapter.wrap(claude)
        messages_client.messages.create(model="claude-sonnet-5", max_tokens=9, messages=given)
    assert seen[0] == seen[2] == len(given)
    assert seen[1] < len(given)


RULE = "Never open a jar."


def test_without_a_model_there_is_a_session_after_the_first_request() -> None:
    """Before it, no window is known: what is changed would hold in no request."""
    asked: list[Message] = [{"role": "user", "content": "Hello."}]
    requests: list[Any] = []

    def reply(request: Any) -> str:
        requests.append(request)
        return "Noted."

    providers = (StrictChat(reply), StrictAnthropic(reply))
    with (
        StrictServer(providers) as server,
        openai.OpenAI(api_key="none", base_url=f"{server.url}/v1") as gpt,
        anthropic.Anthropic(api_key="none", base_url=server.url) as claude,
    ):
        chat_client: Any = openai_adapter.wrap(gpt)
        messages_client: Any = anthropic_adapter.wrap(claude)
        for client, ask in (
            (chat_client, partial(chat_client.chat.completions.create, model="gpt-5.6")),
            (
                messages_client,
                partial(messages_client.messages.create, model="claude-sonnet-5", max_tokens=9),
            ),
        ):
            with pytest.raises(InvalidOptionError, match="after the first request"):
                client.session(asked)
            ask(messages=asked)
            client.session(asked).rules.add(RULE)
            ask(messages=asked)
            assert RULE in str(requests[-1])


@pytest.mark.parametrize(
    "conversation",
    ["thread-7", None, b"thread", {"role": "user"}, [{"role": "system", "content": "Hi."}]],
)
def test_whatever_names_no_conversation_has_no_session(conversation: Any) -> None:
    """No request would use it; the error says what to pass."""
    with (
        openai.OpenAI(api_key="none") as gpt,
        anthropic.Anthropic(api_key="none") as claude,
    ):
        clients: Any = (openai_adapter.wrap(gpt, ROOM), anthropic_adapter.wrap(claude, ROOM))
        for client in clients:
            with pytest.raises(InvalidOptionError, match=r"^messages = .* Use the (list|messages)"):
                client.session(conversation)


def test_an_unknown_model_is_told_of_once() -> None:
    """With names that are known, what to pass, and what holds until then."""
    bridges = Bridges(None, {}, "openai")
    told = r"'gpt5'\. Did you mean 'gpt-5' .* max_tokens=.* Until then its window is 8,000 tokens"
    with pytest.warns(UserWarning, match=told):
        first = bridges.of("openai", "gpt5")
    assert bridges.of("openai", "gpt5") is first


def test_threads_that_ask_a_model_for_the_first_time_share_its_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who comes second takes the bridges of the first."""
    bridges = Bridges(None, {}, "openai")
    make, first = bridges._of, list[Any]()

    def late(model: Any) -> Any:
        monkeypatch.setattr(bridges, "_of", make)
        first.append(bridges.of("openai", model))
        return make(model)

    monkeypatch.setattr(bridges, "_of", late)
    assert bridges.of("openai", "gpt-4o") is first[0]
