"""Plans: lists of tasks that are written again and again, of which the last states what is open."""

import json
import re
from collections.abc import Sequence

from .cues import is_done
from .events import TEAMMATE, Event, Happening
from .records import read_json

TASK_CALLS = frozenset({"TaskCreate", "TaskUpdate", "TaskList", "TaskGet"})
"""The tools of a list of which each call writes, changes or shows single tasks, by their number."""

_TASK, _CREATED = re.compile(r"#(\d{1,9}) \[(\w+)\] (.+)"), re.compile(r"#(\d{1,9})[^:\n]*:? ?(.*)")
_DONE = re.compile(r"(?i)\btask #(\d{1,9})(?: (?:is|was|now))? (?:done|completed?|finished)\b")
_SPOKEN = frozenset({Happening.ASK, Happening.SAY})
_CLOSED = frozenset({"completed", "deleted"})
_POINT = re.compile(r"\s*[-*+]?\s*\[[^\]\n]{1,3}\]\s*(\S.*)")


def current_plans(events: Sequence[Event], standing: Sequence[Event] = ()) -> list[Event]:
    """Return `events` without the points of lists that are done, or that a later statement repeats.

    `standing` are the later events.
    """
    later, found = set[str](), list[Event]()
    for event in (*events, *standing)[::-1]:
        found.append(event)
        if event.happening == Happening.SAY and "[" in event.text:
            lines = [(_POINT.fullmatch(line), line) for line in event.text.split("\n")]
            left = [
                line
                for point, line in lines
                if not point or not (point[1] in later or is_done(line.strip()))
            ]
            later |= {point[1] for point, _ in lines if point}
            found[-1] = event._replace(text="\n".join(left))
    return found[: -len(events) - 1 : -1] if events else []


def with_tasks(events: Sequence[Event], standing: Sequence[Event] = ()) -> list[Event]:
    """Return `events` with the last call of a list of single tasks as the list of those left open.

    The other calls of the list tell nothing more. `standing` are the later events.
    """
    tasks, found, last = dict[str, str](), [*events], -1
    for place, event in enumerate((*events, *standing)):
        if event.happening in _SPOKEN or event.name == TEAMMATE:
            # Another agent may have closed it in a list of its own.
            for number in _DONE.findall(event.text):
                tasks.pop(number, None)
        if event.happening == Happening.CALL and event.name in TASK_CALLS:
            if not event.failed:
                _note(event, tasks)
            if place < len(events):
                last = place
                found[place] = event._replace(name="todo", arguments="", text="", failed=False)
    if tasks and last >= 0:
        points = "\n".join(f"- [ ] #{number} {told}" for number, told in tasks.items())
        found[last] = found[last]._replace(arguments=json.dumps({"tasks": points}))
    return found


def _note(event: Event, tasks: dict[str, str]) -> None:
    """Note in the open `tasks` what a call changed; a change to what nobody knows closes one."""
    value = read_json(event.arguments)
    given = value if isinstance(value, dict) else {}
    if event.name == "TaskCreate":
        if made := _CREATED.search(event.text):
            tasks[made[1]] = str(given.get("subject") or made[2])
    elif event.name == "TaskUpdate":
        number = str(given.get("taskId", "")).removeprefix("#")
        is_closed = any(map(event.text.endswith, _CLOSED)) or given.get("status") in _CLOSED
        if is_closed or given.keys() <= {"taskId"}:
            tasks.pop(number, None)
        elif number in tasks and "subject" in given:
            tasks[number] = str(given["subject"])
    for number, status, told in _TASK.findall(event.text):
        tasks |= {number: told}
        if status in _CLOSED:
            del tasks[number]
