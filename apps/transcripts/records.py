"""Conversations that stand in one JSON value: an export of OpenCode, rows of data sets."""

from collections.abc import Mapping, Sequence
from typing import Any

from .transcript import (
    Gatherer,
    Transcript,
    as_text,
    call_block,
    picture_block,
    text_block,
)

_SPEAKERS = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
    "system": "system",
}


def is_opencode(value: Any) -> bool:
    """Return whether a value is an export of OpenCode."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("info"), dict)
        and _have(value.get("messages"), "info", "parts")
    )


def read_opencode(value: Mapping[str, Any]) -> Transcript:
    """Return the conversation of an export of OpenCode; what was reverted is left out."""
    gathered = Gatherer()
    reverted = value["info"].get("revert")
    until = reverted.get("messageID") if isinstance(reverted, dict) else None
    tail, names = None, [message["info"].get("id") for message in value["messages"]]
    for place, message in enumerate(value["messages"]):
        info, parts = message["info"], message["parts"]
        if until is not None and info.get("id") == until:
            break
        marks = [each for each in parts if isinstance(each, dict) and each["type"] == "compaction"]
        if marks or info.get("summary") is True:
            gathered.left_out["a compaction"] += 1
            if marks:
                tail = marks[0].get("tail_start_id")
            else:
                start = names.index(tail) if tail in names else place
                kept = [each["parts"] for each in value["messages"][start:place]]
                gathered.compact(parts, kept)
            continue
        _add_parts(str(info.get("role")), message["parts"], gathered)
    return gathered.transcript("OpenCode")


def _add_parts(role: str, parts: Sequence[Any], gathered: Gatherer) -> None:
    """Add the parts of a message; text behind a call begins another message."""
    speaker = "assistant" if role == "assistant" else "user"
    said, calls = list[dict[str, Any]](), list[Mapping[str, Any]]()
    told: list[dict[str, Any]] = [part for part in parts if isinstance(part, dict)]
    for part in [*told, dict[str, Any](type="end")]:
        kind = part.get("type")
        if kind in ("text", "end") and calls:
            gathered.say(1, speaker, said)
            for call in calls:
                state = call["state"]
                result = state.get("output", state.get("error"))
                text = as_text(result) if result is not None else f"[{state.get('status')}]"
                failed = state.get("status") == "error"
                gathered.answer(1, str(call.get("callID")), text, failed=failed)
            said, calls = [], []
        if kind == "text" and not part.get("ignored"):
            said.append(text_block(str(part.get("text") or "")))
        elif kind == "file":
            said.append(picture_block(str(part.get("url") or ""), str(part.get("mime") or "")))
        elif kind == "tool" and isinstance(part.get("state"), dict):
            name, given = str(part.get("tool") or ""), part["state"].get("input")
            said.append(call_block(str(part.get("callID")), name, given or {}))
            calls.append(part)
        elif kind not in ("text", "end"):
            gathered.left_out[str(kind)] += 1
    gathered.say(1, speaker, said)


def is_sharegpt(value: Any) -> bool:
    """Return whether a value is a row of ShareGPT: `conversations` of `from` and `value`."""
    return isinstance(value, dict) and _have(value.get("conversations"), "from", "value")


def read_sharegpt(value: Mapping[str, Any]) -> Transcript:
    """Return the conversation in a row of ShareGPT, whose calls and results have no ids."""
    gathered, number, waiting = Gatherer(), 0, list[str]()
    if isinstance(value.get("system"), str):
        gathered.say(1, "system", [text_block(value["system"])])
    for message in value["conversations"]:
        speaker, text = str(message["from"]), as_text(message["value"])
        if speaker == "function_call":
            number += 1
            waiting.append(f"call_{number}")
            gathered.say(1, "assistant", [call_block(waiting[-1], "function", text)])
        elif speaker in ("observation", "tool", "function_response"):
            gathered.answer(1, waiting.pop(0) if waiting else "", text)
        else:
            gathered.say(1, _SPEAKERS.get(speaker, "user"), [text_block(text)])
    return gathered.transcript("ShareGPT")


def is_langchain(value: Any) -> bool:
    """Return whether a value is a list of messages as LangChain writes them."""
    return _have(value, "type", "data") and all(isinstance(each["data"], dict) for each in value)


def read_langchain(value: Sequence[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in a list of LangChain's messages."""
    gathered = Gatherer()
    for message in value:
        kind, data = str(message["type"]), message["data"]
        if kind == "tool":
            failed = data.get("status") == "error"
            told = as_text(data.get("content"))
            gathered.answer(1, str(data.get("tool_call_id")), told, failed=failed)
            continue
        said = [text_block(as_text(data.get("content")))]
        said += [
            call_block(str(call.get("id")), str(call.get("name")), call.get("args"))
            for call in data.get("tool_calls") or ()
        ]
        gathered.say(1, _SPEAKERS.get(kind, "user"), said)
    return gathered.transcript("LangChain")


def is_vercel(value: Any) -> bool:
    """Return whether a value is a list of messages of Vercel's AI SDK, whose parts have types."""
    return _have(value, "role", "parts") and all(
        isinstance(each["parts"], list)
        and all(isinstance(part, dict) and "type" in part for part in each["parts"])
        for each in value
    )


def read_vercel(value: Sequence[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in a list of messages of Vercel's AI SDK."""
    gathered = Gatherer()
    for message in value:
        role = str(message["role"])
        for part in message["parts"]:
            kind = str(part["type"])
            if kind == "text":
                gathered.say(1, role, [text_block(str(part.get("text") or ""))])
            elif kind == "file":
                mime = str(part.get("mediaType") or "")
                gathered.say(1, role, [picture_block(str(part.get("url") or ""), mime)])
            elif kind == "dynamic-tool" or kind.startswith("tool-"):
                call = str(part.get("toolCallId"))
                name = str(part.get("toolName") or kind.removeprefix("tool-"))
                gathered.say(1, role, [call_block(call, name, part.get("input") or {})])
                told = part.get("errorText", part.get("output"))
                if told is not None:
                    gathered.answer(1, call, as_text(told), failed="errorText" in part)
            else:
                gathered.left_out[kind] += 1
    return gathered.transcript("Vercel AI SDK")


def _have(values: Any, *names: str) -> bool:
    """Return whether `values` is a list of objects that have all these fields."""
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(each, dict) and all(name in each for name in names) for each in values)
    )
