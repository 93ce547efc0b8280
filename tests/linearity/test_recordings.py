"""On recorded conversations the rules behave: little is pinned down, no answer is dropped."""

import json
from collections.abc import Iterator

import pytest

from polycontext.linearity import LinearityMap, ResourceClass, default_classifier
from tests.house import DATA
from tests.laws.internal.ledgers import (
    every_id_is_in_the_part_of_its_class,
    stats_count_the_parts,
)

FILES = ["tau_airline_gpt4o.jsonl", "swebench_mini.jsonl", "bfcl_memory.jsonl"]
SHARE = 1_600

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the recorded conversations are not on this machine"
)


def conversations(name: str) -> Iterator[LinearityMap]:
    """Classify every recorded conversation as a session of 8,000 tokens would.

    Four characters count as one token.
    """
    with (DATA / name).open(encoding="utf-8") as lines:
        for line in lines:
            ledger = LinearityMap()
            for place, message in enumerate(json.loads(line)["messages"]):
                role, content = message["role"], message.get("content") or ""
                spent = sum(tokens(i) for i in constraint_turns(ledger))
                facts = {
                    "first_user": role == "user"
                    and not any(i.split(":")[1] == "user" for i in ledger),
                    "has_calls": bool(message.get("tool_calls")),
                }
                share = {
                    "tokens": len(content) // 4,
                    "constraint_tokens": spent,
                    "preserved_share_tokens": SHARE,
                }
                ledger = ledger.tag(
                    f"{place}:{role}:{content}", default_classifier(role, content, facts | share)
                )
            yield ledger


def tokens(resource_id: str) -> int:
    """Return the tokens of the turn behind an id."""
    return len(resource_id.split(":", 2)[2]) // 4


def constraint_turns(ledger: LinearityMap) -> list[str]:
    """Return the PRESERVED turns other than system turns and the task."""
    users = [i for i in ledger if i.split(":")[1] == "user"]
    return [i for i in users[1:] if ledger.get(i) is ResourceClass.PRESERVED]


@pytest.mark.parametrize("name", FILES)
def test_recorded_conversations_stay_compressible(name: str) -> None:
    """Turns preserved for constraints stay within their share, and the ledger keeps its laws."""
    for ledger in conversations(name):
        assert sum(map(tokens, constraint_turns(ledger))) <= SHARE
        every_id_is_in_the_part_of_its_class(ledger)
        stats_count_the_parts(ledger)


@pytest.mark.parametrize("name", FILES)
def test_nothing_with_a_digit_is_droppable(name: str) -> None:
    """Whatever the rules drop holds no number: no amount, no id, no choice."""
    dropped = [
        i.split(":", 2)[2]
        for ledger in conversations(name)
        for i in ledger.by_class(ResourceClass.DROPPABLE)
    ]
    assert [content for content in dropped if any(c.isdigit() for c in content)] == []
