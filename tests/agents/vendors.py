"""Agents over HTTP on four vendors, with providers that check structured output and tool schemas.

Usage: python -m tests.agents.vendors [--conversations N] [--provider NAME]

Each model behaves as one with constrained decoding: its answer fits the schema of the request.
Every fifth answer of a node is broken in one of twenty ways, and the agent asks for it again.
Prints, for each vendor, the conversations, the requests, the faults that the vendor would refuse,
and the replies that were lost.
"""

import argparse
import importlib
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field
from jsonschema import Draft202012Validator

from polycontext.agents import Agent, model_of
from polycontext.agents.requests import ModelRequest
from polycontext.testing.strict import StrictServer
from tests.agents.kitchen import RandomModel, begun, tools
from tests.vendors import StrictAnthropic, StrictChat, StrictGemini, StrictResponses

EXCHANGES = 2
_EVERY = 5
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KEYWORDS = json.loads(Path(__file__).with_name("schema_keywords.json").read_text())
"""The keywords of strict structured output of two vendors.

OpenAI's are those of platform.openai.com/docs/guides/structured-outputs, Gemini's those of
``responseJsonSchema`` (ai.google.dev/api/generate-content).
"""
_DEEPEST = 10


def faults_of(schema: Any, provider: str, path: str = "$", depth: int = 1) -> Iterator[str]:
    """Yield what a vendor refuses in the schema of a structured answer, or of a tool."""
    if not isinstance(schema, Mapping) or not schema:
        yield f"{path}: the schema is empty"
        return
    if path == "$" and schema.get("type") != "object":
        yield f"{path}: the root is no object"
    known = schema if provider == "anthropic" else KEYWORDS[provider.removesuffix("-responses")]
    yield from (f"{path}: {name} is not supported" for name in {*schema} - {*known})
    if provider in ("openai", "openai-responses"):
        told = {
            f"deeper than {_DEEPEST} levels": depth > _DEEPEST,
            "there is no type": not {"type", "anyOf", "$ref"} & {*schema},
            "the object is open": not _is_closed(schema),
        }
        yield from (f"{path}: {fault}" for fault, is_true in told.items() if is_true)
    for name, each in schema.get("properties", {}).items():
        yield from faults_of(each, provider, f"{path}.{name}", depth + 1)
    if "items" in schema:
        yield from faults_of(schema["items"], provider, f"{path}[]", depth + 1)
    for each in schema.get("anyOf", ()):
        yield from faults_of(each, provider, f"{path}|", depth)


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Return whether an object has all its properties, and no others."""
    return schema.get("type") != "object" or (
        schema.get("additionalProperties") is False
        and {*schema.get("required", ())} == {*schema.get("properties", {})}
    )


def constrained(schema: Mapping[str, Any], data: Any) -> Any:
    """Return data with every property that the schema requires: null or an empty list if absent."""
    if "anyOf" in schema:
        validators = ((each, Draft202012Validator(each)) for each in schema["anyOf"])
        filled = ((constrained(each, data), rule) for each, rule in validators)
        return next((each for each, rule in filled if rule.is_valid(each)), data)
    if isinstance(data, list) and "items" in schema:
        return [constrained(schema["items"], each) for each in data]
    if not isinstance(data, Mapping) or "properties" not in schema:
        return data
    given = dict(data)
    for name, each in schema["properties"].items():
        if name not in given:
            nothing: Sequence[Any] = (None, [], "", {}, 1)
            given[name] = next(
                value for value in nothing if Draft202012Validator(each).is_valid(value)
            )
        given[name] = constrained(each, given[name])
    return given


def _with(data: Mapping[str, Any], **changes: Any) -> str:
    return json.dumps({**data, **changes})


def _made_up(data: dict[str, Any]) -> dict[str, Any]:
    """Return an answer about an entity that is not there."""
    if data.get("calls"):
        return data | {"calls": [{"tool": "find", "arguments": {"id": "recipe_99"}}]}
    return data | {
        name: ["recipe_99"] for name in ("demoted", "entities", "decision") if name in data
    }


BROKEN: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "nothing": lambda _: "",
    "blanks": lambda _: " \n ",
    "words": lambda _: "I would rather not say.",
    "a list": lambda data: json.dumps([data, data]),
    "a number": lambda _: "17",
    "null": lambda _: "null",
    "cut": lambda data: json.dumps(data)[:-9],
    "two": lambda data: json.dumps(data) * 2,
    "an object around it": lambda data: json.dumps({"answer": data}),
    "another field": lambda data: _with(data, mood="good"),
    "another form": lambda _: '{"weather": "fine"}',
    "a text for all": lambda data: json.dumps(dict.fromkeys(data, "x")),
    "a number for all": lambda data: json.dumps(dict.fromkeys(data, 7)),
    "a list for all": lambda data: json.dumps({name: [[]] for name in data}),
    "an object for all": lambda data: json.dumps({name: {"a": 1} for name in data}),
    "a key twice": lambda data: json.dumps(data)[:-1] + ", " + json.dumps(data)[1:],
    "NaN": lambda data: json.dumps(dict.fromkeys(data, float("nan"))),
    "half a character": lambda data: json.dumps(dict.fromkeys(data, "\ud800")),
    "an entity made up": lambda data: json.dumps(_made_up(data)),
    "a tool made up": lambda data: _with(
        data,
        **{
            name: [{"tool": "steal", "arguments": {}}]
            for name in ("calls", "intent", "goal")
            if name in data
        },
    ),
}
"""Makes a broken answer of a good one, by kind."""


class Wire:
    """Answers requests of each vendor with what `answer` says."""

    def answer(self, node: str, prompt: str, schema: Mapping[str, Any] | None) -> str:
        """Return the answer of a node."""
        raise NotImplementedError

    def chat(self, request: Mapping[str, Any]) -> str:
        """Answer Chat Completions."""
        form = request.get("response_format", {}).get("json_schema", {})
        prompt = request["messages"][0]["content"]
        return self.answer(form.get("name", "reply"), prompt, form.get("schema"))

    def responses(self, request: Mapping[str, Any]) -> str:
        """Answer Responses."""
        form = request.get("text", {}).get("format", {})
        prompt = request["input"][0]["content"]
        return self.answer(form.get("name", "reply"), prompt, form.get("schema"))

    def anthropic(self, request: Mapping[str, Any]) -> Any:
        """Answer Messages by the forced tool, or with text if the answer is not an object."""
        none: dict[str, Any] = {}
        (tool,) = request.get("tools") or (none,)
        prompt = request["messages"][0]["content"]
        said = self.answer(tool.get("name", "reply"), prompt, tool.get("input_schema"))
        try:
            given = json.loads(said) if tool else None
            json.dumps(given, ensure_ascii=False).encode()
        except ValueError:  # also half a character, which no vendor can send
            given = None
        if not isinstance(given, dict):
            return said.strip() or "…"
        used = {"type": "tool_use", "name": tool["name"], "input": given}
        return {"role": "assistant", "content": [used]}

    def gemini(self, request: Mapping[str, Any]) -> str:
        """Answer Gemini's ``generateContent``."""
        form = request.get("generationConfig", {}).get("responseJsonSchema")
        prompt = request["contents"][0]["parts"][0]["text"]
        node = "reply" if form is None else _node_of(form)
        return self.answer(node, prompt, form)


