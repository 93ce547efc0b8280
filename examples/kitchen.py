"""A recipe assistant of four nodes, driven over 30 exchanges: understand, think, act, reply.

The machine compresses the conversation along the way. Each node reads only the context that is
built for it. The models follow a script (kitchen.json), so the example runs offline.

    python examples/kitchen.py                          # all 30 exchanges, a line each
    python examples/kitchen.py --show think --turn 12   # what a node read
    python examples/kitchen.py --stop 15 --save kitchen.saved
    python examples/kitchen.py --resume kitchen.saved   # goes on in a new process

Prints::

    01 ACCUMULATING  44%  Noted: four people, one vegetarian, and no nuts at all. ...
    ...
    30 ACCUMULATING  94%  Monday shakshuka, Tuesday gnocchi, ... No nuts anywhere.
    119 turns in the log, 11 in the window, 13 compressions
"""

import argparse
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from polycontext.nodes import (
    NodeContext,
    build_act_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
)
from polycontext.nodes.entities import SessionIdRegistry
from polycontext.nodes.history import PendingState
from polycontext.nodes.memory import ConversationContext, CurrentTurn, close_turn
from polycontext.polynomial import ContextSession
from polycontext.testing import ScriptedModel
from polycontext.window import ToolCall

SCENARIO = Path(__file__).with_name("kitchen.json")
MAX_TOKENS = 1200
BUILDERS = {
    "understand": build_understand_context,
    "think": build_think_context,
    "act": build_act_context,
    "reply": build_reply_context,
}


class Kitchen:
    """One conversation: the session, the memory, and the database behind the tools."""

    def __init__(self, scenario: dict[str, Any], saved: str | None = None) -> None:
        """Start a new session, or resume one from its saved JSON text.

        The memory and the database are saved with the session as its companion document.
        """
        self.script = scenario["turns"]
        self.contexts: dict[tuple[int, str], list[NodeContext]] = {}
        self.session = (
            ContextSession.history.load(saved, clock=self.clock)
            if saved
            else ContextSession(MAX_TOKENS, clock=self.clock)
        )
        beside = self.session.documents.get("kitchen") or {
            "memory": ConversationContext().to_data(),
            "database": scenario["database"],
        }
        self.memory = ConversationContext.from_data(beside["memory"])
        self.database = beside["database"]
        self.session.documents.accompany("kitchen", self)
        if saved is None:
            self.session.add_system("You are a kitchen assistant for one household.")

    def to_data(self) -> dict[str, Any]:
        """Return the data that are saved with the session in the same commit."""
        return {"memory": self.memory.to_data(), "database": self.database}

    def clock(self) -> datetime:
        """Return a time that depends only on the exchange, so that every run is the same."""
        number = self.memory.next_turn_num if hasattr(self, "memory") else 0
        return datetime(2026, 3, 2, 18, tzinfo=UTC) + timedelta(minutes=number)

    # --- one turn -------------------------------------------------------------

    def take_turn(self) -> str:
        """Run the four nodes over the next exchange of the script; return the answer."""
        number = self.memory.next_turn_num
        script = self.script[number - 1]
        self.session.add_user_turn(script["user"])
        turn = self.understand(CurrentTurn(number), script["understand"])
        turn, steps = self.think(turn, script["think"])
        for step in steps:
            turn = self.act(turn, step)
        turn, answer = self.reply(turn, script["reply"])
        self.session.add_assistant_turn(answer)
        self.memory = close_turn(self.memory, turn, self.session.output)
        self.session.documents.save()
        return answer

    def ask(
        self, node: str, turn: CurrentTurn, script: dict[str, Any], task: str = ""
    ) -> dict[str, Any]:
        """Build and check the context of a node, and return its model's answer from JSON."""
        context = BUILDERS[node](self.session.output, self.memory, turn, task=task)
        check(context, self.database)
        self.contexts.setdefault((turn.turn_num, node), []).append(context)
        decision: dict[str, Any] = json.loads(
            ScriptedModel([json.dumps(script)]).complete(str(context))
        )
        return decision

    def understand(self, turn: CurrentTurn, script: dict[str, Any]) -> CurrentTurn:
        """Curate the entities as the node decides."""
        said = self.ask("understand", turn, script)
        registry = self.memory.id_registry
        for ref, reason in said["retain"].items():
            registry = registry.retain(ref, reason, turn=turn.turn_num)
        for ref in said["demote"]:
            registry = registry.demote(ref, "out of mind", turn=turn.turn_num)
        for ref in said["drop"]:
            registry = registry.drop(ref, "not wanted", turn=turn.turn_num)
        self.memory = self.memory.with_registry(registry)
        turn = turn.observe(phase=said["phase"], user_expressed=said["expressed"])
        return turn.curate(said["retain"], [*said["demote"], *said["drop"]], said["retain"])

    def think(
        self, turn: CurrentTurn, script: dict[str, Any]
    ) -> tuple[CurrentTurn, list[dict[str, Any]]]:
        """Record the decision, and return the steps of the plan."""
        said = self.ask("think", turn, script)
        turn = turn.decide(said["decision"], said["goal"])
        return (turn.block(said["blocked"]) if "blocked" in said else turn), said["steps"]

    def act(self, turn: CurrentTurn, step: dict[str, Any]) -> CurrentTurn:
        """Execute one step, and record its call and result in the session and the exchange."""
        said = self.ask("act", turn, step, task=f"This step: {step['description']}")
        call = ToolCall(
            f"call_{turn.turn_num}_{len(turn.steps) + 1}",
            f"{said['type']}_{said['subdomain']}",
            json.dumps(said["do"]),
        )
        self.session.add_assistant_turn(None, tool_calls=[call])
        registry, refs, result = execute(
            said, self.memory.id_registry, self.database, turn.turn_num
        )
        self.memory = self.memory.with_registry(registry)
        self.session.add_tool_turn(json.dumps(result), tool_call_id=call.id)
        outcome, note = said.get("outcome", ""), said.get("note")
        return turn.step(
            said["type"],
            said["subdomain"],
            said["description"],
            result,
            outcome=outcome,
            entities_involved=refs,
            note=note,
        )

    def reply(self, turn: CurrentTurn, script: dict[str, Any]) -> tuple[CurrentTurn, str]:
        """Return the answer, and record what awaits the user."""
        said = self.ask("reply", turn, script)
        pending = said.get("pending")
        return turn.expects(PendingState(**pending) if pending else None), said["text"]


