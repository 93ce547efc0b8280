"""What the compactions of each host took out of its view."""

from typing import Any

import pytest
from attrs import evolve

from polycontext.transcripts import Losses, LossKind, losses_of
from polycontext.transcripts.transcript import Transcript
from tests.transcripts.test_hosts import read
from tests.transcripts.writers import Step, claude_code, codex, opencode, pi

STEPS = [
    Step("user", "Fix src/price.py. Never push to main."),
    Step("assistant", "We decided to use cents. Ticket SHOP-4411.", ((1, "price = 3 in a.py"),)),
    Step("user", "Go on."),
]
LATER = [Step("assistant", "I go on with src/tax.py."), Step("user", "Fine.")]
SUMMARY = "The user wants the price of SHOP-4411 fixed."


def compacted_claude_code(summary: str, *kept: int) -> Transcript:
    """Return a session with a compaction that wrote the rows `kept` again."""
    rows = claude_code(STEPS)
    own = [row for row in rows if "message" in row and not row["isSidechain"]]
    told = {**own[0], "message": {"role": "user", "content": summary}, "isCompactSummary": True}
    again = [told, *(own[number] for number in kept)]
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    behind: list[dict[str, Any]] = [boundary]
    for number, row in enumerate(again):
        behind.append({**row, "uuid": f"n{number}", "parentUuid": behind[-1]["uuid"]})
    for row in claude_code(LATER)[1:]:
        above = behind[-1]["uuid"] if not row.get("isSidechain") else None
        behind.append({**row, "uuid": f"l{len(behind)}", "parentUuid": above})
    return read([*rows, *behind])


def compacted_codex(summary: str, *kept: str) -> Transcript:
    """Return a rollout with a compaction that kept messages."""
    history = [{"type": "message", "content": [{"text": each}]} for each in kept]
    payload = {"message": summary, "replacement_history": history}
    return read([*codex(STEPS), {"type": "compacted", "payload": payload}, *codex(LATER)[2:]])


def compacted_pi(summary: str, first_kept: str) -> Transcript:
    """Return a session of pi with a compaction that kept what came from an entry on."""
    rows = pi(STEPS)
    mark = {"type": "compaction", "id": "c", "parentId": rows[-1]["id"], "summary": summary}
    return read([*rows, {**mark, "firstKeptEntryId": first_kept}])


def compacted_opencode(summary: str, tail: str | None = None) -> Transcript:
    """Return an export of OpenCode with a compaction that kept what came from a message on."""
    export = opencode([*STEPS, *LATER])
    marks = [
        {
            "info": {"id": "x1", "role": "user"},
            "parts": [{"type": "compaction", "tail_start_id": tail}],
        },
        {
            "info": {"id": "x2", "role": "assistant", "summary": True},
            "parts": [{"type": "text", "text": summary}],
        },
    ]
    export["messages"][3:3] = marks
    return read(export)


def gone(losses: Losses) -> dict[LossKind, list[str]]:
    """Return what is gone by kind."""
    return {
        kind: [each.text for each in losses.gone if each.kind is kind]
        for kind in {each.kind for each in losses.gone}
    }


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (compacted_claude_code(SUMMARY), compacted_claude_code(SUMMARY, 0, 1)),
        (
            compacted_codex(SUMMARY),
            compacted_codex(SUMMARY, *(step.text for step in STEPS)),
        ),
        (compacted_pi(SUMMARY, "none"), compacted_pi(SUMMARY, "e1")),
        (compacted_opencode(SUMMARY), compacted_opencode(SUMMARY, "m0")),
    ],
    ids=lambda transcript: transcript.host,
)
def test_what_neither_summary_nor_host_kept_is_gone(told: Transcript, kept: Transcript) -> None:
    """A rule, a decision and a path; the ticket is told, and what a result says does not count.

    Kept are rows that were written again, a replaced history, entries and messages from one on.
    """
    losses = losses_of(told)
    assert losses.compactions == 1
    assert gone(losses) == {
        LossKind.RULE: ["Never push to main."],
        LossKind.DECISION: ["We decided to use cents."],
        LossKind.PATH: ["src/price.py"],
    }
    assert losses.facts[LossKind.ID] == 1
    assert not losses_of(kept).gone


def test_a_segment_that_claude_code_preserved_is_not_gone() -> None:
    """The boundary names its first and last row, which are not written again."""
    rows = claude_code(STEPS)
    own = [row["uuid"] for row in rows if "message" in row and not row["isSidechain"]]
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    segment = {"headUuid": own[0], "tailUuid": own[1]}
    for metadata, is_gone in (({"preservedSegment": segment}, False), ({"trigger": "auto"}, True)):
        losses = losses_of(read([*rows, {**boundary, "compactMetadata": metadata}]))
        assert (LossKind.RULE in gone(losses)) is is_gone


def test_without_a_compaction_nothing_is_gone() -> None:
    """The model sees everything."""
    losses = losses_of(read(claude_code(STEPS)))
    assert (losses.compactions, losses.gone, losses.as_message()) == (0, [], "")


def test_given_back_nothing_is_gone() -> None:
    """The message names each fact, and a view with it has them all."""
    transcript = compacted_codex(SUMMARY)
    message = losses_of(transcript).as_message()
    assert "Rules:\n- Never push to main.\n\nDecisions:\n" in message
    assert not losses_of(evolve(transcript, view=[*transcript.view, message])).gone


@pytest.mark.parametrize(
    ("summary", "is_told"),
    [
        ("The user said: never push to main", True),
        ("NEVER\n push  to main.", True),
        ("Push to main now.", False),
        ("Never push. Later: the main page.", False),
    ],
)
def test_a_rule_may_be_told_in_other_words(summary: str, is_told: bool) -> None:
    """Most of its words must stand together."""
    assert (LossKind.RULE not in gone(losses_of(compacted_codex(summary)))) is is_told


def test_a_part_of_a_longer_name_is_another_name() -> None:
    """`price.py` in `price.pyc` or `old_src/price.py` is not the file."""
    for name in ("src/price.pyc", "old_src/price.py"):
        assert gone(losses_of(compacted_codex(name)))[LossKind.PATH] == ["src/price.py"]


def test_commands_are_told_as_they_were_run() -> None:
    """A command may be a text or a list of words."""
    item = {"type": "function_call", "name": "shell"}
    calls = [
        {**item, "call_id": "k1", "arguments": '{"command": ["bash", "-lc", "make  deploy"]}'},
        {**item, "call_id": "k2", "arguments": '{"cmd": "make lint"}'},
    ]
    rows = [{"type": "response_item", "payload": each} for each in calls]
    mark = {"type": "compacted", "payload": {"message": "Ran make lint."}}
    losses = losses_of(read([*codex(STEPS[:1]), *rows, mark]))
    assert gone(losses)[LossKind.COMMAND] == ["bash -lc make deploy"]