@define
class Behind(Wire):
    """The model behind a provider, and what its vendor would refuse in requests and answers."""

    provider: str
    draw: random.Random
    invalid: list[str] = field(factory=list)
    requests: int = 0
    broken: Counter[str] = field(factory=Counter)
    _is_repair: bool = False
    _last: str = ""

    def answer(self, node: str, prompt: str, schema: Mapping[str, Any] | None) -> str:
        """Return the answer of a node: one that fits its schema, or a broken one."""
        self.requests += 1
        said = RandomModel(self.draw).complete(ModelRequest(node, prompt, schema))
        if self._is_repair and "Your last answer was refused" not in prompt:
            self.invalid.append(f"an answer was taken that was broken: {self._last}")
        if schema is None:
            return said
        if not _NAME.fullmatch(node):
            self.invalid.append(f"{node!r} is no name")
        self.invalid += faults_of(schema, self.provider)
        data = constrained(schema, json.loads(said))
        self.invalid += (
            f"{error.json_path}: {error.message}"
            for error in Draft202012Validator(schema).iter_errors(data)
        )
        self._is_repair, was = (
            not self._is_repair and not self.draw.randrange(_EVERY),
            self._is_repair,
        )
        if not self._is_repair or was:
            return json.dumps(data)
        # The arguments of a tool are JSON data before the agent sees them.
        kinds = {*BROKEN} - ({"a key twice", "NaN"} if self.provider == "anthropic" else set())
        kind = self.draw.choice(sorted(kinds))
        self.broken[kind] += 1
        self._last = kind
        return BROKEN[kind](data)


