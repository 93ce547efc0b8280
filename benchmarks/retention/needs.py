"""Look in views for what the next step needs, by lists written before any summary was read.

A folder `readings` beside the recordings holds a JSON file for each conversation, which is cut
where its next step is known: `name`, `kind`, `messages` and `needs`. Each need is a `fact` with the
`patterns` (regular expressions) that all occur where the fact is told.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.retention.entries import content_of
from benchmarks.retention.methods import Asked, Method
from benchmarks.retention.recordings import AGENTS, Conversation, Message, message_tokens
from benchmarks.retention.tally import Tally

FOLDER = "readings"


@frozen
class Reading:
    """A conversation, and the patterns of each fact that its next step needs."""

    kind: str
    conversation: Conversation
    needs: Mapping[str, Sequence[str]]


def readings(folder: Path) -> list[Reading]:
    """Return the conversations of a folder, ordered by name."""
    return [_reading(json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]


def _reading(record: Mapping[str, Any]) -> Reading:
    messages = tuple(record["messages"])
    is_agent = any(message["role"] == "system" for message in messages)
    conversation = Conversation(
        record["name"],
        AGENTS[0] if is_agent else record["kind"],
        messages,
        tuple(map(message_tokens, messages)),
        (),
    )
    return Reading(
        record["kind"],
        conversation,
        {each["fact"]: each["patterns"] for each in record["needs"]},
    )


def missing(needs: Mapping[str, Sequence[str]], view: Sequence[Message]) -> Iterator[str]:
    """Yield the facts of which a view lacks a pattern."""
    said = "\n".join(
        part
        for message in view
        for part in (
            content_of(message),
            *(
                f"{call['function']['name']}({call['function']['arguments']})"
                for call in message.get("tool_calls") or ()
            ),
        )
    )
    for fact, patterns in needs.items():
        if not all(re.search(pattern, said) for pattern in patterns):
            yield fact


def measure(
    method: Method, cases: Sequence[Reading], share: float, *, tell: Callable[[str], None]
) -> dict[str, Tally]:
    """Return the share of the needed facts that are in view, by kind and of all."""
    found: dict[str, Tally] = {}
    for case in cases:
        one = case.conversation
        tell(f"needs {share:.0%}, {one.id}")
        budget = one.budget(len(one.messages), share)
        try:
            lost = [*missing(case.needs, method(Asked(one.messages, budget, seed=one.id)))]
        except Exception:  # noqa: BLE001 - a refusal keeps nothing
            lost = [*case.needs]
        for name in (case.kind, "all"):
            kept = len(case.needs) - len(lost)
            found.setdefault(name, Tally()).add(one.id, kept, len(case.needs))
    return found
