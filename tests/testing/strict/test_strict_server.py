"""The strict provider over HTTP, through the vendor's own SDK, unmodified."""

import http.client
import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from polycontext.base import InvalidOptionError
from polycontext.testing.strict import (
    Break,
    StrictAnthropic,
    StrictServer,
    internal_error,
    overloaded,
    overloaded_midway,
    rate_limited,
)
from polycontext.window.providers.layout import without
from tests.testing.strict.anthropic_blocks import ASK, TOOL, result, user
from tests.testing.strict.test_strict_anthropic import thinks

REQUEST: dict[str, Any] = {"model": "claude", "max_tokens": 99, "messages": [ASK], "tools": [TOOL]}


def client(server: StrictServer, retries: int = 0) -> anthropic.Anthropic:
    """Return the vendor's client for `server`."""
    return anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=retries)


@pytest.fixture
def served() -> Iterator[tuple[StrictAnthropic, anthropic.Anthropic]]:
    """Return a provider whose model thinks, and a client of it."""
    provider = StrictAnthropic(thinks)
    with StrictServer((provider,)) as server, client(server) as sdk:
        yield provider, sdk


def nameless(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what is another one in every answer: ids and signatures."""
    content = [without(block, "id", "signature") for block in answer["content"]]
    return {**without(answer, "id"), "content": content}


def test_an_answer_is_the_one_given_in_process(
    served: tuple[StrictAnthropic, anthropic.Anthropic],
) -> None:
    """Over the wire comes what `create` returns; tokens are counted at their own path."""
    provider, sdk = served
    message = sdk.messages.create(**REQUEST)
    expected = provider.create(REQUEST)
    found = message.model_dump(mode="json", exclude_unset=True)
    assert nameless(found) == nameless(expected)
    counted = sdk.messages.count_tokens(
        model="claude", messages=REQUEST["messages"], tools=REQUEST["tools"]
    )
    assert counted.input_tokens == message.usage.input_tokens


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
def test_a_loop_of_tools_goes_on(
    served: tuple[StrictAnthropic, anthropic.Anthropic], streaming: bool
) -> None:
    """The SDK's own objects are taken back; leaving out a call raises the SDK's error."""
    _, sdk = served
    messages: list[Any] = [ASK]
    for _ in range(8):
        request: Any = {**REQUEST, "messages": messages}
        if streaming:
            with sdk.messages.stream(**request) as stream:
                message = stream.get_final_message()
        else:
            message = sdk.messages.create(**request)
        assert (message.stop_reason, message.usage.output_tokens > 0) == ("tool_use", True)
        calls = [block for block in message.content if block.type == "tool_use"]
        messages += [
            {"role": "assistant", "content": message.content},
            user(*[result(call.id) for call in calls]),
        ]
    changed: Any = {**REQUEST, "messages": [messages[0], *messages[2:]]}
    with pytest.raises(anthropic.BadRequestError) as caught:
        sdk.messages.create(**changed)
    assert "unexpected `tool_use_id`" in str(caught.value)
    assert caught.value.status_code == 400


def test_faults_have_the_vendors_status_and_the_sdk_tries_again() -> None:
    """The SDK sees 429, 529, 500 and a broken connection, and its retries succeed."""
    script = {1: rate_limited(0), 2: overloaded(), 3: internal_error(), 4: Break()}
    with StrictServer((StrictAnthropic(thinks, faults=script),)) as server:
        seen = []
        with client(server) as sdk:
            for _ in script:
                with pytest.raises(anthropic.APIError) as caught:
                    sdk.messages.create(**REQUEST)
                seen.append(type(caught.value))
    assert seen[0] is anthropic.RateLimitError
    assert issubclass(seen[2], anthropic.InternalServerError)
    assert issubclass(seen[3], anthropic.APIConnectionError)
    with (
        StrictServer((StrictAnthropic(thinks, faults={1: rate_limited(0)}),)) as server,
        client(server, retries=1) as sdk,
    ):
        assert sdk.messages.create(**REQUEST).stop_reason == "tool_use"


def test_a_stream_breaks_in_the_middle() -> None:
    """One breaks off, one ends in the vendor's error event; the SDK raises for both."""
    with (
        StrictServer(
            (StrictAnthropic(thinks, faults={1: Break(5), 2: overloaded_midway(5)}),)
        ) as server,
        client(server) as sdk,
    ):
        for _ in range(2):
            with (
                pytest.raises(Exception, match=r"(?i)overloaded|peer closed|incomplete|connection"),
                sdk.messages.stream(**REQUEST) as stream,
            ):
                stream.get_final_message()


def posted(
    server: StrictServer, path: str, body: bytes, method: str = "POST", **headers: str
) -> tuple[int, Any]:
    """Return status and JSON body of a bare HTTP request."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_what_is_no_request_is_refused_and_the_server_lives() -> None:
    """Each kind of bad HTTP request has its status, and the next request is answered."""
    with StrictServer((StrictAnthropic(thinks),)) as server:
        assert posted(server, "/v1/messages", b"{")[0] == 400
        assert posted(server, "/v1/messages", b"[]")[0] == 400
        assert posted(server, "/v1/other", b"{}")[0] == 404
        assert posted(server, "/v1/messages", b"", "GET")[0] == 405
        assert posted(server, "/v1/messages", b"", **{"content-length": "99999999999"})[0] == 413
        status, body = posted(server, "/v1/messages?beta=true", json.dumps(REQUEST).encode())
        assert (status, body["stop_reason"]) == (200, "tool_use")
        status, body = posted(
            server, "/v1/messages", json.dumps({**REQUEST, "messages": []}).encode()
        )
        assert (status, body["type"], body["error"]["type"]) == (
            400,
            "error",
            "invalid_request_error",
        )


def test_a_model_that_raises_is_a_server_error(caplog: pytest.LogCaptureFixture) -> None:
    """The client is told what was raised; one provider needs no list."""

    def fails(_: object) -> str:
        raise LookupError("no such script")

    with (
        StrictServer(StrictAnthropic(fails)) as server,
        client(server) as sdk,
        pytest.raises(anthropic.InternalServerError, match="no such script"),
    ):
        sdk.messages.create(**REQUEST)
    assert "model error" in caplog.text


def test_a_client_that_resets_its_connection_prints_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Only faults of the server have a traceback."""
    with StrictServer(StrictAnthropic(thinks)) as server:
        port = int(server.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"POST /v1/mess")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert posted(server, "/v1/messages", b"{")[0] == 400
    assert capfd.readouterr().err == ""


def test_a_server_stops_with_its_block() -> None:
    """After its block a server no longer answers, and it has an address only inside it."""
    server = StrictServer((StrictAnthropic(thinks),))
    with pytest.raises(InvalidOptionError):
        _ = server.url
    with server:
        host, port = server.url.removeprefix("http://").split(":")
        idle = socket.create_connection((host, int(port)))
    idle.close()
    with pytest.raises(OSError, match=r"refused|reset"):
        socket.create_connection((host, int(port)), timeout=60)
    with pytest.raises(InvalidOptionError):
        StrictServer((StrictAnthropic(thinks), StrictAnthropic(thinks)))
