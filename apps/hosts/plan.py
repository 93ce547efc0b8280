"""The plan of a compaction: which of the host's messages stay, and what stands for the others."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any

from attrs import asdict, evolve, field, frozen

from polycontext.base import InvalidDataError
from polycontext.polynomial import ContextOverflowError, Projection, project
from polycontext.pressure import Section, gist
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider

from .contract import VERSION, CompactRequest, Message

_EMPTY = "(empty)"


class Status(StrEnum):
    """How a compaction ended; a host does nothing unless it is `SHORTENED`."""

    SHORTENED = "shortened"
    FITS = "nothing to shorten"
    CANNOT = "cannot be shortened that far"


@frozen
class CompactAnswer:
    """The answer to a request.

    Attributes:
        plan: for a list, the items of the new one in order. `{"keep": 3}` is the host's message 3,
            with `"cut": {"call id": "text"}` if results in it are shortened; `{"message": …}` is
            another.
        summary: for one text, that text.
        open: what is not finished, a line each.
        needed: the tokens that would suffice, if it cannot be shortened that far.
    """

    status: Status
    tokens_before: int
    tokens_after: int
    plan: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    summary: str | None = field(default=None, repr=False)
    open: Sequence[str] = ()
    kept: int = 0
    summarised: int = 0
    dropped: int = 0
    needed: int | None = None

    def spelled_out(self, messages: Sequence[Message]) -> "CompactAnswer":
        """Return the answer with `messages` in place of their indices, which a host does not know.

        >>> kept = CompactAnswer(Status.FITS, 9, 9, plan=[{"keep": 0}])
        >>> kept.spelled_out([Message("user", "Hello!")]).plan[0]["message"]["text"]
        'Hello!'
        """
        return evolve(self, plan=[_spelled_out(item, messages) for item in self.plan])

    def to_data(self) -> dict[str, Any]:
        """Return the answer as JSON data."""
        told = {
            "version": VERSION,
            "status": self.status.value,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "kept": self.kept,
            "summarised": self.summarised,
            "dropped": self.dropped,
            "open": [*self.open],
        }
        if self.needed is not None:
            return told | {"needed": self.needed}
        return told | (
            {"plan": [*self.plan]} if self.summary is None else {"summary": self.summary}
        )


def answer(request: CompactRequest) -> CompactAnswer:
    """Return the answer to a request with messages.

    The result has at most `low_mark` of the window, or as little as is possible within the window.
    Laws: calls stand with their results; the answer to the new list is that it fits.

    Raises:
        InvalidDataError: the messages cannot be read; names the message.
    """
    rows = [*_rows(request.messages)]
    sent = [row for _, row in rows]
    target = max(1, int(request.max_tokens * request.low_mark))
    try:
        done = _projected(sent, target, request)
    except ContextOverflowError as error:
        if error.tokens > request.max_tokens:
            return CompactAnswer(Status.CANNOT, error.tokens, error.tokens, needed=error.tokens)
        done = _projected(sent, error.tokens, request)
    except InvalidMessagesError as error:
        place = "messages" if error.index is None else f"messages[{rows[error.index][0]}]"
        raise InvalidDataError(f"$.{place}", error.problem, error.legal) from None
    return CompactAnswer(
        Status.SHORTENED if done.changed else Status.FITS,
        done.tokens_before,
        done.tokens_after,
        plan=() if request.shape == "text" else [*_items(rows, done.messages)],
        summary=_as_text(done.messages) if request.shape == "text" else None,
        open=_open(done.messages),
        kept=len(done.kept),
        summarised=len(done.gisted),
        dropped=len(done.dropped),
    )


def _projected(sent: list[dict[str, Any]], tokens: int, request: CompactRequest) -> Projection:
    return project(
        sent, max_tokens=tokens, provider=Provider.OPENAI, query=request.query, repair=True
    )


def _rows(messages: Sequence[Message]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the messages in OpenAI's format, in which each result is one, with their indices."""
    for index, message in enumerate(messages):
        for each in message.results:
            content = each.text if each.text.strip() else _EMPTY
            yield index, {"role": "tool", "tool_call_id": each.id, "content": content}
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(dict(call.input), ensure_ascii=False),
                },
            }
            for call in message.calls
        ]
        if message.text.strip() or calls:
            said = {"role": message.role, "content": message.text if message.text.strip() else None}
            yield index, said | ({"tool_calls": calls} if calls else {})


