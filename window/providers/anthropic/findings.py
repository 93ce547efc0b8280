"""All that Anthropic would refuse in a request, not only the first: for people who want to repair a history in one go."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve

from ...errors import InvalidMessagesError
from ..blocks import copied_messages
from ..wire import Message, Provider
from .block_rules import check_blocks_of
from .order_rules import Progress, advanced, finish, judge_places, refuse_first
from .request_rules import check_head, check_whole
from .rules import Entry, checked_entry


def findings(request: Sequence[Any] | Mapping[str, Any], *, betas: Collection[str] = ()) -> list[InvalidMessagesError]:
    """Return what is wrong with a request or a message list: one finding a message at most, then what the whole lacks.

    Behind a finding the rest is judged as if the message were fine, so that one fault is told once.
    """
    body = request if isinstance(request, Mapping) else None
    found = list(_raised(partial(check_head, body, betas=betas))) if body is not None else []
    messages = body.get("messages") if body is not None else request
    try:
        copies = copied_messages(Provider.ANTHROPIC, messages)
    except InvalidMessagesError as error:
        return [*found, error]
    progress = Progress()
    for index, message in enumerate(copies):
        before, faults = progress, list[InvalidMessagesError]()
        progress = _judged(message, before, faults, final=index == len(copies) - 1)
        found += faults
    if not found:
        found = [error for end in _ends(body, progress) for error in _raised(end)][:1]
    return found


def _ends(body: Mapping[str, Any] | None, progress: Progress) -> list[Callable[[], None]]:
    first = partial(refuse_first, progress)
    if body is not None:
        return [first, partial(check_whole, body, progress)]
    return [first, partial(judge_places, progress), partial(finish, progress)]


def _judged(message: Message, before: Progress, faults: list[InvalidMessagesError], *, final: bool) -> Progress:
    index = before.count
    try:
        entry = checked_entry(message, index, final=final)
    except InvalidMessagesError as error:
        faults.append(error)
        return _after(before, Entry(str(message.get("role")), _listed(message.get("content"))))
    faults.extend(_raised(partial(check_blocks_of, entry, index)))
    try:
        after = advanced(before, entry)
    except InvalidMessagesError as error:
        if not faults:
            faults.append(error)
        return _after(before, entry)
    return after


def _after(before: Progress, entry: Entry) -> Progress:
    """Return where the list stands behind a message that was refused, its own calls open and nothing else."""
    index = before.count
    calls = tuple(block["id"] for block in entry.blocks if block.get("type") == "tool_use" and isinstance(block.get("id"), str))
    fresh = Progress(count=index + 1, role=entry.role, caller=index, first=before.first or (entry.role, index))
    return evolve(fresh, waiting=calls, called=frozenset(calls)) if entry.role == "assistant" else fresh


def _raised(judge: Callable[[], object]) -> Iterator[InvalidMessagesError]:
    try:
        judge()
    except InvalidMessagesError as error:
        yield error


def _listed(content: object) -> list[Message]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