def _node_of(schema: Mapping[str, Any]) -> str:
    marks = {"intent": "understand", "decision": "think", "calls": "act"}
    return next(node for name, node in marks.items() if name in schema["properties"])


def client_of(provider: str, url: str, *, is_async: bool = False) -> Any:
    """Return the SDK's client."""
    if provider == "gemini":
        genai: Any = importlib.import_module("google.genai")  # an extra
        return genai.Client(api_key="none", http_options={"base_url": url})
    if provider == "anthropic":
        import anthropic  # noqa: PLC0415 - one of several

        claude: Any = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return claude(api_key="none", base_url=url, max_retries=0)
    import openai  # noqa: PLC0415 - one of several

    gpt: Any = openai.AsyncOpenAI if is_async else openai.OpenAI
    return gpt(api_key="none", base_url=f"{url}/v1", max_retries=0)


def strict_of(provider: str, wire: Wire) -> Any:
    """Return the strict vendor that asks a wire for its answers."""
    match provider:
        case "openai":
            return StrictChat(wire.chat)
        case "openai-responses":
            return StrictResponses(wire.responses)
        case "anthropic":
            return StrictAnthropic(wire.anthropic)
        case _:
            return StrictGemini(wire.gemini, model=MODELS["gemini"])


MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude",
    "gemini": "gemini-2.5-flash",
}


def converse(provider: str, conversations: int, seed: int = 0) -> tuple[Behind, list[str]]:
    """Hold conversations on a vendor; return the model behind it, and what became of replies."""
    behind, lost = Behind(provider, random.Random(seed)), list[str]()  # noqa: S311 - a test's
    with StrictServer((strict_of(provider, behind),)) as server:
        client = client_of(provider, server.url)
        model = model_of(client, MODELS[provider], provider=provider)
        for number in range(conversations):
            session = begun()
            agent = Agent(session, model, tools()[:1])
            for place in range(EXCHANGES):
                try:
                    reply = agent.send(f"Look for code-{number}{place}, please.")
                except Exception as error:  # noqa: BLE001 - counted
                    lost.append(f"{type(error).__name__}: {error}")
                else:
                    if not reply.startswith("Here is") or reply != session.log()[-1].text:
                        lost.append(f"{reply!r} in place of the reply")
        client.close()
    return behind, lost


def main() -> int:
    """Print the figures of each vendor; return 1 if a request was invalid or a reply lost."""
    parser = argparse.ArgumentParser(description="Run agents on strict providers of four vendors.")
    parser.add_argument("--conversations", type=int, default=500, metavar="N")
    parser.add_argument("--provider", choices=[*MODELS], action="append")
    asked = parser.parse_args()
    bad = 0
    for provider in asked.provider or MODELS:
        behind, lost = converse(provider, asked.conversations)
        bad += len(behind.invalid) + len(lost)
        sys.stdout.write(
            f"{provider}: {asked.conversations} conversations, {behind.requests} requests, "
            f"{len(behind.invalid)} invalid, {behind.broken.total()} answers broken in "
            f"{len(behind.broken)} ways, {len(lost)} replies lost\n"
        )
        for each in [*dict.fromkeys([*behind.invalid, *lost])][:10]:
            sys.stdout.write(f"  {each}\n")
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
