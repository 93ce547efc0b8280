"""Measure the cost of one more turn in the stores of other libraries and ours.

Usage: just bench store_peers [--turns N]

Each library keeps the same conversation in a SQLite file, opened as its documentation shows. A bare
durable commit in the same run is the reference. SQLite's setting ``synchronous`` tells which of
them write a commit to the disk before they return: FULL does, NORMAL in WAL mode does not.
"""

import argparse
import asyncio
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from attrs import define, field
from rich.console import Console
from rich.table import Table

from benchmarks.conversation import RememberingCounter
from polycontext.polynomial import ContextSession

Say = Callable[[str, str], object]
MEASURED = 100
ROLES = ("user", "assistant")


def bare(path: Path, opened: ExitStack) -> Say:
    """Insert the words and commit, durably."""
    db = sqlite3.connect(path, isolation_level=None)
    opened.callback(db.close)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE words (id INTEGER PRIMARY KEY, role TEXT, content TEXT)")
    return lambda role, text: db.execute(
        "INSERT INTO words (role, content) VALUES (?, ?)", (role, text)
    )


def polycontext(path: Path, opened: ExitStack) -> Say:
    """Keep a session of ours in a file: WAL, FULL."""
    session = opened.enter_context(
        ContextSession.open(path, "s", max_tokens=8000, counter=RememberingCounter())
    )
    return lambda role, text: (
        session.add_user_turn(text) if role == "user" else session.add_assistant_turn(text)
    )


def openai_agents(path: Path, opened: ExitStack) -> Say:
    """`SQLiteSession` of openai-agents: WAL, FULL."""
    session = import_module("agents").SQLiteSession("s", str(path))
    opened.callback(session.close)
    run = opened.enter_context(asyncio.Runner()).run
    return lambda role, text: run(session.add_items([{"role": role, "content": text}]))


def llama_index(path: Path, opened: ExitStack) -> Say:
    """`SQLAlchemyChatStore` of llama-index over aiosqlite: a rollback journal, FULL."""
    store = import_module("llama_index.core.storage.chat_store.sql").SQLAlchemyChatStore(
        table_name="messages", async_database_uri=f"sqlite+aiosqlite:///{path}"
    )
    message = import_module("llama_index.core.llms").ChatMessage
    run = opened.enter_context(asyncio.Runner()).run
    return lambda role, text: run(store.add_message("s", message(role=role, content=text)))


def langgraph(path: Path, opened: ExitStack) -> Say:
    """`SqliteSaver` of langgraph under a graph of messages: WAL, FULL.

    Each checkpoint holds all messages.
    """
    graphs = import_module("langgraph.graph")
    saver = opened.enter_context(
        import_module("langgraph.checkpoint.sqlite").SqliteSaver.from_conn_string(str(path))
    )
    made = graphs.StateGraph(graphs.MessagesState)
    made.add_node("said", lambda state: {})
    made.set_entry_point("said")
    graph, at = made.compile(checkpointer=saver), {"configurable": {"thread_id": "s"}}
    return lambda role, text: graph.update_state(
        at, {"messages": [{"role": role, "content": text}]}
    )


PEERS = (bare, polycontext, openai_agents, llama_index, langgraph)


def main(arguments: Sequence[str]) -> int:
    """Measure the stores and print the table."""
    parser = argparse.ArgumentParser(
        prog="just bench store_peers", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--turns", type=int, default=2_000, help="of the longer conversation (default: 2000)"
    )
    asked = parser.parse_args(arguments)
    if asked.turns < MEASURED:
        parser.error(f"--turns {asked.turns}. Use at least {MEASURED}.")
    console = Console(width=150)
    table = Table(title="one turn more in a SQLite file", title_justify="left")
    for column in (
        "store",
        f"ms at {MEASURED:,}",
        f"ms at {asked.turns:,}",
        "CPU µs there",
        "÷ bare commit",
        "bytes a turn",
        "how",
    ):
        table.add_column(column, justify="left" if column in ("store", "how") else "right")
    with TemporaryDirectory() as folder:
        kept = [
            each
            for peer in PEERS
            if (each := _opened(peer, Path(folder) / peer.__name__, console)) is not None
        ]
        for number in range(asked.turns):
            # All stores add each turn before the next one, because disk speed varies over time.
            for each in kept:
                each.say_one_more(number)
        for each in kept:
            with suppress(RuntimeError):
                each.opened.close()
            long = fmean(each.wall[-MEASURED:])
            table.add_row(
                each.peer.__name__,
                f"{fmean(each.wall[MEASURED // 2 : MEASURED]) * 1e3:.2f}",
                f"{long * 1e3:.2f}",
                f"{median(each.cpu[-MEASURED:]) * 1e6:.0f}",
                f"{long / fmean(kept[0].wall[-MEASURED:]):.2f} x",
                f"{sum(file.stat().st_size for file in each.folder.iterdir()) / asked.turns:,.0f}",
                (each.peer.__doc__ or "").strip(),
            )
    console.print(table)
    return 0


def _opened(
    peer: Callable[[Path, ExitStack], Say], folder: Path, console: Console
) -> "_Kept | None":
    folder.mkdir()
    opened = ExitStack()
    try:
        return _Kept(peer, folder, opened, peer(folder / "store.db", opened))
    except ModuleNotFoundError:
        console.print(
            f"{peer.__name__}: not installed; `just bench store_peers` measures it in an "
            "environment of its own"
        )
        return None


@define
class _Kept:
    """An open store, and the times of each turn."""

    peer: Callable[[Path, ExitStack], Say]
    folder: Path
    opened: ExitStack
    say: Say
    wall: list[float] = field(factory=list)
    cpu: list[float] = field(factory=list)

    def say_one_more(self, number: int) -> None:
        text = (
            f"Please look into parcel number {number} and tell me what you find there, for it "
            "should have arrived by now."
        )
        began, worked = perf_counter(), process_time()
        self.say(ROLES[number % 2], text)
        self.cpu.append(process_time() - worked)
        self.wall.append(perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
