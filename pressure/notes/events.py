"""Events: what happened in a conversation, as a note tells it.

Somebody asks or says something, a call is made and answered, a file is edited, a program prints.
A turn holds several: prose, a fenced command with its output, an edit.
"""

from enum import StrEnum
from typing import NamedTuple

ATTACHED = "attached"
"""The name of the call that stands for an attachment."""

REFUSAL = "not allowed by the user"
"""The result of a call that the user refused without a word."""

TEAMMATE = "teammate"
"""The name of the call that stands for a message of another agent, which has no call here."""


class Happening(StrEnum):
    """What an event is."""

    ASK = "ask"
    """The user's own words."""
    SAY = "say"
    """The assistant's prose, up to its next call, edit or block of code."""
    CALL = "call"
    """A call or command with its result."""
    EDIT = "edit"
    """A change of one file, or of the history of all of them."""
    OUTPUT = "output"
    """What a program printed, pasted without its call."""
    CODE = "code"
    """Code that is shown, and neither run nor written to a file."""
    LINE = "line"
    """A line of an earlier summary."""


class Effect(StrEnum):
    """What a call does."""

    READ = "read"
    """It looks at something and changes nothing."""
    RUN = "run"
    """It runs or changes something."""
    EDIT = "edit"
    """It edits files; the edits are events of their own behind it."""
    THINK = "think"
    """It notes a thought of the assistant, which is the text of its event."""


class Change(StrEnum):
    """How an edit changes a file, or the history of all files."""

    WRITE = "write"
    """The whole file is written."""
    REPLACE = "replace"
    """`before` is replaced by the text."""
    INSERT = "insert"
    DIFF = "diff"
    """The text is a unified diff."""
    SUBSTITUTE = "substitute"
    """The text is an expression of a stream editor."""
    UNDO = "undo"
    """The file, or every file if the path is empty, is put back as it was committed."""
    SHELVE = "shelve"
    """Every file is put back for a while."""
    UNSHELVE = "unshelve"
    """What was shelved stands again."""
    REVERT = "revert"
    """The last edit of the file is taken back."""
    REMOVE = "remove"
    COMMIT = "commit"
    """The edits before it are committed; the path is the hash, the text the message."""
    UNCOMMIT = "uncommit"
    """The commit with the hash in the path, or the last one, is taken back."""


class Event(NamedTuple):
    """An event, with the number of its turn among all read ones and that turn's id.

    `name` is the speaker's name, the tool's, the language of code, or the heading of a line.
    `command` is what a call runs in a shell; for other calls `arguments` is their JSON text. `path`
    is the file that is read or edited. `change` is set for edits, `effect` for calls. `failed`
    states that a call or edit is known to have failed.
    """

    happening: str
    turn: int
    id: str
    text: str = ""
    name: str = ""
    command: str = ""
    arguments: str = ""
    path: str = ""
    before: str = ""
    change: str = ""
    effect: str = ""
    failed: bool = False
