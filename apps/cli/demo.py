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
from .output import one_line, paper_width, write

RECORDING = Path(__file__).with_name("demo.json")
MAX_TOKENS = 1200

_GAP = "   "
_WIDTH = 79
_QUOTED = 38
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
    side = (min(paper_width(), _WIDTH) - len(_GAP)) // 2
    write("".join(f"{line.rstrip()}\n" for line in report(messages, MAX_TOKENS, side)))


def report(messages: Sequence[dict[str, Any]], max_tokens: int, side: int) -> Iterator[str]:
    """Yield the lines of the demo: its fullest moment, what was kept, and what a cut loses.

    Both lists are `side` columns wide.
    """
    width = 2 * side + len(_GAP)
    before, done = fullest(messages, max_tokens)
    after = done.window.all_turns()
    told = [turn for turn in before if done.window.class_of(turn) is ResourceClass.PRESERVED]
    cut = before[: len(before) - _fitting(before, done.window.max_tokens)]
    yield f"A recording of {len(messages)} messages, in a window of {max_tokens:,} tokens."
    full = f"Message {len(before)} no longer fits, so the session summarises older messages:"
    yield from wrap(full, width)
    yield ""
    yield _beside(
        f"BEFORE: {len(before)} messages, {done.tokens_before:,} tokens",
        f"AFTER: {len(after)} messages, {done.tokens_after:,} tokens",
        side,
    )
    yield _beside("-" * side, "-" * side, side)
    left = [f"{turn.role:<9} {_words(turn)}" for turn in before]
    for one, other in zip_longest(left, _after(after, len(left), side), fillvalue=""):
        yield _beside(one, other, side)
    yield ""
    yield from wrap(f"Kept word for word: {_named(told)}.", width)
    lost = _named(turn for turn in told if turn in cut)
    yield from wrap(f"Keeping only the last messages loses {len(cut)}, among them {lost}.", width)
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


def _after(turns: Iterable[Turn], rows: int, side: int) -> Iterator[str]:
    """Yield the lines of the right side; the summary takes what the others leave of `rows`."""
    listed = list(turns)
    for turn in listed:
        if not turn.is_gist:
            yield f"{turn.role:<9} {_words(turn)}"
            continue
        lines = [line for part in turn.text.splitlines() for line in _wrap(part, side)]
        room = rows - len(listed) + 1
        shown = lines[:room] if len(lines) <= room else [*lines[: room - 1], "…"]
        yield from (f"| {line}" for line in shown)


def _wrap(text: str, side: int) -> list[str]:
    return wrap(text, side - 2, break_on_hyphens=False)


def _named(turns: Iterable[Turn]) -> str:
    quoted = (f'"{shorten(turn.text, _QUOTED, placeholder="…")}"' for turn in turns)
    return ", ".join(quoted)


def _words(turn: Turn) -> str:
    called = ", ".join(f"{call.name}(…)" for call in turn.tool_calls)
    return one_line(turn.text or f"-> {called}")


def _beside(left: str, right: str, side: int) -> str:
    return f"{_cut(left, side):<{side}}{_GAP}{_cut(right, side)}"


def _cut(text: str, side: int) -> str:
    return text if len(text) <= side else f"{text[: side - 1]}…"
