"""Recorded conversations with their probes, token counts and halves."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from benchmarks.conversation import RememberingCounter
from polycontext.window import REQUEST_OVERHEAD, ToolCall, Turn, count_turn

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
"""The folder of recordings, which is outside the project."""

SETS = {"tau": "tau_airline_gpt4o", "swe": "swebench_mini", "bfcl": "bfcl_memory", "qmsum": "qmsum"}
AGENTS = ("tau", "swe")
"""Sets with a task, whose system and first user messages are not cut from the budget."""

HALVES = ("tuning", "unseen", "all")
PROVIDER = "openai"

Message = Mapping[str, Any]

_NO_NAME = re.compile(r"[\s<|\\/>]+")


@frozen
class Probe:
    """A place in a conversation, and what is needed there.

    The compressor sees the first `at` messages. `needles` are identifiers that the next call used,
    `answers` are spellings of the answer to `question`, and `evidence` holds the indices of the
    messages with the answer.
    """

    id: str
    at: int
    needles: tuple[str, ...] = ()
    question: str | None = None
    answers: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()


@frozen
class Conversation:
    """A recorded conversation; `tokens` holds the tokens of each message."""

    id: str
    set: str
    messages: tuple[Message, ...] = field(repr=False)
    tokens: tuple[int, ...] = field(repr=False)
    probes: tuple[Probe, ...] = field(repr=False)

    def budget(self, at: int, share: float) -> int:
        """Return the tokens of a request that holds `share` of the first `at` messages.

        A task is kept whole.
        """
        fixed = self.pinned_tokens(at) if self.set in AGENTS else REQUEST_OVERHEAD
        return fixed + int(share * (REQUEST_OVERHEAD + sum(self.tokens[:at]) - fixed))

    def pinned_tokens(self, at: int) -> int:
        """Return the tokens of a request with only the system and first user messages."""
        return REQUEST_OVERHEAD + sum(self.tokens[place] for place in pinned(self.messages[:at]))


def pinned(messages: Sequence[Message]) -> frozenset[int]:
    """Return the indices of the system messages and of the first user message, the task."""
    system = {index for index, message in enumerate(messages) if message["role"] == "system"}
    task = next(
        (index for index, message in enumerate(messages) if message["role"] == "user"), None
    )
    return frozenset(system if task is None else system | {task})


@cache
def counter() -> RememberingCounter:
    """Return the one token counter of a run, which counts each text once."""
    return RememberingCounter()


def message_turn(message: Message) -> Turn:
    """Return the turn of a message without its context, even of a result whose call is gone."""
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    answered = message.get("tool_call_id") or "call" if message["role"] == "tool" else None
    return Turn(
        message["role"],
        message.get("content"),
        name=message.get("name"),
        tool_calls=calls,
        tool_call_id=answered,
    )


def message_tokens(message: Message) -> int:
    """Return the tokens of a message within a request."""
    return count_turn(counter(), message_turn(message))


def request_tokens(messages: Iterable[Message]) -> int:
    """Return the tokens of a request."""
    return REQUEST_OVERHEAD + sum(map(message_tokens, messages))


def half_of(conversation_id: str) -> str:
    """Return the half of a conversation, by a hash of its id; other recordings do not affect it."""
    return HALVES[hashlib.sha256(conversation_id.encode()).digest()[0] % 2]


def load(
    name: str, half: str = "tuning", sample: int | None = None, folder: Path = DATA
) -> list[Conversation]:
    """Return the conversations of a set that have probes and belong to `half`.

    With `sample`, keep at most that many probes, spread evenly.
    """
    conversations = [
        conversation for conversation in recorded(name, half, folder) if conversation.probes
    ]
    return conversations if sample is None else list(sampled(conversations, sample))


def recorded(name: str, half: str = "tuning", folder: Path = DATA) -> Iterator[Conversation]:
    """Yield the conversations of a set that belong to `half`, with or without probes."""
    for record in map(
        json.loads, (folder / f"{SETS[name]}.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        if half in ("all", half_of(record["id"])):
            yield _conversation(name, record)


def _conversation(name: str, record: Mapping[str, Any]) -> Conversation:
    messages = tuple(map(_as_accepted, record["messages"]))
    return Conversation(
        record["id"],
        name,
        messages,
        tuple(map(message_tokens, messages)),
        tuple(map(_probe, record["probes"])),
    )


def _as_accepted(message: Message) -> Message:
    """Return a message with a name that the provider accepts, without spaces and some signs."""
    return (
        {**message, "name": _NO_NAME.sub("_", message["name"])[:64]}
        if message.get("name")
        else message
    )


def _probe(record: Mapping[str, Any]) -> Probe:
    answers = record.get("answers") or [record["answer"]] if record.get("answer") else []
    return Probe(
        record["id"],
        record["at"],
        tuple(record.get("needles", ())),
        record.get("question"),
        tuple(answers),
        tuple(record["evidence"]),
    )


def sampled(conversations: Sequence[Conversation], count: int) -> Iterator[Conversation]:
    """Yield the conversations with `count` of their probes in all, chosen by hash.

    Conversations without any of these probes are left out.
    """
    ranked = sorted(
        (hashlib.sha256(f"{conversation.id}/{number}".encode()).digest(), place, number)
        for place, conversation in enumerate(conversations)
        for number in range(len(conversation.probes))
    )
    chosen = {(place, number) for _, place, number in ranked[:count]}
    for place, conversation in enumerate(conversations):
        probes = tuple(
            probe for number, probe in enumerate(conversation.probes) if (place, number) in chosen
        )
        if probes:
            yield evolve(conversation, probes=probes)
