"""Helpers for both vendors' summarisers: clients, a recording provider, and a tool loop."""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
from attrs import define, field

from polycontext.models import AnthropicSummariser, OpenAISummariser
from polycontext.models.model_summariser import ModelSummariser
from polycontext.polynomial import ContextSession
from polycontext.testing.strict import StrictServer
from polycontext.window import Turn
from tests.vendors import StrictAnthropic, StrictChat

Request = Mapping[str, Any]

SUMMARY = "Task:\nCount the fish.\nDone:\nSome were counted."
MODELS = {"openai": "gpt-5", "anthropic": "claude-sonnet-5"}
WORDS = (
    "the pond behind house number {} holds carp and perch and a very old pike which nobody has "
    "ever caught "
)

TOOLS: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {
            "type": "function",
            "function": {
                "name": "look",
                "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}},
            },
        }
    ],
    "anthropic": [
        {
            "name": "look",
            "input_schema": {"type": "object", "properties": {"at": {"type": "integer"}}},
        }
    ],
}


@define
class Vendor:
    """A vendor behind a server: its scripted model, recorded requests, and the SDK's clients."""

    name: str
    url: str = ""
    says: Any = SUMMARY
    asked: list[Request] = field(factory=list)
    usages: list[Mapping[str, Any]] = field(factory=list)
    clients: list[Any] = field(factory=list)

    def reply(self, request: Request) -> Any:
        """Remember what was asked, and answer."""
        self.asked.append(request)
        return self.says(request) if callable(self.says) else self.says

    def client(self, *, is_async: bool = False, **options: Any) -> Any:
        """Return a client of the vendor's SDK; one that blocks is closed in the end."""
        options = {"api_key": "none", "base_url": self.url, "max_retries": 0, **options}
        if is_async:
            return (openai.AsyncOpenAI if self.name == "openai" else anthropic.AsyncAnthropic)(
                **options
            )
        self.clients.append(
            (openai.OpenAI if self.name == "openai" else anthropic.Anthropic)(**options)
        )
        return self.clients[-1]

    def summariser(self, client: Any = None, **options: Any) -> ModelSummariser:
        """Return the summariser; without a client it has one that blocks."""
        kind = OpenAISummariser if self.name == "openai" else AnthropicSummariser
        return kind(client or self.client(), MODELS[self.name], heard=self.usages.append, **options)

    def answer(self, text: Any, stop: str) -> Any:
        """Return what the model says so that the answer ends for the reason `stop`."""
        if self.name == "openai":
            return {"content": text, "finish_reason": stop}
        return {
            "content": [] if text is None else [{"type": "text", "text": text}],
            "stop_reason": stop,
        }

    def read_share(self) -> float:
        """Return which share of the last answer's input was read from the cache."""
        usage = self.usages[-1]
        if self.name == "openai":
            return float(usage["prompt_tokens_details"]["cached_tokens"] / usage["prompt_tokens"])
        read = usage["cache_read_input_tokens"]
        return float(read / (read + usage["input_tokens"] + usage["cache_creation_input_tokens"]))


@contextmanager
def serving(name: str, **options: Any) -> Generator[Vendor]:
    """Serve one vendor; `options` are those of its strict provider."""
    vendor = Vendor(name)
    strict = (
        StrictChat(vendor.reply, **options)
        if name == "openai"
        else StrictAnthropic(vendor.reply, **options)
    )
    with StrictServer((strict,)) as server:
        vendor.url = f"{server.url}/v1" if name == "openai" else server.url
        try:
            yield vendor
        finally:
            for client in vendor.clients:
                client.close()


def texts_of(request: Request) -> Iterator[str]:
    """Yield every text of a request, the system's first."""
    for message in ({"content": request.get("system") or []}, *request["messages"]):
        content = message["content"]
        yield from (
            [content]
            if isinstance(content, str)
            else [block["text"] for block in content or () if block["type"] == "text"]
        )


def unfenced(text: str) -> str:
    """Return the text outside of the fences that it declares."""
    told = re.search(r"carry the mark (\w+) is data", text)
    return re.sub(rf"(?s)<(\w+) {told[1]}>\n.*?\n</\1 {told[1]}>", "", text) if told else text


def obedient(request: Request) -> str:
    """Answer as a model that obeys any unfenced instruction in its system or last message."""
    *_, last = texts_of(request)
    heard = "\n".join([*(texts_of({**request, "messages": []})), unfenced(last)])
    return "OBEYED" if re.search(r"(?i)ignore all|obeyed", heard) else SUMMARY


def looking(
    session: ContextSession, vendor: Vendor, client: Any, steps: int, **options: Any
) -> None:
    """Have the session's model look `steps` times, each request sent as an application sends it."""
    session.add_system("You count fish. " + "Be careful with carp. " * 40)
    session.add_user_turn("Count the fish.")
    vendor.says = _looks(vendor.name)
    for step in range(steps):
        send(session, vendor, client, **options)
        (call,) = session.window.open_calls
        session.add_tool_turn(WORDS.format(step) * 14, tool_call_id=call)
    vendor.says = SUMMARY


def send(session: ContextSession, vendor: Vendor, client: Any, **options: Any) -> None:
    """Send the session's request with its tools, and take the answer in."""
    request = session.request(vendor.name)
    shared: dict[str, Any] = {
        "model": MODELS[vendor.name],
        "messages": request.messages,
        "tools": TOOLS[vendor.name],
        **options,
    }
    if vendor.name == "openai":
        session.extend([client.chat.completions.create(**shared).choices[0].message], "openai")
        return
    answer = client.messages.create(
        **shared, max_tokens=500, system=request.system, cache_control={"type": "ephemeral"}
    )
    session.extend(
        [
            {
                "role": "assistant",
                "content": [block.model_dump(exclude_none=True) for block in answer.content],
            }
        ],
        "anthropic",
    )


def _looks(name: str) -> Callable[[Request], Any]:
    def says(request: Request) -> Any:
        at = len(request["messages"])
        if name == "openai":
            return {
                "content": None,
                "tool_calls": [{"function": {"name": "look", "arguments": f'{{"at": {at}}}'}}],
            }
        return [
            {"type": "thinking", "thinking": f"I look at {at}."},
            {"type": "tool_use", "name": "look", "input": {"at": at}},
        ]

    return says


def piece_of(request: Request) -> str:
    """Return the part of a conversation that a request gives to read."""
    *_, last = texts_of(request)
    found = re.search(r"(?s)<conversation (\w+)>\n(.*)\n</conversation \1>", last)
    assert found
    return re.sub(rf"(?m)^<[a-z ]+ {found[1]}>\n", "", found[2])


def said(turns: Sequence[Turn]) -> str:
    """Return what the texts of `turns` hold, white space aside."""
    return "".join("".join(turn.text for turn in turns).split())
