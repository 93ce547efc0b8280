"""One conversation, written as each host writes it, with rows of the host between."""

import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from attrs import frozen
from hypothesis import strategies as st


@frozen
class Step:
    """A message: of the user, or of the assistant with calls (a number each) and their results."""

    role: str
    text: str
    calls: tuple[tuple[int, str], ...] = ()


Rows = list[dict[str, Any]]


def expected(steps: Sequence[Step]) -> Rows:
    """Return the messages that every reader must find."""
    told: Rows = []
    for step in steps:
        blocks: Rows = [{"type": "text", "text": step.text}] if step.text else []
        blocks += [
            {"type": "tool_use", "id": f"c{n}", "name": "shell", "input": {"n": n}}
            for n, _ in step.calls
        ]
        told.append({"role": step.role, "content": blocks})
        if step.calls:
            results = [
                {"type": "tool_result", "tool_use_id": f"c{n}", "content": text}
                for n, text in step.calls
            ]
            told.append({"role": "user", "content": results})
    return told


def claude_code(steps: Sequence[Step]) -> Rows:
    """Return rows of Claude Code: a block of an answer a row, a result a row."""
    rows: Rows = [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}]

    def add(kind: str, message: dict[str, Any], **more: Any) -> None:
        own = (row["uuid"] for row in reversed(rows) if "uuid" in row and row["uuid"] != "side")
        above = next(own, None)
        ids = {"uuid": f"u{len(rows)}", "parentUuid": above, "sessionId": "s"}
        rows.append({**ids, "type": kind, "isSidechain": False, "message": message} | more)

    for number, step in enumerate(steps):
        if step.role == "user":
            add("user", {"role": "user", "content": step.text})
            continue
        said = {"role": "assistant", "id": f"msg_{number}"}
        results = []
        for block in expected([step])[0]["content"]:
            add("assistant", {**said, "content": [block]})
            results.append(block)
        for block in expected([step])[1]["content"] if step.calls else ():
            add("user", {"role": "user", "content": [block]}, toolUseResult={})
        side = {"role": "user", "content": "SIDE"}
        add("user", side, isSidechain=True, uuid="side", parentUuid=None)
        rows.append({"type": "system", "subtype": "turn_duration", "uuid": f"x{number}"})
        rows[-1]["parentUuid"] = rows[-3]["uuid"]
    return rows


def codex(steps: Sequence[Step]) -> Rows:
    """Return rows of Codex, each item once more as an event of the screen."""
    rows: Rows = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/shop"}}]

    def add(kind: str, **item: Any) -> None:
        rows.append({"type": "response_item", "payload": {"type": kind, **item}})
        rows.append({"type": "event_msg", "payload": {"type": "agent_message"}})

    context = [{"type": "input_text", "text": "<environment_context>\n<cwd>/shop</cwd>"}]
    add("message", role="user", content=context)
    for step in steps:
        kind = "input_text" if step.role == "user" else "output_text"
        if step.text:
            add("message", role=step.role, content=[{"type": kind, "text": step.text}])
        add("reasoning", summary=[], encrypted_content="x")
        for n, _ in step.calls:
            add("function_call", name="shell", call_id=f"c{n}", arguments=json.dumps({"n": n}))
        for n, text in step.calls:
            add("function_call_output", call_id=f"c{n}", output=text)
    return rows


def pi(steps: Sequence[Step]) -> Rows:
    """Return rows of pi."""
    rows: Rows = [{"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/shop"}]

    def add(kind: str, **more: Any) -> None:
        above = rows[-1]["id"] if len(rows) > 1 else None
        rows.append({"type": kind, "id": f"e{len(rows)}", "parentId": above, **more})

    for step in steps:
        content: Rows = [{"type": "text", "text": step.text}]
        content += [
            {"type": "toolCall", "id": f"c{n}", "name": "shell", "arguments": {"n": n}}
            for n, _ in step.calls
        ]
        add("message", message={"role": step.role, "content": content})
        for n, text in step.calls:
            result = {"role": "toolResult", "toolCallId": f"c{n}", "isError": False}
            add("message", message={**result, "content": [{"type": "text", "text": text}]})
        add("model_change", provider="anthropic", modelId="m")
    return rows


