"""The readers of external input, by name; a new attack is a new entry of `READERS`."""

import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.agents.answers import Understanding
from polycontext.agents.forms import read_answer
from polycontext.base import PolycontextError
from polycontext.bulk import RowCompressor
from polycontext.bulk.certificate import measure
from polycontext.linearity import constraint_sentences
from polycontext.pills import PillDocument
from polycontext.pills.tree import is_ignored
from polycontext.polynomial import ContextSession, project
from polycontext.pressure import ExtractiveSummariser
from polycontext.pressure.notes import truncate
from polycontext.server.rows import RequestCompressor
from polycontext.testing import FAST, ScriptedModel
from polycontext.window import Role, TiktokenCounter, ToolCall, Turn
from polycontext.window.items.markdown import fenced_text
from polycontext.window.media_sizes import image_size

Reader = Callable[[str], object]
SMALL = 100
"""The length of the messages that the reader "extend" makes of a text."""
_ROOM = 10_000_000
_EXACT = TiktokenCounter()


def _session(text: str, *, by_tool: bool) -> ContextSession:
    session = ContextSession(_ROOM, counter=FAST)
    session.add_user_turn("task")
    if by_tool:
        session.add_assistant_turn(None, [ToolCall("c1", "read", "{}")])
        session.add_tool_turn(text, tool_call_id="c1")
    else:
        session.add_assistant_turn("Yes?")
        session.add_user_turn(text or "-")
    return session


def _messages(text: str) -> object:
    return _session(text, by_tool=True).messages()


def _in_window(role: Role) -> Reader:
    """Return a reader of a text in a window that it fills many times over."""

    def read(text: str) -> object:
        session = ContextSession(8_000)
        session.add_user_turn("task")
        if role is Role.TOOL:
            session.add_assistant_turn(None, [ToolCall("c1", "read", "{}")])
            session.add_tool_turn(text, tool_call_id="c1", oversize="truncate")
        else:
            session.add_assistant_turn("Yes?")
            session.add_user_turn(text or "-", oversize="truncate")
        session.add_assistant_turn("Done.")
        session.add_user_turn("go")
        return session.request("openai")

    return read


def _extended(text: str) -> object:
    """Add messages of `SMALL` characters to a window that holds few of them."""
    parts = [text[start : start + SMALL] for start in range(0, len(text), SMALL)]
    session = ContextSession(8_000)
    return session.extend(
        [
            {"role": ("user", "assistant")[index % 2], "content": part.strip() or "-"}
            for index, part in enumerate(parts)
        ]
    )


def _synced(text: str) -> object:
    turns = [Turn(Role.USER, "task"), Turn(Role.ASSISTANT, text or "-")]
    session = ContextSession(8_000)
    session.sync([*turns, Turn(Role.USER, "go")])
    return session.sync([*turns, Turn(Role.USER, "go"), Turn(Role.ASSISTANT, "Done.")])


def _traced(text: str) -> object:
    session = _session(text, by_tool=False)
    return session.history.trace(f"user: {text[:SMALL]}")


def _certified(text: str) -> object:
    """Measure a call whose arguments are many values that stand in the text before it."""
    values = text.split() or ["-"]
    call = {"name": "write", "arguments": json.dumps(dict(enumerate(values)), indent=4)}
    row = [
        {"role": "user", "content": text or "-"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c1", "content": "Done."},
    ]
    return measure(row, [RowCompressor(max_tokens=8_000)])


def _projected(role: str, task: str = "task") -> Reader:
    def read(text: str) -> object:
        messages = [{"role": "user", "content": task}, {"role": role, "content": text}]
        return project(
            [*messages, {"role": "assistant", "content": "."}, {"role": "user", "content": "go"}],
            3_000,
            counter=FAST,
        )

    return read


def _arguments(text: str) -> object:
    turn = Turn(Role.ASSISTANT, None, tool_calls=[ToolCall("c1", "write", text)])
    return ExtractiveSummariser().summarise([turn], 2_000, counter=FAST)


def _ignored(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".gitignore").write_text(text, encoding="utf-8", errors="surrogatepass")
        return is_ignored(root, "a/b.py")


def _search(text: str) -> object:
    session = _session("plain words to be found", by_tool=True)
    return session.history.search(text)


def _image(text: str) -> object:
    return image_size(b"\xff\xd8" + text.encode("utf-8", "surrogatepass"))


def _json(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list.json"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        with suppress(ValueError, RecursionError):
            return json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    return None


def _rows(role: str, text: str) -> object:
    return RequestCompressor().compress([{"role": role, "content": text, "tool_call_id": "c1"}])


def _agent(text: str, *, result: str = "") -> object:
    """Send a text to an agent, or let its tool return one."""
    step = {"type": "read", "subdomain": "x", "description": "Read"}
    forms = [
        {"intent": "read", "confidence": 0.9},
        {"decision": "plan_direct", "goal": "Read", "steps": [step]},
        *([{"calls": [{"tool": "find", "arguments": {}}]}] if result else []),
        {"outcome": "read"},
    ]
    session = ContextSession(_ROOM, counter=FAST, machine=AgentMachine)
    tools = [Tool("find", lambda **_: result)]
    return Agent(session, ScriptedModel([*map(json.dumps, forms), "Done."]), tools).send(text)


def _refusing(read: Reader) -> Reader:
    """Return a reader whose refusals are answers: what is refused in time costs nothing."""

    def answered(text: str) -> object:
        with suppress(PolycontextError):
            return read(text)
        return None

    return answered


_ALL: dict[str, Reader] = {
    "user turn": lambda text: _session(text, by_tool=False),
    "tool turn": lambda text: _session(text, by_tool=True),
    "messages": _messages,
    "window: user": _in_window(Role.USER),
    "window: tool": _in_window(Role.TOOL),
    "extend": _extended,
    "sync": _synced,
    "trace": _traced,
    "certify": _certified,
    "project: assistant": _projected("assistant"),
    "project: user": _projected("user"),
    "project: with a rule": _projected("user", "From now on, never push to main."),
    "arguments": lambda text: _arguments(json.dumps({"text": text})),
    "bare arguments": _arguments,
    "count": _EXACT.count,
    "classifier": constraint_sentences,
    "cut": lambda text: truncate(text, 2_000, FAST, wanted=text[:1_000]),
    "rows: result": lambda text: _rows("tool", text),
    "rows: pasted": lambda text: _rows("user", text),
    "search query": _search,
    "ignore rules": _ignored,
    "picture": _image,
    "pills": lambda text: PillDocument.parse("").insert_text(0, text),
    "markdown": fenced_text,
    "JSON": _json,
    "agent: message": lambda text: _agent(text or "-"),
    "agent: result": lambda text: _agent("Read.", result=text),
    "agent: answer": lambda text: read_answer(Understanding, text),
}
READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {name: _refusing(read) for name, read in _ALL.items()}
)
