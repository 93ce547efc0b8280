"""Measure the cost of projections, plans, imports, sessions and contexts, in time and bytes."""

import atexit
import gc
import os
import random
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks import agent_context
from benchmarks.budget.row import Found, Row, Scale
from benchmarks.conversation import InstantSummariser, RememberingCounter, turns
from benchmarks.retention.aging import chained
from benchmarks.retention.recordings import DATA, Message, load
from polycontext.polynomial import ContextOverflowError, ContextSession, project
from polycontext.pressure import ContextProjector
from polycontext.window import ContextWindow, TiktokenCounter, count_turn
from polycontext.window.providers import get_format

PROJECTED = 100_000
MEGABYTE = 1_000_000
LOADED = 4_000
"""The number of turns of a session that loads what later ones share."""
TIMES = 5
"""The number of runs of each operation of a window, of which the best counts."""
IMPORTED = 3
"""The number of runs of each import, of which the best counts."""
IMPORTS = {
    "import polycontext": 10,
    "from polycontext.polynomial import ContextSession, project": 60,
}
"""The statements to time, with their limits in milliseconds.

Names are loaded on first access, so one statement accesses some.
"""


_FIRST = (
    "from polycontext import ContextSession; "
    "ContextSession(max_tokens=8000).add_user_turn('Where is my parcel?')"
)


def projection_rows(scale: Scale) -> Iterator[Row]:
    """Yield the cost of a first projection, of recorded turns if available, and of hostile text."""
    messages, of = _long_list(scale)
    counter = RememberingCounter()
    tokenizing = _counted(messages, counter)
    began = process_time()
    projection = project(messages, 8_000, counter=counter)
    seconds = process_time() - began
    told = (
        f"{projection.tokens_before:,} tokens of {of}, cut to 8,000; tokenizing the list: "
        f"{tokenizing * 1e3:.0f} ms besides"
    )
    worst, which = max(_hostile(scale))
    yield Row(
        "first projection of 100k tokens; hostile text",
        (
            Found("projection", seconds * 1e3, 600, " ms"),
            Found(f"hostile text ({which})", worst, 2, " s a MB"),
        ),
        (told, "hostile times include tokenizing; that it runs under no lock is tested, not timed"),
    )


def _long_list(scale: Scale) -> tuple[list[Message], str]:
    scale.tell("a list of 100,000 tokens")
    if DATA.is_dir():
        messages, of = chained(load("tau")).messages, "recorded messages"
    else:
        messages, of = (
            list[Message](get_format("openai").render(turns(6_000)).messages),
            "made-up turns",
        )
    counter, tokens, end = RememberingCounter(), 0, 0
    for end, turn in enumerate(get_format("openai").parse(messages).turns):  # noqa: B007
        tokens += count_turn(counter, turn)
        if tokens > PROJECTED and turn.role == "user":
            break
    return messages[:end], of


def _counted(messages: list[Message], counter: RememberingCounter) -> float:
    parsed = get_format("openai").parse(messages).turns
    began = process_time()
    for turn in parsed:
        count_turn(counter, turn)
    return process_time() - began


