"""Shapes that vendors, compatible servers and clients really send, from their published types.

Each shape names what it is and the words that must not get lost on the way.
"""

from typing import Any

from attrs import frozen

Message = dict[str, Any]
CHAT, RESPONSES, ANTHROPIC = "openai", "openai-responses", "anthropic"


@frozen
class Shape:
    """A list that a vendor accepts, or an answer (with results for its calls) that it gives."""

    name: str
    provider: str
    value: Any
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def user(content: Any) -> Message:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def assistant(content: Any, **further: Any) -> Message:
    """Return a message of the assistant."""
    return {"role": "assistant", "content": content, **further}


def function_call(call_id: str, **further: Any) -> Message:
    """Return an item that calls a function."""
    name, arguments = "reserve", '{"table": 4}'
    call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    return {**call, **further}


def output(call_id: str, said: Any) -> Message:
    """Return the output of a function."""
    return {"type": "function_call_output", "call_id": call_id, "output": said}


ASK = user("Reserve a table, please.")
NOTE = {"role": "developer", "content": "The guest agreed."}

UNCHANGED = [
    Shape(
        f"an output behind {what}",
        RESPONSES,
        [ASK, function_call("a"), *between, output("a", "Reserved: RX-90."), user("Which number?")],
        ("RX-90", "Which number?"),
    )
    for what, between in {
        "a message of the user": [user("Quickly, please.")],
        "a note of the developer": [NOTE],
        "several messages": [NOTE, user("Quickly, please."), NOTE],
    }.items()
] + [
    Shape(
        "outputs of two turns that overlap",
        RESPONSES,
        [
            *(ASK, function_call("a"), user("And table 5.")),
            *(function_call("b"), output("b", "RX-91"), output("a", "RX-90"), user("Thanks.")),
        ],
        ("RX-90", "RX-91", "And table 5."),
    ),
]
"""Lists that a vendor accepts: they stay as they are where they fit."""
