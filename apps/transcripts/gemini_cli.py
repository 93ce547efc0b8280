"""Session files of Gemini CLI and of Qwen Code, whose messages have Gemini's parts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .branches import abandoned
from .transcript import (
    Gatherer,
    Row,
    Transcript,
    as_text,
    call_block,
    only,
    picture_block,
    text_block,
    unpacked,
)

_FIELDS = ("type", "subtype", "uuid", "parentUuid", "message")
_ROLES = {"user": "user", "gemini": "assistant"}
_OF_HOST = ("<session_context>", "<hook_context>", "This is the Gemini CLI. We are setting up")
"""How messages begin that Gemini CLI writes in the user's name."""


def read_gemini_cli(rows: Iterable[Row]) -> Transcript:
    """Return the conversation of a session file of Gemini CLI, one document or a row a message.

    A row with the id of an earlier one replaces it, `$set` replaces all, and `$rewindTo` takes back
    what came from a message on.
    """
    gathered, messages = Gatherer(), dict[str, Row]()
    for line, row in rows:
        match row:
            case {"$rewindTo": str(name)}:
                order = [*messages]
                for each in order[order.index(name) if name in messages else len(order) :]:
                    del messages[each]
            case {"$set": {"messages": list() as all_of_them}}:
                messages = _by_id(line, all_of_them)
            case {"messages": list() as all_of_them}:
                messages |= _by_id(line, all_of_them)
            case {"type": str(), "id": _}:
                messages |= _by_id(line, [row])
            case _:
                gathered.left_out["of the host"] += 1
    for line, message in messages.values():
        if (why := _why_not(message)) is not None:
            gathered.left_out[why] += 1
            continue
        name, role = str(message.get("id") or id(message)), _ROLES[str(message["type"])]
        gathered.say(line, role, _blocks(message.get("content")), name)
        for number, call in enumerate(message.get("toolCalls") or []):
            _add_call(line, name, number, call, gathered)
    return gathered.transcript("Gemini CLI")


def _why_not(message: Mapping[str, Any]) -> str | None:
    """Return why a message is left out of the conversation, or None for a turn of it."""
    kind = str(message.get("type"))
    if kind == "user" and as_text(_blocks(message.get("content"))).lstrip().startswith(_OF_HOST):
        return "of the host"
    return None if kind in _ROLES else kind


def read_qwen_code(rows: Iterable[Row]) -> Transcript:
    """Return the conversation of a session file of Qwen Code."""
    held, gathered = only(rows, _FIELDS), Gatherer()
    left = abandoned([row for _, row in held], "uuid", "parentUuid", _is_prompt)
    for line, row in held:
        message = unpacked(row.get("message"))
        if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
            gathered.left_out[f"{row.get('type')} {row.get('subtype') or ''}".strip()] += 1
        elif row.get("uuid") in left:
            gathered.left_out["of a branch that was left"] += 1
        else:
            _add_parts(line, row, message["parts"], gathered)
    return gathered.transcript("Qwen Code")


def _is_prompt(row: Mapping[str, Any]) -> bool:
    return row.get("type") == "user"


def _by_id(line: int, messages: Sequence[Any]) -> dict[str, Row]:
    told = [message for message in messages if isinstance(message, dict)]
    return {str(message.get("id") or id(message)): (line, message) for message in told}


def _add_call(line: int, message: str, number: int, call: Any, gathered: Gatherer) -> None:
    if not isinstance(call, dict):
        return
    name = str(call.get("id") or f"{message}-{number}")
    block = call_block(name, str(call.get("name") or ""), call.get("args"))
    gathered.say(line, "assistant", [block], message)
    result = call.get("result")
    told = [_said(part) for part in (result if isinstance(result, list) else [result])]
    failed = call.get("status") in ("error", "cancelled")
    if any(told) or failed:
        text = "\n".join(filter(None, told)) or str(call["status"])
        gathered.answer(line, name, text, failed=failed)


def _said(part: Any) -> str:
    """Return the text of a result, which Gemini wraps as `functionResponse`."""
    if not isinstance(part, dict):
        return str(part or "")
    answered = part.get("functionResponse")
    response = answered.get("response") if isinstance(answered, dict) else None
    if isinstance(response, dict):
        return "\n".join(as_text(each) for each in response.values())
    return str(part.get("text") or "")


def _add_parts(line: int, row: Mapping[str, Any], parts: Sequence[Any], gathered: Gatherer) -> None:
    role = "assistant" if row.get("type") == "assistant" else "user"
    said = _blocks(parts)
    for part in parts:
        match part:
            case {"functionCall": {"name": str(name)} as call}:
                said.append(call_block(str(call.get("id") or name), name, call.get("args")))
            case {"functionResponse": {"name": str(name)} as answer}:
                gathered.answer(line, str(answer.get("id") or name), _said(part))
            case _:
                continue
    gathered.say(line, role, said)


def _blocks(content: Any) -> list[dict[str, Any]]:
    blocks = list[dict[str, Any]]()
    for part in content if isinstance(content, list) else [content]:
        match part:
            case str():
                blocks.append(text_block(part))
            case {"thought": True}:
                continue
            case {"text": str(text)}:
                blocks.append(text_block(text))
            case {"inlineData": {"data": str(data), "mimeType": str(mime)}}:
                blocks.append(picture_block(data, mime))
            case _:
                continue  # calls stand beside, and other parts are of the screen
    return blocks
