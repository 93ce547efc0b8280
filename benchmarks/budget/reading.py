"""Measure a warm `messages()`: the functions of ours that it calls, their files, and its time.

The time is compared with that of a round trip of the result through `json`, so that the figure does
not depend on the machine.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from types import FrameType

from benchmarks.budget.row import Found, Row, Scale
from benchmarks.conversation import RememberingCounter, turns
from polycontext.polynomial import ContextSession
from polycontext.window import Turn
from polycontext.window.providers import Provider

SHORT, LONG = 62, 1_000
TRIES = 40

LIMITS = {Provider.OPENAI: (110, 15, 0.9, 0.6), Provider.ANTHROPIC: (250, 20, 1.8, 0.9)}
"""The most calls and files, and the longest time of a short and of a long conversation."""


def reading_rows(scale: Scale) -> Iterator[Row]:
    """Yield a row for each format on reading the messages after a turn."""
    for provider, (most_calls, most_files, *times) in LIMITS.items():
        scale.tell(f"reading: {provider}")
        session = session_of(SHORT, provider)
        calls = calls_of(session.messages)
        yield Row(
            f"messages() for {provider} after a turn",
            (
                Found(f"calls, {SHORT} turns", calls.total(), most_calls),
                Found("files", len({file for file, _ in calls}), most_files),
                *(
                    Found(f"time, {size:,} turns", _share(session_of(size, provider)), most, " x")
                    for size, most in zip((SHORT, LONG), times, strict=True)
                ),
            ),
            ("times a round trip of the messages through json",),
        )


def session_of(count: int, provider: Provider) -> ContextSession:
    """Return a session that has answered once before its last turn."""
    counter = RememberingCounter()
    session = ContextSession(10_000_000, counter=counter, provider=provider)
    for turn in turns(count - 1):
        session.add(turn)
    session.close_open_calls("Continued.")
    session.messages()
    session.add(Turn("user", "And now?"))
    return session


def calls_of(call: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Return how often `call` enters each function of ours, by file and name."""
    entered: Counter[tuple[str, str]] = Counter()

    def entering(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        name = code.co_filename
        if event == "call" and "polycontext" in name and Path(name).suffix == ".py":
            entered[name, code.co_name] += 1

    sys.setprofile(entering)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def _share(session: ContextSession) -> float:
    """Return the least time of reading the messages after a turn, in round trips of `json`."""
    messages = session.messages()
    reading, copying = float("inf"), float("inf")
    for number in range(TRIES):
        session.add(Turn("user" if number % 2 else "assistant", "Well."))
        began = process_time()
        messages = session.messages()
        reading = min(reading, process_time() - began)
        began = process_time()
        json.loads(json.dumps(messages))
        copying = min(copying, process_time() - began)
    return reading / copying
