"""Conversations of the OpenAI and Anthropic SDKs through a stock LiteLLM proxy and our server.

Usage: ``python -m tests.server.litellm_proxy [--conversations N]``, or ``just gateway``. The proxy
is installed into an environment of its own; its guardrail `headroom` sends rows to
`polycontext serve --compress-only`. Behind it are strict vendors in this process. Half way, the
proxy and our server are killed and started anew. Exit code 1 if something was refused or changed
that must not be.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
from attrs import define, field

from polycontext.testing.strict import StrictServer
from tests.house import free_port
from tests.vendors import StrictAnthropic, StrictChat, StrictResponses

LITELLM = "litellm[proxy]==1.106.2"
TOKEN, OTHER, KEY = "a-token-of-the-proxy-1", "a-token-of-another-1", "sk-of-the-proxy-0123456789"
ROUTES = ("chat", "messages", "responses")
STEPS = 4
"""The exchanges of a conversation; the servers are restarted after half of them."""

WRONG = "own originals lost, or those of another token found"
BAD = (
    "refused",
    "rows too many or too few",
    "prefixes broken",
    "errors that are missing",
    WRONG,
)
"""What must not be."""

_NAME, _HASH = re.compile(r"conversation (\d+)"), re.compile(r"hash=([0-9a-f]{24})")

Row = Mapping[str, Any]


def result_of(number: int, step: int) -> str:
    """Return the result of a tool: a log with an error in the middle."""
    waits = "waiting for the lock\n" * 150
    return f"log {number}.{step}\n{waits}Error: no key {number * 37 + step} in vault.py\n{waits}end"


@define
class Vendor:
    """What the models were sent, by conversation, in order; a model answers by a script."""

    sent: dict[int, list[Sequence[Row]]] = field(factory=lambda: defaultdict(list))
    recalls: int = 0

    def models(self) -> Sequence[Any]:
        """Return the strict vendors, one for each route."""
        kinds = (StrictChat, StrictAnthropic, StrictResponses)
        return [
            kind(partial(self.answer, route)) for route, kind in zip(ROUTES, kinds, strict=True)
        ]

    def answer(self, route: str, request: Mapping[str, Any]) -> Any:
        """Return a text, or a call of the tool that retrieves what was shortened."""
        rows = request.get("messages") or request["input"]
        text = json.dumps(rows)
        found = _NAME.search(text)
        assert found, text[:500]
        self.sent[int(found[1])].append(rows)
        names = [(tool.get("function") or tool).get("name") for tool in request.get("tools") or ()]
        hashes = _HASH.findall(text)
        if "recall" in json.dumps(rows[-1]) and "headroom_retrieve" in names and hashes:
            self.recalls += 1
            return _retrieving(route, {"hash": hashes[0]})
        return "Fine."


def _retrieving(route: str, arguments: Row) -> Any:
    """Return a call of the proxy's tool, in the words of the vendor."""
    name = "headroom_retrieve"
    if route == "messages":
        return [{"type": "tool_use", "id": "call_r", "name": name, "input": arguments}]
    given = {"name": name, "arguments": json.dumps(arguments)}
    if route == "responses":
        return [{"type": "function_call", "call_id": "call_r", **given}]
    calls = [{"id": "call_r", "type": "function", "function": given}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


@define
class Talk:
    """A conversation of an unmodified SDK."""

    number: int
    ask: Callable[[str, list[Row]], object]
    rows: list[Row] = field(factory=list[Row])
    asked: list[int] = field(factory=list[int])
    handed_on: int = 0

    @property
    def route(self) -> str:
        """Return the route that the conversation takes."""
        return ROUTES[self.number % len(ROUTES)]

    def step(self, step: int) -> None:
        """Send an exchange: a call's result, and a message of the user."""
        if not step:
            self._add("user", f"This is conversation {self.number}. Fix the build.")
        self._call(step)
        self._ask()
        self._add("assistant", "Fine.")
        self._add("user", "Please recall the first log." if step % 2 else f"Next: {step}.")
        self._ask()
        self._add("assistant", "Fine.")
        self._add("user", "Go on.")

    def _ask(self) -> None:
        self.asked.append(len(self.rows))
        # A call of the proxy's own tool is the proxy's to answer.
        self.handed_on += "headroom_retrieve" in _called(self.ask(self.route, self.rows))

    def _add(self, role: str, text: str) -> None:
        self.rows.append({"role": role, "content": text})

    def _call(self, step: int) -> None:
        name, arguments, text = (
            f"c{self.number}_{step}",
            {"step": step},
            result_of(self.number, step),
        )
        if self.route == "chat":
            function = {"name": "run", "arguments": json.dumps(arguments)}
            call = {"id": name, "type": "function", "function": function}
            self.rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
            self.rows.append({"role": "tool", "tool_call_id": name, "content": text})
        elif self.route == "messages":
            use = {"type": "tool_use", "id": name, "name": "run", "input": arguments}
            told = {"type": "tool_result", "tool_use_id": name, "content": text}
            self.rows.append({"role": "assistant", "content": [use]})
            self.rows.append({"role": "user", "content": [told]})
        else:
            given = {"name": "run", "arguments": json.dumps(arguments)}
            self.rows.append({"type": "function_call", "call_id": name, **given})
            self.rows.append({"type": "function_call_output", "call_id": name, "output": text})


def _called(answer: Any) -> list[str]:
    """Return the names of the tools that an SDK's answer calls."""
    told = answer.model_dump()
    calls = [
        call["function"]
        for each in told.get("choices", ())
        for call in each["message"]["tool_calls"] or ()
    ]
    return [
        str(each.get("name"))
        for each in (*calls, *told.get("content", ()), *told.get("output", ()))
    ]


def asking(url: str) -> Callable[[str, list[Row]], object]:
    """Return a function that sends rows on a route by the vendors' SDKs."""
    chat = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=120)
    claude = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0, timeout=120)
    schema = {"type": "object", "properties": {"step": {"type": "integer"}}}
    function = {"name": "run", "parameters": schema}

    def ask(route: str, rows: list[Row]) -> object:
        given: Any = [*rows]
        if route == "chat":
            tools: Any = [{"type": "function", "function": function}]
            return chat.chat.completions.create(model="gpt-5", messages=given, tools=tools)
        if route == "messages":
            tools = [{"name": "run", "input_schema": schema}]
            return claude.messages.create(
                model="claude-sonnet-4-5", max_tokens=500, messages=given, tools=tools
            )
        tools = [{"type": "function", **function}]
        return chat.responses.create(model="gpt-5", input=given, tools=tools, store=False)

    return ask


