"""The tests that every framework's adapter passes; a subclass creates and calls the agents.

The model behind an agent is the framework's own fake, which asks a `Judge`.
`POLYCONTEXT_EXCHANGES` sets the length of the conversations, and enlarges budgets and loops;
`POLYCONTEXT_ROWS` names a folder that receives the results: a row of the table in
docs/adapters.md.
"""

import ast
import asyncio
import inspect
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from polycontext.adapters import Adapter, Dialect
from polycontext.base import InvalidOptionError
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.window import Role, Turn
from tests.adapters.frameworks.judge import Judge
from tests.adapters.models import DEMAND
from tests.house import ROOT, examples
from tests.test_examples import check_example

SYSTEM = "You keep a cellar."
EXCHANGES = int(os.environ.get("POLYCONTEXT_EXCHANGES", "8"))
ROOM, STEPS = (4_000, 59) if "POLYCONTEXT_EXCHANGES" in os.environ else (3_000, 44)


def page_blocks(name: str) -> list[str]:
    """Return the blocks of docs/adapters.md that need the framework of an adapter."""
    page = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    return [code for _, code in examples(page, "py") if f"polycontext.adapters.{name} " in code]


async def run_block(code: str, names: Mapping[str, Any]) -> None:
    """Run a block of a page, which may await."""
    compiled = compile(code, "docs/adapters.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(compiled, {"__name__": "docs", **names})  # noqa: S307 - the page is the test
    if inspect.isawaitable(running):
        await running


def found(at: str) -> str:
    """Look something up: what the tool of every agent does."""
    return f"at {at}: " + "jar " * 40


class Agent(ABC):
    """An agent with the tool `look` and the system prompt `SYSTEM`, in one conversation per key.

    If the judge's script has a query, it has the adapter's recall tools, too.
    """

    adapter: Any = None

    @abstractmethod
    async def say(self, key: str, text: str) -> str:
        """Let the user say something, the agent run to its end, and return its answer."""

    @abstractmethod
    def history(self, key: str) -> Sequence[str]:
        """Return the texts of a conversation that the framework keeps, of every role."""

    def conversation(self, key: str) -> Any:
        """Return what the adapter knows a conversation by: a key, or the messages so far."""
        return key

    async def stream(self, key: str, text: str) -> str:
        """Do what `say` does, with the model's answers streamed."""
        pytest.skip("its agents do not stream")

    def saved(self) -> Any:
        """Return the framework's state of all conversations as JSON data, to restart from."""
        pytest.skip("it keeps nothing that could be gone on from")


class FrameworkTests(ABC):
    """The tests of one adapter.

    `distribution` is the framework's name on the package index; `provider` is the vendor whose
    rules apply.
    """

    distribution: str
    provider: str = "anthropic"
    dialect: type[Dialect[Any]]
    label: str = ""
    """The name in the table, if it differs from the framework's name."""
    overcounted: float = 1.0
    """How many tokens the judge counts for each that the vendor reports, as adapters learn."""

    @abstractmethod
    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent whose requests go to `judge`.

        `options` are the adapter's own; `saved` is the state that an earlier agent saved.
        """

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return the names that docs/adapters.md leaves undefined, such as `model` and `tools`.

        Only frameworks that are not always installed override this.
        """
        pytest.skip("tests/test_docs.py runs its blocks")

    @pytest.fixture
    def judge(self) -> Judge:
        """Judge what is sent."""
        return Judge(self.dialect(), self.provider)

    @pytest.fixture(scope="class")
    @classmethod
    def row(cls) -> Iterator[dict[str, Any]]:
        """Take what was seen, for the table."""
        seen: dict[str, Any] = {
            "framework": cls.label or cls.distribution,
            "version": version(cls.distribution),
        }
        yield seen
        if folder := os.environ.get("POLYCONTEXT_ROWS"):
            Path(folder, f"{cls.label or cls.distribution}.json").write_text(json.dumps(seen))

    def test_two_conversations_side_by_side(self, judge: Judge, row: dict[str, Any]) -> None:
        """Every request is valid and fits, the user's demand stays, and the history is complete."""
        agent = self.agent(judge, model=ROOM)
        asyncio.run(_talk(agent, range(EXCHANGES)))
        _whole(agent, judge, EXCHANGES)
        row |= {
            "exchanges": EXCHANGES,
            "requests": len(judge.sent),
            "largest": judge.largest,
            "refused": judge.refused,
            "demand": "kept",
            "history": "complete",
        }

    def test_a_long_loop_of_calls_keeps_the_prefix(self, judge: Judge, row: dict[str, Any]) -> None:
        """Most requests start with the previous one: a compression serves more than two."""
        judge.script.steps = STEPS
        asyncio.run(self.agent(judge, model=ROOM).say("A", f"Look for plums. {DEMAND}"))
        lists = [[*map(_said, turns)] for turns in judge.sent]
        assert len(lists) == STEPS + 1
        breaks = sum(later[: len(earlier)] != earlier for earlier, later in pairwise(lists))
        shorter = sum(len(later) < len(earlier) for earlier, later in pairwise(lists))
        assert 0 < shorter <= breaks < STEPS // 2
        assert judge.largest <= ROOM * self.overcounted
        assert DEMAND in str(lists[-1])
        row["breaks"] = breaks

    def test_a_restart_in_the_middle(
        self, judge: Judge, row: dict[str, Any], tmp_path: Path
    ) -> None:
        """A conversation restored from the framework's history and our store continues validly."""
        saved: Any = None
        for start in range(0, EXCHANGES, EXCHANGES // 2):
            store = SQLiteStore(tmp_path / "s.db")
            agent = self.agent(judge, saved, model=ROOM, store=store)
            asyncio.run(_talk(agent, range(start, start + EXCHANGES // 2)))
            saved = json.loads(json.dumps(agent.saved()))
            store.close()
            _whole(agent, judge, start + EXCHANGES // 2)
        row["restart"] = "continues"

    def test_a_model_that_fails_is_asked_again(self, judge: Judge, row: dict[str, Any]) -> None:
        """By the framework or by its user: nothing is there twice that was not said twice."""
        agent, tries = self.agent(judge, model=ROOM), []

        async def talk() -> None:
            for number in range(6):
                judge.faults = number % 2
                tries.append(number)
                try:
                    await agent.say("A", _words("A", number))
                except Exception:  # noqa: BLE001 - each framework raises its own
                    tries.append(number)
                    await agent.say("A", _words("A", number))

        asyncio.run(talk())
        texts = [turn.text.partition(":")[0] for turn in judge.sent[-1] if turn.role is Role.USER]
        # Where the framework keeps what was said before the failure, its user has said it twice.
        allowed = ([f"A{number}" for number in range(6)], [f"A{number}" for number in tries])
        assert texts in allowed
        row["retries"] = "no duplicates"

    def test_streaming(self, judge: Judge, row: dict[str, Any]) -> None:
        """A streamed answer is recorded like any other."""
        agent = self.agent(judge, model=ROOM)

        async def talk() -> None:
            for number in range(EXCHANGES):
                assert "Answer" in await agent.stream("A", _words("A", number))

        row["streaming"] = "none"
        asyncio.run(talk())
        assert judge.largest <= ROOM
        assert DEMAND in str(judge.sent[-1])
        row["streaming"] = "yes"

    def test_the_session_behind_a_conversation(self, judge: Judge) -> None:
        """It is the live one: it has the turns, and what is pinned there stays."""
        agent = self.agent(judge, model=ROOM // 2)
        assert isinstance(agent.adapter, Adapter)
        asyncio.run(_talk(agent, range(2)))
        session = agent.adapter.session(agent.conversation("A"))
        said = [turn for turn in session.log() if turn.role is Role.USER]
        assert [turn.text[:2] for turn in said] == ["A0", "A1"]
        session.pin(said[1].resource_id)
        asyncio.run(_talk(agent, range(2, EXCHANGES)))
        assert _words("A", 1) in str(judge.sent[-3])
        assert _words("B", 1) not in str(judge.sent[-1])

    def test_the_model_looks_up_what_left_its_view(self, judge: Judge) -> None:
        """In the conversation that it is asked in."""
        judge.script.query = "gate"
        agent = self.agent(judge, model=ROOM // 2)
        if not hasattr(agent.adapter, "recall_tools"):
            pytest.skip("its users run the tools themselves")
        judge.script.query = ""
        for key in "AB":
            asyncio.run(agent.say(key, _words(key, 0)))
            asyncio.run(agent.say(key, f"{key}: look. The gate opens with QX7-2281{key}."))
        asyncio.run(_talk(agent, range(1, EXCHANGES)))
        judge.script.query = "gate"
        for key, other in ("AB", "BA"):
            asyncio.run(agent.say(key, "What does it open with?"))
            told = [turn.text for turn in judge.sent[-1] if turn.role is Role.TOOL][-2:]
            assert [f"QX7-2281{key}" in each for each in told] == [True, True]
            assert f"QX7-2281{other}" not in str(told)

    def test_its_example_prints_what_it_says(self) -> None:
        """As those of the core do; that of a page is the page."""
        name = self.dialect.__module__.rpartition(".")[2].removesuffix("_messages")
        if self.dialect.__module__.startswith("polycontext."):
            check_example(ROOT / "examples" / "adapters" / f"with_{name}.py")

    def test_its_block_of_the_page_runs(
        self, judge: Judge, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The agent of docs/adapters.md runs, and asks its model by the adapter."""
        names, joined = self.page_names(judge), self.dialect.join
        views: list[int] = []

        def join(dialect: Any, view: Any) -> Any:
            views.append(len(view := [*view]))
            return joined(dialect, view)

        monkeypatch.setattr(self.dialect, "join", join)
        (block,) = page_blocks(self.dialect.__module__.rpartition(".")[2])
        asyncio.run(run_block(block, names))
        assert 0 < len(judge.sent) == len(views)

    def test_mistakes_are_told_when_it_is_made(self, judge: Judge) -> None:
        """Not at the first call of a model."""
        with pytest.raises(InvalidOptionError, match=r"^max_tokens = "):
            self.agent(judge, model=-1)


async def _talk(agent: Agent, numbers: Iterable[int]) -> None:
    for number in numbers:
        for key in "AB":
            assert "Answer" in await agent.say(key, _words(key, number))


def _words(key: str, number: int) -> str:
    demand = f" {DEMAND}" if number == 0 else ""
    return f"{key}{number}: look for plums.{demand} " + "please " * 20


def _whole(agent: Agent, judge: Judge, exchanges: int) -> None:
    """Check the last requests of two conversations, and the histories that the framework kept."""
    assert (len(judge.sent), judge.refused) == (exchanges * 4, 0)
    assert judge.largest <= ROOM
    # Thoughts are sent while they stand behind what they were thought on; the judge refuses them
    # anywhere else.
    assert judge.provider == "openai" or any(
        turn.parts for turns in judge.sent[len(judge.sent) // 2 :] for turn in turns
    )
    for key, other in ("AB", "BA"):
        last = [turns for turns in judge.sent if f"{key}{exchanges - 1}: " in str(turns)]
        assert len(last) == 2
        for turns in last:
            assert DEMAND in str(turns)
            assert f"{other}0: " not in str(turns)
            assert f"{other}{exchanges - 1}: " not in str(turns)
        history = "\n".join(agent.history(key))
        assert all(f"{key}{number}: " in history for number in range(exchanges))
        assert history.count("jar jar") >= 2 * exchanges


def _said(turn: Turn) -> object:
    """Return what a turn says; ids of calls are the framework's own."""
    return (
        turn.role,
        turn.text,
        [(call.name, call.arguments) for call in turn.tool_calls],
        turn.parts,
    )