def _hostile(scale: Scale) -> Iterator[tuple[float, str]]:
    """Yield the seconds of a projection that cuts a megabyte of text, for each kind of text."""
    draw = random.Random(7)  # noqa: S311 - no secret
    letters = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=MEGABYTE))
    kinds = {
        "one letter": "a" * MEGABYTE,
        "random letters": letters,
        "white space": " " * MEGABYTE,
        "line ends": "\n" * MEGABYTE,
        "open brackets": "[" * MEGABYTE,
        "quotes": '"' * MEGABYTE,
        "another script": "港湾台帳" * (MEGABYTE // 12),
        "joined emoji": "👩‍👧" * (MEGABYTE // 11),
        "short lines": "a\n" * (MEGABYTE // 2),
        "sentences of one word": "No. " * (MEGABYTE // 4),
        "records": "["
        + ", ".join(f'{{"id": {number}, "name": "n{number}"}}' for number in range(MEGABYTE // 32))
        + "]",
        "other lines each": "\n".join(
            letters[place : place + 40] for place in range(0, MEGABYTE, 41)
        ),
    }
    for name, text in kinds.items():
        scale.tell(f"hostile text: {name}")
        messages = [
            {"role": "user", "content": "Begin."},
            {"role": "assistant", "content": text},
            {"role": "user", "content": "Go on."},
        ]
        began = process_time()
        try:
            project(messages, 4_000, counter=TiktokenCounter())
        except ContextOverflowError:
            name += ", refused"  # noqa: PLW2901 - part of the label
        yield process_time() - began, name


def _best(work: Callable[[], object]) -> float:
    """Return the least seconds of TIMES runs without the garbage collector, as timeit does."""
    found = []
    gc.disable()
    for _ in range(TIMES):
        began = process_time()
        work()
        found.append(process_time() - began)
    gc.enable()
    return min(found)


def _window_of(size: int) -> ContextWindow:
    """Return a window of that many turns, with room for more."""
    window = ContextWindow(size * 30, counter=RememberingCounter())
    for turn in turns(size):
        window = window.append(turn)
    return window


def window_rows(scale: Scale) -> Iterator[Row]:
    """Yield the cost of plan, commit and duplicate in a long window."""
    scale.tell(f"a window of {scale.turns:,} turns")
    window, projector = _window_of(scale.turns), ContextProjector(InstantSummariser())
    fulfilment = projector.fulfil(projector.plan_for(window, 0.4))
    plan = Found("plan", _best(lambda: projector.plan_for(window, 0.4)) * 1e3, 50, " ms")
    commit = Found(
        "commit without a model",
        _best(lambda: projector.commit(window, fulfilment)) * 1e3,
        50,
        " ms",
    )
    yield Row(f"plan and commit for a window of {scale.turns:,} turns", (plan, commit))
    duplicate = Found("duplicate()", _best(window.duplicate) * 1e3, 100, " ms")
    yield Row(
        f"duplicate of {scale.turns:,} turns",
        (duplicate,),
        ("that no turn is copied is tested, not timed",),
    )


def import_rows(scale: Scale) -> Iterator[Row]:
    """Yield the import time of our own modules without other libraries, best of some runs."""
    scale.tell("imports")
    found = [
        Found(name, min(_own_import(name) for _ in range(IMPORTED)), most, " ms")
        for name, most in IMPORTS.items()
    ]
    yield Row("own share of importing", tuple(found))


def command_rows(scale: Scale) -> Iterator[Row]:
    """Yield the CPU time of the command line relative to an empty program, best of some runs."""
    scale.tell("the command line")
    empty = _cpu("-c", "pass")
    found = [
        Found(option, _cpu("-m", "polycontext", option) / empty, most, " times an empty program")
        for option, most in (("--version", 10), ("--help", 25))
    ]
    yield Row("starting the command line", tuple(found))
    begun = [
        Found(name, (_cpu("-c", code) - empty) * 1e3, most, " ms")
        for name, code, most in (
            ("import polycontext", "import polycontext", 60),
            ("first counted message", _FIRST, 400),
        )
    ]
    yield Row("first contact, beside an empty program", tuple(begun))


def _cpu(*arguments: str) -> float:
    """Return the CPU seconds of a run of Python, as the best of some runs.

    Byte code is kept from the first run, as it is wherever a package was installed.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(_byte_code())}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def once() -> float:
        before = spent()
        subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, *arguments], capture_output=True, check=True, env=environment
        )
        return spent() - before

    return min(once() for _ in range(IMPORTED))


@cache
def _byte_code() -> Path:
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _own_import(code: str) -> float:
    """Return the CPU milliseconds of `code` after all modules of other libraries are imported."""
    foreign = [
        name
        for name in _printed(f"{code}\n{_NAMES}").split()
        if name.split(".")[0] != "polycontext"
    ]
    return float(_printed(_TIMED.format(foreign=foreign, code=code)))


_NAMES = (
    "import sys; print(*(name for name, module in sys.modules.items() if getattr(module, "
    "'__spec__', None)))"
)
_TIMED = """
import contextlib, importlib, time
for name in {foreign}:
    with contextlib.suppress(Exception):
        importlib.import_module(name)
began = time.process_time()
{code}
print(1000 * (time.process_time() - began))
"""


def _printed(code: str) -> str:
    return subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def session_rows(scale: Scale) -> Iterator[Row]:
    """Yield the bytes per turn that a session holds beyond the turns' texts, with its journal."""
    conversation = list(turns(scale.turns))
    counter = RememberingCounter()
    for turn in conversation:
        count_turn(counter, turn)
    # Vocabularies, tables and caches of words are held once, not by each session.
    ContextSession(8_000, counter=TiktokenCounter()).extend(conversation[:LOADED])
    session = ContextSession(8_000, counter=TiktokenCounter())
    tracemalloc.start()
    for number, turn in enumerate(conversation):
        if number % 1_000 == 0:
            scale.tell(f"bytes a turn, turn {number:,} of {scale.turns:,}")
        session.add(turn)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    bytes_a_turn = Found("held", held / scale.turns, 500, " bytes")
    saved = len("".join(session.history.export()).encode()) / scale.turns
    said = sum(len(turn.text.encode()) for turn in conversation) / scale.turns
    yield Row(
        f"bytes held per turn beyond its text, {scale.turns:,} turns",
        (bytes_a_turn,),
        (f"as JSON {saved:,.0f} bytes a turn, {said:,.0f} of them text",),
    )


def agent_rows(scale: Scale) -> Iterator[Row]:
    """Yield the cost of operations on an AgentContext of 100 KB."""
    scale.tell("an AgentContext of 100 KB")
    found = agent_context.measure(1)
    limits = {
        "new": 10,
        "clone": 1,
        "serialise": 500,
        "deserialise": 800,
        "diff capture, three facts more": 50,
        "size check after that write": 200,
    }
    yield Row(
        "AgentContext 100 KB",
        tuple(Found(name, found[name], most, " µs") for name, most in limits.items()),
    )
