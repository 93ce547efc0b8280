"""How a loop asks its provider: in process, or over HTTP through the vendor's unmodified SDK."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from polycontext.testing.strict import StrictServer
from polycontext.testing.strict.scripted import Scripted
from tests.strict.vendors import Message, Vendor
from tests.vendors import StrictAnthropic, StrictChat, StrictGemini, StrictResponses

STRICT: Mapping[str, Any] = {
    "anthropic": StrictAnthropic,
    "openai": StrictChat,
    "openai-responses": StrictResponses,
    "gemini": StrictGemini,
}


class Ask(Protocol):
    """Stand for whoever sends a request."""

    def __call__(self, request: Message, betas: list[str]) -> tuple[Message, list[Any]]:
        """Return the answer as JSON data, and the messages to add: an SDK's own objects."""
        ...


def in_process(vendor: Vendor, provider: Any) -> Ask:
    """Ask `provider` itself."""

    def ask(request: Message, betas: list[str]) -> tuple[Message, list[Any]]:
        answer = provider.create(request, **({"betas": betas} if betas else {}))
        return answer, vendor.reply(answer)

    return ask


@contextmanager
def over_http(vendor: Vendor, provider: Scripted) -> Generator[Ask]:
    """Serve `provider` on the loopback interface, and ask it through the SDK."""
    with StrictServer((provider,)) as server:
        match vendor.provider:
            case "anthropic":
                import anthropic  # noqa: PLC0415 - loops in process need no SDK

                with anthropic.Anthropic(
                    base_url=server.url, api_key="none", max_retries=0
                ) as client:
                    yield _anthropic(client)
            case "gemini":
                import httpx  # noqa: PLC0415 - as above

                # The SDK is tested in an environment of its own.
                with httpx.Client(base_url=server.url, timeout=60) as http:
                    yield _contents(vendor, http, provider.path)
            case other:
                import openai  # noqa: PLC0415 - as above

                with openai.OpenAI(
                    base_url=f"{server.url}/v1", api_key="none", max_retries=0
                ) as client:
                    yield (_chat if other == "openai" else _responses)(client)


def _contents(vendor: Vendor, client: Any, path: str) -> Ask:
    def ask(request: Message, betas: list[str]) -> tuple[Message, list[Any]]:
        response = client.post(path, json=request)
        assert response.is_success, response.text
        return response.json(), vendor.reply(response.json())

    return ask


def _anthropic(client: Any) -> Ask:
    def ask(request: Message, betas: list[str]) -> tuple[Message, list[Any]]:
        answer = client.beta.messages.create(**request, betas=betas)
        return answer.to_dict(), [{"role": "assistant", "content": answer.content}]

    return ask


def _chat(client: Any) -> Ask:
    def ask(request: Message, betas: list[str]) -> tuple[Message, list[Any]]:
        answer = client.chat.completions.create(**request)
        return answer.to_dict(), [answer.choices[0].message]

    return ask


def _responses(client: Any) -> Ask:
    def ask(request: Message, betas: list[str]) -> tuple[Message, list[Any]]:
        answer = client.responses.create(**request)
        return answer.to_dict(), list(answer.output)

    return ask
