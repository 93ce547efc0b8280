"""Answers that models have given instead of a summary; none of them may change anything."""

import asyncio

from polycontext.window import ToolCall

BROKEN: dict[str, object] = {
    "empty": "",
    "blank": " \n\t ",
    "null": None,
    "bytes": b"a summary",
    "a number": 7,
    "a list": ["a summary"],
    "a message": {"role": "assistant", "content": "a summary"},
    "a tool call": ToolCall("c1", "summarise", "{}"),
    "a coroutine function": asyncio.sleep,
    "half a character": "plums \ud800",
    "longer than its sources": " ".join(f"w{number}" for number in range(20_000)),
    "longer than its allowance": " ".join(f"w{number}" for number in range(2_000)),
    "refused": PermissionError("I can't help with that."),
    "cut off": RuntimeError("the answer was cut off at its length"),
    "late": TimeoutError("no answer in time"),
    "gone": ConnectionError("the server is gone"),
}
"""An exception is raised; anything else is returned."""


def answered(answer: object) -> object:
    """Return an answer, or raise it."""
    if isinstance(answer, Exception):
        raise answer
    return answer