def opencode(steps: Sequence[Step]) -> dict[str, Any]:
    """Return an export of OpenCode."""
    messages: Rows = []
    for number, step in enumerate(steps):
        parts: Rows = [{"type": "step-start"}, {"type": "text", "text": step.text}]
        for n, text in step.calls:
            state = {"status": "completed", "input": {"n": n}, "output": text}
            parts.append({"type": "tool", "callID": f"c{n}", "tool": "shell", "state": state})
        info = {"role": step.role, "id": f"m{number}", "sessionID": "s"}
        messages.append({"info": info, "parts": parts})
    return {"info": {"id": "s", "version": "1.18.33"}, "messages": messages}


def gemini_cli(steps: Sequence[Step]) -> Rows:
    """Return rows of Gemini CLI."""
    rows: Rows = [{"sessionId": "s", "projectHash": "h", "startTime": "t"}]
    for step in steps:
        kind = "user" if step.role == "user" else "gemini"
        calls = [
            {
                "id": f"c{n}",
                "name": "shell",
                "args": {"n": n},
                "status": "success",
                "result": [{"functionResponse": {"id": f"c{n}", "response": {"output": text}}}],
            }
            for n, text in step.calls
        ]
        row = {"id": f"m{len(rows)}", "type": kind, "content": step.text, "toolCalls": calls}
        rows += [{**row, "content": "unfinished"}, row, {"id": f"i{len(rows)}", "type": "info"}]
    return rows


def qwen_code(steps: Sequence[Step]) -> Rows:
    """Return rows of Qwen Code."""
    rows: Rows = []

    def add(kind: str, role: str, parts: Rows) -> None:
        ids = {"uuid": f"u{len(rows)}", "parentUuid": rows[-1]["uuid"] if rows else None}
        message = {"role": role, "parts": parts}
        rows.append({**ids, "sessionId": "s", "type": kind, "message": message})

    for step in steps:
        parts: Rows = [{"text": "let me think", "thought": True}, {"text": step.text}]
        parts += [
            {"functionCall": {"id": f"c{n}", "name": "shell", "args": {"n": n}}}
            for n, _ in step.calls
        ]
        add(step.role, "user" if step.role == "user" else "model", parts[step.role == "user" :])
        for n, text in step.calls:
            answer = {"id": f"c{n}", "name": "shell", "response": {"output": text}}
            add("tool_result", "user", [{"functionResponse": answer}])
    return rows


WRITERS: dict[str, Callable[[Sequence[Step]], Any]] = {
    "Claude Code": claude_code,
    "Codex": codex,
    "pi": pi,
    "OpenCode": opencode,
    "Gemini CLI": gemini_cli,
    "Qwen Code": qwen_code,
}

STEPS = [
    Step("user", "Fix the price. Never push to main."),
    Step("assistant", "I look.", ((1, "price = 3"), (2, "two files"))),
    Step("user", "Use cents."),
    Step("assistant", "It is in cents."),
]

RECORDS: dict[str, Any] = {
    "ShareGPT": {
        "conversations": [
            {"from": "human", "value": "Fix it."},
            {"from": "function_call", "value": '{"n": 1}'},
            {"from": "observation", "value": "done 7"},
            {"from": "gpt", "value": "It is fixed."},
        ]
    },
    "LangChain": [
        {"type": "human", "data": {"content": "Fix it."}},
        {
            "type": "ai",
            "data": {"content": "", "tool_calls": [{"id": "c", "name": "f", "args": {"n": 1}}]},
        },
        {"type": "tool", "data": {"content": "done 7", "tool_call_id": "c"}},
        {"type": "ai", "data": {"content": [{"type": "text", "text": "It is fixed."}]}},
    ],
    "Vercel AI SDK": [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Fix it."}]},
        {
            "id": "2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "tool-f", "toolCallId": "c", "input": {"n": 1}, "output": "done 7"},
                {"type": "text", "text": "It is fixed."},
            ],
        },
    ],
}


TEXTS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=20)


@st.composite
def conversations(draw: st.DrawFn) -> list[Step]:
    """Return a conversation: requests, and answers with up to three calls each."""
    numbers, steps = count(), list[Step]()
    for number in range(draw(st.integers(1, 5))):
        steps.append(Step("user", f"{number} {draw(TEXTS)}"))
        for _ in range(draw(st.integers(1, 3))):
            results = draw(st.lists(TEXTS, max_size=3))
            calls = tuple((next(numbers), result) for result in results)
            steps.append(Step("assistant", f"{next(numbers)} {draw(TEXTS)}", calls))
    return steps
