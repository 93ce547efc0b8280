"""Turns, calls and edits of conversations for the tests of notes."""

import json
from collections.abc import Sequence
from typing import Any

from polycontext.pressure.notes.events import Event
from polycontext.pressure.notes.file_edits import edit_items
from polycontext.pressure.notes.reading import read_events
from polycontext.window import ToolCall, Turn


def talk(*texts: str) -> list[Turn]:
    """Return turns of a user and an assistant that speak in turn, with ids."""
    roles = ("user", "assistant")
    return [
        Turn(roles[place % 2], text, resource_id=f"t{place}") for place, text in enumerate(texts)
    ]


def called(name: str, result: str = "ok", /, **arguments: Any) -> list[Turn]:
    """Return a call of a tool and its result."""
    call = ToolCall("c1", name, json.dumps(arguments))
    return [
        Turn("assistant", None, tool_calls=[call]),
        Turn("tool", result, tool_call_id="c1", resource_id="r1"),
    ]


def ran(command: str, result: str = "") -> list[Turn]:
    """Return a shell command and its output."""
    return called("bash", result, command=command)


def replaced(path: str, old: str, new: str, result: str = "ok") -> list[Turn]:
    """Return an edit of a file by a tool."""
    return called("edit", result, file_path=path, old_string=old, new_string=new)


def read(turns: Sequence[Turn]) -> list[Event]:
    """Return the events of turns that are numbered from 0."""
    return read_events(turns, 0)


def kinds(turns: Sequence[Turn]) -> list[str]:
    """Return what happens in turns; of calls their effect, of edits the kind of change."""
    return [str(event.effect or event.change or event.happening) for event in read(turns)]


def told(turns: Sequence[Turn], standing: Sequence[Turn] = ()) -> list[str]:
    """Return the longest variants of the items on the edits of turns."""
    items = edit_items(read(turns), read_events(standing, len(turns)), total=len(turns))
    return [item.variants[0] for item in items]