# --- the tools ------------------------------------------------------------------


Tables = dict[str, list[dict[str, Any]]]
Done = tuple[SessionIdRegistry, list[str], Any]


def execute(step: dict[str, Any], registry: SessionIdRegistry, database: Tables, turn: int) -> Done:
    """Run one step on the database.

    Return the registry, the refs that the step touched, and its result without database ids.
    """
    kind, table = step["subdomain"], database[step["subdomain"]]
    match step["do"]:
        case {"filter": wanted}:
            return seen(
                registry, kind, [row for row in table if wanted.items() <= row.items()], turn
            )
        case {"at_most": minutes}:
            return seen(
                registry,
                kind,
                [row for row in table if row.get("minutes", minutes + 1) <= minutes],
                turn,
            )
        case {"match": refs}:
            for ref in refs:
                registry = registry.touch(ref, turn=turn)
            return registry, refs, [registry.get(ref).label for ref in refs]
        case written:
            return write(written, kind, registry, database, turn)


def write(
    written: dict[str, Any], kind: str, registry: SessionIdRegistry, database: Tables, turn: int
) -> Done:
    """Generate, change, save or delete one entity."""
    match written:
        case {"generate": made}:
            registry, ref = registry.generate(kind, made["label"], turn=turn, data=made["data"])
            return registry, [ref], made
        case {"update": ref, "data": data}:
            return registry.update(ref, turn=turn, data=data), [ref], data
        case {"save": ref, "id": new_id}:
            registry, saved = registry.save(ref, new_id, turn=turn)
            row = registry.get(saved)
            database[kind].append({"id": new_id, "name": row.label, **(row.data or {})})
            return registry, [saved], "saved"
        case {"delete": ref}:
            gone = registry.id_of(ref)
            database[kind] = [row for row in database[kind] if row["id"] != gone]
            return registry.delete(ref, turn=turn), [ref], "deleted"
        case other:
            raise ValueError(f"unknown step {other!r}")