@contextmanager
def running(command: Sequence[str], ready: str, log: Path, **environment: str) -> Generator[None]:
    """Run a server until the block ends, and then kill it."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    try:
        until = time.monotonic() + 900
        while True:
            with suppress(httpx.HTTPError):
                if httpx.get(ready, timeout=2).status_code < 500:
                    break
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{command[0]} does not start: {log.read_text()[-2000:]}")
            time.sleep(0.2)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def servers(folder: Path, ports: Sequence[int]) -> Generator[None]:
    """Run our server and the proxy."""
    door, proxy = (f"http://127.0.0.1:{port}" for port in ports)
    (folder / "tokens").write_text(f"{TOKEN}\n{OTHER}\n")
    ours = [str(Path(sys.executable).with_name("polycontext")), "serve", "--compress-only"]
    ours += ["--originals", str(folder / "originals.db"), "--token-file", str(folder / "tokens")]
    ours += ["--port", str(ports[0]), "--a-minute", "1000000"]
    uv = shutil.which("uv") or "uv"
    theirs = [uv, "run", "--isolated", "--no-project", "--with", LITELLM, "litellm"]
    theirs += ["--config", str(folder / "config.yaml"), "--port", str(ports[1])]
    with (
        running(ours, f"{door}/openapi.json", folder / "ours.log"),
        running(
            theirs,
            f"{proxy}/health/liveliness",
            folder / "proxy.log",
            LITELLM_LOCAL_MODEL_COST_MAP="True",
            LITELLM_MASTER_KEY=KEY,
        ),
    ):
        yield


def configuration(vendor: str, door: str) -> str:
    """Return the proxy's configuration; JSON is YAML."""
    guardrail = {"guardrail": "headroom", "mode": "pre_call", "default_on": True}
    return json.dumps(
        {
            "model_list": [
                {"model_name": name, "litellm_params": {"model": f"{kind}/{name}", **rest}}
                for name, kind, rest in (
                    ("gpt-5", "openai", {"api_base": f"{vendor}/v1", "api_key": "none"}),
                    ("claude-sonnet-4-5", "anthropic", {"api_base": vendor, "api_key": "none"}),
                )
            ],
            "guardrails": [
                {
                    "guardrail_name": "polycontext",
                    "litellm_params": {**guardrail, "api_base": door, "api_key": TOKEN},
                }
            ],
        }
    )