def _items(
    rows: Sequence[tuple[int, Mapping[str, Any]]], left: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the items of the plan: rows of one message of the host are one item."""
    found, at = list[tuple[int | None, Mapping[str, Any], bool]](), 0
    for row in left:
        place = next((n for n in range(at, len(rows)) if _is_same(rows[n][1], row)), None)
        is_cut = place is not None and rows[place][1] != row
        found.append((None if place is None else rows[place][0], row, is_cut))
        at = at if place is None else place + 1
    sizes = Counter(index for index, _ in rows)
    for index, group in groupby(found, lambda each: each[0]):
        told = [*group]
        # Of a message of which only a part stays, the host would keep results without calls.
        if index is None or len(told) < sizes[index]:
            yield from ({"message": _neutral(row)} for _, row, _ in told)
        else:
            cut = {row["tool_call_id"]: _cut(row) for _, row, is_cut in told if is_cut}
            yield {"keep": index} | ({"cut": cut} if cut else {})


def _spelled_out(item: Mapping[str, Any], messages: Sequence[Message]) -> Mapping[str, Any]:
    if "message" in item:
        return item
    told, cut = asdict(messages[item["keep"]]), item.get("cut", {})
    for result in told["results"]:
        result["text"] = cut.get(result["id"], result["text"])
    return {"message": {name: value for name, value in told.items() if value or name == "text"}}


def _cut(row: Mapping[str, Any]) -> str:
    """Return a result that was cut; its mark names the call, by which the host finds the whole."""
    mark, _, body = str(row["content"]).partition("\n")
    is_marked = gist.is_gist_text(f"{mark}\n")
    return gist.digest_text(body, row["tool_call_id"]) if is_marked else row["content"]


def _is_same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether a row is another, or that result cut."""
    call = before.get("tool_call_id")
    return before == after or (call is not None and call == after.get("tool_call_id"))


def _neutral(row: Mapping[str, Any]) -> dict[str, Any]:
    if row["role"] == "tool":
        result = {"id": row["tool_call_id"], "text": _cut(row)}
        return {"role": "user", "text": "", "results": [result]}
    calls = [
        {
            "id": call["id"],
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in row.get("tool_calls") or ()
    ]
    told = {"role": row["role"], "text": row.get("content") or ""}
    return told | ({"calls": calls} if calls else {})


def _as_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a conversation as one text, for hosts that keep one summary and no list."""
    parts = list[str]()
    for row in messages:
        text = row.get("content") or ""
        if row["role"] == "tool":
            parts.append(f"-> {_cut(row)}")
        elif text:
            parts.append(text if gist.is_gist_text(text) else f"{row['role']}: {text}")
        for call in row.get("tool_calls") or ():
            function = call["function"]
            parts.append(f"{function['name']}({function['arguments']})")
    return "\n".join(parts)


def _open(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is not finished: calls without a result, and what the summary says is open."""
    answered = {row.get("tool_call_id") for row in messages}
    calls = [call for row in messages for call in row.get("tool_calls") or ()]
    told = [
        f"unfinished: {call['function']['name']}({call['function']['arguments']})"
        for call in calls
        if call["id"] not in answered
    ]
    for row in messages:
        if gist.is_gist_text(row.get("content") or ""):
            told += [f"unfinished: {line}" for line in _section(Section.OPEN, row["content"])]
    return told


def _section(wanted: Section, text: str) -> list[str]:
    """Return the items of a section of a note, without their further lines."""
    lines = text.splitlines()
    title = f"{wanted}:"
    if title not in lines:
        return []
    below = lines[lines.index(title) + 1 :]
    others = {f"{section}:" for section in Section} | {gist.SUMMARY_END}
    end = next((place for place, line in enumerate(below) if line in others), None)
    return [line for line in below[:end] if line[:1] not in ("", " ")]
