"""Scripts of tool loops, one per seed: thoughts, texts, calls, results and user messages."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from attrs import frozen

from tests.window import media_files
from tests.window.media_files import b64

_WORDS = Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split()
_TOOLS = ("search", "read_file", "book_seat", "run_tests")
_LONG = 100


@frozen
class Call:
    """One call of the script with its result; `picture` is its edge in pixels, 0 for none."""

    name: str
    arguments: str
    result: str
    failed: bool
    picture: int


@frozen
class Step:
    """Hold what the model says once; without calls it is an answer, and `user` speaks after it."""

    thinking: str | None
    text: str | None
    calls: tuple[Call, ...]
    user: str | None
    picture: int


@frozen
class Script:
    """A whole loop: system prompt, task and steps; `share` is the budget's share of its length."""

    seed: int
    system: str
    task: str
    steps: tuple[Step, ...]
    share: float


def script_of(seed: int) -> Script:
    """Return the script of `seed`: 5 to 25 steps, in one of a hundred 60."""
    random = Random(seed)  # noqa: S311 - a script is drawn, not a secret
    count = 60 if seed % _LONG == _LONG - 1 else random.randint(5, 25)
    steps = tuple(_steps(random, count))
    return Script(
        seed, _words(random, 5, 60), _words(random, 5, 80), steps, random.uniform(0.1, 0.6)
    )


def png(edge: int) -> str:
    """Return the base64 of a fake PNG of `edge` x `edge` pixels: its header and some bytes."""
    return b64(media_files.png(edge, edge, 300))


def _steps(random: Random, count: int) -> Iterator[Step]:
    for number in range(count):
        last = number == count - 1
        answers = last or random.random() < 0.15
        thinking = _words(random, 3, 120) if random.random() < 0.8 else None
        calls = (
            ()
            if answers
            else tuple(_call(random) for _ in range(random.choice([1, 1, 1, 1, 1, 2, 2, 3])))
        )
        text = _words(random, 3, 60) if answers or random.random() < 0.5 else None
        user = _words(random, 2, 60) if answers and not last else None
        yield Step(thinking, text, calls, user, _edge(random) if user else 0)


def _call(random: Random) -> Call:
    arguments = json.dumps({"query": _words(random, 1, 12), "number": random.randint(0, 99)})
    failed = random.random() < 0.1
    text = _words(random, 0 if random.random() < 0.1 else 3, random.choice([20, 60, 150]))
    return Call(random.choice(_TOOLS), arguments, text, failed, 0 if failed else _edge(random))


def _edge(random: Random) -> int:
    return random.choice([60, 150, 300]) if random.random() < 0.08 else 0


def _words(random: Random, least: int, most: int) -> str:
    return " ".join(random.choices(_WORDS, k=random.randint(least, most)))
