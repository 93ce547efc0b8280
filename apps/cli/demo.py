"""`polycontext demo`: a recorded conversation at the moment when its window is fullest."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest
from pathlib import Path
from textwrap import shorten, wrap
from typing import Any, NamedTuple

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.pressure import CompressionResult
from polycontext.window import Turn

from .command import command
from .output import one_line, write

RECORDING = Path(__file__).with_name("demo.json")
MAX_TOKENS = 1200

_SIDE = 38
_GAP = "   "
_WIDTH = 2 * _SIDE + len(_GAP)
_NEXT = """\
polycontext project FILE --max-tokens 4000   shorten a conversation of yours
polycontext replay FILE --max-tokens 4000    follow it message by message
polycontext chat                             chat, and watch the window fill up"""


class Moment(NamedTuple):
    """A compression: the turns before it, and its report."""

    before: tuple[Turn, ...]
    done: CompressionResult


@command("polycontext demo")
def demo() -> None:
    """Show how a session fits a recorded conversation into a small window.

    Calls no model. The conversation is the one in demo.json beside this command.
    """
    messages = json.loads(RECORDING.read_text(encoding="utf-8"))
    write("".join(f"{line.rstrip()}\n" for line in report(messages, MAX_TOKENS)))


def report(messages: Sequence[dict[str, Any]], max_tokens: int) -> Iterator[str]:
    """Yield the lines of the demo: its fullest moment, what was kept, and what a cut loses."""
    before, done = fullest(messages, max_tokens)
    after = done.window.all_turns()
    told = [turn for turn in before if done.window.class_of(turn) is ResourceClass.PRESERVED]
    cut = before[: len(before) - _fitting(before, done.window.max_tokens)]
    yield f"A recording of {len(messages)} messages, in a window of {max_tokens:,} tokens."
    yield f"Message {len(before)} no longer fits, so the session summarises older messages:"
    yield ""
    yield _beside(
        f"BEFORE: {len(before)} messages, {done.tokens_before:,} tokens",
        f"AFTER: {len(after)} messages, {done.tokens_after:,} tokens",
    )
    yield _beside("-" * _SIDE, "-" * _SIDE)
    left = [f"{turn.role:<9} {_words(turn)}" for turn in before]
    for one, other in zip_longest(left, _after(after, len(left)), fillvalue=""):
        yield _beside(one, other)
    yield ""
    yield from wrap(f"Kept word for word: {_named(told)}.", _WIDTH)
    lost = _named(turn for turn in told if turn in cut)
    yield from wrap(f"Keeping only the last messages loses {len(cut)}, among them {lost}.", _WIDTH)
    yield ""
    yield from _NEXT.splitlines()


def fullest(messages: Sequence[dict[str, Any]], max_tokens: int) -> Moment:
    """Return the compression of the fullest window of a session that takes `messages`."""
    session, moments = ContextSession(max_tokens), list[Moment]()
    for message in messages:
        before = session.window.all_turns()
        output = session.add_message(message)
        if output.compression is not None:
            moments.append(Moment((*before, session.log()[-1]), output.compression))
    return max(moments, key=lambda moment: moment.done.tokens_before)


def _fitting(turns: Sequence[Turn], max_tokens: int) -> int:
    """Return how many of the last turns fit into `max_tokens`."""
    sizes = accumulate(turn.tokens or 0 for turn in reversed(turns))
    return sum(size <= max_tokens for size in sizes)


def _after(turns: Iterable[Turn], rows: int) -> Iterator[str]:
    """Yield the lines of the right side; the summary takes what the others leave of `rows`."""
    listed = list(turns)
    for turn in listed:
        if not turn.is_gist:
            yield f"{turn.role:<9} {_words(turn)}"
            continue
        lines = [line for part in turn.text.splitlines() for line in _wrap(part)]
        room = rows - len(listed) + 1
        shown = lines[:room] if len(lines) <= room else [*lines[: room - 1], "…"]
        yield from (f"| {line}" for line in shown)


def _wrap(text: str) -> list[str]:
    return wrap(text, _SIDE - 2, break_on_hyphens=False)


def _named(turns: Iterable[Turn]) -> str:
    quoted = (f'"{shorten(turn.text, _SIDE, placeholder="…")}"' for turn in turns)
    return ", ".join(quoted)


def _words(turn: Turn) -> str:
    called = ", ".join(f"{call.name}(…)" for call in turn.tool_calls)
    return one_line(turn.text or f"-> {called}")


def _beside(left: str, right: str) -> str:
    return f"{_cut(left):<{_SIDE}}{_GAP}{_cut(right)}"


def _cut(text: str) -> str:
    return text if len(text) <= _SIDE else f"{text[: _SIDE - 1]}…"