def seen(registry: SessionIdRegistry, kind: str, rows: list[dict[str, Any]], turn: int) -> Done:
    """Register rows that were read, and return them with refs instead of ids."""
    refs, result = [], []
    for row in rows:
        data = {key: value for key, value in row.items() if key != "id"}
        registry, ref = registry.read(kind, row["id"], row["name"], turn=turn, data=data)
        refs.append(ref)
        result.append({"ref": ref, **data})
    return registry, refs, result


# --- what nodes must not see ------------------------------------------------------


def check(context: NodeContext, database: Tables) -> None:
    """Fail if a node's context holds anything that it must not see."""
    text, node = str(context), context.node.name
    ids = [row["id"] for table in database.values() for row in table]
    assert not [each for each in ids if each in text], f"{node} sees a database id"
    assert context.tokens <= context.node.budget
    for heading in (
        "## Entity Context",
        "## Conversation History",
        "## What Happened (Reasoning Trace)",
        "## Your Task",
    ):
        assert text.count(f"{heading}\n") == 1, (
            f"{node} has {heading!r} {text.count(heading)} times"
        )
    match node:
        case "understand":
            assert "- Step " not in text
            assert "Phase:" not in text
        case "think":
            assert '"ingredients"' not in text, "think sees full data"
        case "act":
            assert not context.entity.retained
            assert not {
                "### Engagement",
                "### Earlier",
                "### Pending",
                "### Retained",
                "Phase:",
            } & set(text.splitlines())
        case "reply":
            assert not re.search(r"\b(gen_)?(recipe|inventory|meal_plan|shopping_list)_\d", text), (
                "reply sees a ref"
            )
            assert not context.entity.retained
            assert '"ingredients"' not in text


def write_contexts(kitchen: Kitchen, folder: Path) -> None:
    """Write every context that was built to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for (turn, node), built in kitchen.contexts.items():
        for number, context in enumerate(built, 1):
            (folder / f"{turn:02}-{node}-{number}.md").write_text(str(context), encoding="utf-8")


def main() -> None:
    """Run the scenario, or a part of it."""
    parser = argparse.ArgumentParser(
        description="Drive a recipe assistant of four nodes over 30 turns."
    )
    parser.add_argument("--show", choices=sorted(BUILDERS), help="print what this node read")
    parser.add_argument("--turn", type=int, help="with --show: of this turn alone")
    parser.add_argument("--stop", type=int, default=30, help="the last turn to take")
    parser.add_argument("--contexts", type=Path, help="a folder for every context that was built")
    parser.add_argument("--save", type=Path, help="where to write the kitchen when it stops")
    parser.add_argument("--resume", type=Path, help="a saved kitchen to go on with")
    options = parser.parse_args()
    saved = options.resume.read_text() if options.resume else None
    kitchen = Kitchen(json.loads(SCENARIO.read_text()), saved)
    while (number := kitchen.memory.next_turn_num) <= options.stop:
        answer = kitchen.take_turn()
        print(f"{number:02} {kitchen.session.state:<12} {kitchen.session.pressure:4.0%}  {answer}")
        for context in (
            kitchen.contexts.get((number, options.show), ())
            if options.turn in (None, number)
            else ()
        ):
            print(f"\n{context}\n")
    compressions = sum(
        type(event).__name__ == "CompressEvent" for event in kitchen.session.history.events()
    )
    print(
        f"{len(kitchen.session.log())} turns in the log, {len(kitchen.session.window)} in the "
        f"window, {compressions} compressions"
    )
    if options.contexts:
        write_contexts(kitchen, options.contexts)
    if options.save:
        options.save.write_text("".join(kitchen.session.history.export()))


if __name__ == "__main__":
    main()
