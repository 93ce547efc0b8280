"""Small conversations in the form of recordings: an agent that reads a shelf, and a monologue."""

import json
from pathlib import Path
from typing import Any

from attrs import evolve

from benchmarks.retention.command import main
from benchmarks.retention.recordings import Conversation, Message, Probe, message_tokens

SHELF = [
    (
        f"shelf {number}: {9 - number} boxes, key K{number}{number * 37 % 10}X, last seen by "
        f"porter {number}"
    )
    for number in range(9)
]


def calling(name: str, arguments: object, result: str, id: str = "c1") -> list[Message]:
    """Return a call and its result; all calls may have the same id, as in some recordings."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": result},
    ]


def agent_messages(rounds: int = 9) -> list[Message]:
    """Return a system message, a task, and so many calls with their results."""
    messages: list[Message] = [
        {"role": "system", "content": "You keep the shelves of a store."},
        {"role": "user", "content": "Count what is on every shelf."},
    ]
    for number in range(rounds):
        told = f"{SHELF[number % 9]}. " + "Nothing else to report here. " * 8
        messages += calling("look", {"shelf": number}, told, f"c{number}")
    return messages


def monologue_messages(count: int = 12) -> list[Message]:
    """Return what one speaker says, a fact a message."""
    said = (
        f"On day {number} I walked to the village of Tarn{number}burg and counted the sheep there."
        for number in range(count)
    )
    return [{"role": "user", "content": text} for text in said]


def conversation(set_name: str, messages: list[Message], *probes: Probe) -> Conversation:
    """Return a conversation of a set with its probes."""
    return Conversation(
        f"{set_name}-own", set_name, tuple(messages), tuple(map(message_tokens, messages)), probes
    )


def agent(number: int = 0) -> Conversation:
    """Return one of many alike: an agent's conversation with one probe at its end, for two keys."""
    messages = agent_messages()
    alike = conversation("tau", messages, Probe("p", len(messages), needles=("K00X", "K86X")))
    return evolve(alike, id=f"agent-{number}")


def monologue() -> Conversation:
    """Return a monologue with two questions at its end."""
    messages = monologue_messages()
    facts = [
        Probe(
            f"q{day}",
            len(messages),
            question=f"Where was I on day {day}?",
            answers=(f"Tarn{day}burg",),
            evidence=(day,),
        )
        for day in (2, 9)
    ]
    return conversation("bfcl", messages, *facts)


def write(folder: Path, file: str, *conversations: Conversation) -> None:
    """Write conversations as a recording."""
    lines = (
        json.dumps(
            {
                "id": each.id,
                "messages": list(each.messages),
                "probes": list(map(_record, each.probes)),
            }
        )
        for each in conversations
    )
    (folder / f"{file}.jsonl").write_text("\n".join(lines), encoding="utf-8")


def figures_of(folder: Path, parts: str, options: str) -> Any:
    """Run parts of the command over the recordings of a folder, and return its figures."""
    file = folder / "results.json"
    place = ["--data", str(folder), "--quiet", "--json", str(file)]
    assert main([*parts.split(), *place, *options.split()]) == 0
    return json.loads(file.read_text(encoding="utf-8"))


def framed(body: str) -> list[Message]:
    """Return a view with a gist in it."""
    return [{"role": "user", "content": f"[Summary of earlier messages]\n{body}\n[End of summary]"}]


def quiet(_: str) -> None:
    """Tell nothing."""


def _record(probe: Probe) -> dict[str, Any]:
    record = {
        "id": probe.id,
        "at": probe.at,
        "needles": list(probe.needles),
        "evidence": list(probe.evidence),
    }
    return (
        {
            **record,
            "question": probe.question,
            "answer": probe.answers[0],
            "answers": list(probe.answers),
        }
        if probe.answers
        else record
    )