def judged(vendor: Vendor, talks: Sequence[Talk], found: Counter[str]) -> None:
    """Count what the vendors were sent."""
    for talk in talks:
        requests = [[*map(_plain, rows)] for rows in vendor.sent[talk.number]]
        asked = [rows for rows in requests if "call_r" not in rows[-1]]
        recalled = [rows for rows in requests if "call_r" in rows[-1]]
        found["requests"] += len(asked)
        found["rows too many or too few"] += [*map(len, asked)] != talk.asked
        found["recalled whole"] += sum(
            json.dumps(result_of(talk.number, 0))[1:-1] in rows[-1] for rows in recalled
        )
        found["calls handed on to the client"] += talk.handed_on
        for step, rows in enumerate(asked):
            found["excerpts"] += sum("Excerpt of" in row for row in rows)
            keys = {*re.findall(r"no key (\d+) in", "".join(rows))}
            found["errors that are missing"] += len(keys) != 1 + step // 2
        for before, now in pairwise(asked):
            # The last exchange was withheld from the earlier request.
            settled = before[:-1] if "waiting" in before[-1] else before
            found["prefixes broken"] += now[: len(settled)] != settled
            found["results shortened a request later"] += now[: len(before)] != before


def _plain(row: Row) -> str:
    """Return a row as text; the proxy writes some texts as a list of one block."""
    content = row.get("content")
    if isinstance(content, str):
        row = {**row, "content": [{"type": "text", "text": content}]}
    return json.dumps(row)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the conversations, print what was counted, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=200)
    options = parser.parse_args(arguments)
    vendor, found = Vendor(), Counter[str]()
    models = vendor.models()
    with tempfile.TemporaryDirectory() as place, StrictServer(models) as server:
        folder, ports = Path(place), [free_port(), free_port()]
        door = f"http://127.0.0.1:{ports[0]}"
        (folder / "config.yaml").write_text(configuration(server.url, door))
        ask = asking(f"http://127.0.0.1:{ports[1]}")
        talks = [Talk(number, ask) for number in range(options.conversations)]
        for steps in (range(STEPS // 2), range(STEPS // 2, STEPS)):
            with servers(folder, ports):
                with ThreadPoolExecutor(4) as pool:
                    errors = [*filter(None, pool.map(partial(_run, steps), talks))]
                found["refused"] += len(errors)
                log = (folder / "ours.log").read_text()
                found["answered too late to be shortened"] = log.count("were not shortened")
                print(*errors[:3], sep="\n", end="")  # noqa: T201 - the report
                _retrieve(door, vendor, found)
    judged(vendor, talks, found)
    found["recalls"] = vendor.recalls
    print(json.dumps(dict(found), indent=1))  # noqa: T201 - the report
    is_lost = found["recalls"] != found["recalled whole"] + found["calls handed on to the client"]
    return int(is_lost or any(found[name] for name in BAD))


def _retrieve(door: str, vendor: Vendor, found: Counter[str]) -> None:
    """Ask for all originals with the token of the proxy, and with another one."""
    hashes = {*_HASH.findall(json.dumps(vendor.sent))}
    found["originals"] = len(hashes)
    for token, wanted in ((TOKEN, 200), (OTHER, 404)):
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}) as client:
            for name in hashes:
                got = client.get(f"{door}/v1/retrieve/{name}").status_code
                found[WRONG] += got != wanted


def _run(steps: Sequence[int], talk: Talk) -> str:
    try:
        for step in steps:
            talk.step(step)
    except (openai.OpenAIError, anthropic.AnthropicError) as error:
        return f"{talk.route}: {error}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
