"""The memory: a fold over the journal, whatever becomes of the journal."""

import pickle
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from attrs import evolve

from polycontext.agent_context import AgentContext, ContextPatch
from polycontext.agent_context.records import AuditContext
from polycontext.agents import Agent, AgentMachine, AgentMemory
from polycontext.agents.requests import ModelRequest
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import ClearEvent, Spent, spent_in
from polycontext.polynomial.journal.events import standing
from polycontext.testing import ScriptedModel
from tests.agents.kitchen import (
    ASKED,
    SCRIPT,
    UNDERSTOOD,
    RandomModel,
    agent_of,
    marks_of,
    tools,
)
from tests.house import ROOT

USAGE = {"prompt_tokens": 90, "completion_tokens": 10}
WORDS = sorted({*re.findall(r"\b[a-z]{4,}\b", (ROOT / "docs/concepts.md").read_text())})


def folded(agent: Agent) -> AgentMemory:
    """Return the memory of the agent's journal, read from its beginning."""
    return Agent(agent.session, agent.model, agent.tools.values()).memory


def stored(memory: AgentMemory) -> str:
    """Return every text that the memory holds."""
    return pickle.dumps(memory.conversation).decode(errors="replace")


class Billed(RandomModel):
    """A model whose answers say what they cost."""

    def complete(self, request: ModelRequest) -> Any:
        """Return an answer with its usage."""
        return {"role": "assistant", "content": super().complete(request), "usage": USAGE}


class History:
    """A random history of an agent and other writers; after each step its laws are checked."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - a test's
        self.seed, self.said = seed, 0
        self.words = set[str]()
        self.model = Billed(self.rng)
        session = ContextSession(
            max_tokens=self.rng.choice([700, 1500, 6000]), machine=AgentMachine
        )
        self.agent = self.agent_of(session)
        self.passed: dict[int, AgentMemory] = {}

    def agent_of(self, session: ContextSession) -> Agent:
        """Return an agent that may only find recipes."""
        return Agent(session, self.model, tools()[:1], summarizes=self.seed % 2 == 0)

    def say(self) -> str:
        """Return words that no other message has: a code, or six words of natural language."""
        self.said += 1
        code = f"code-{self.seed}x{self.said}"
        asked = code if self.seed % 2 else " ".join(self.rng.sample(WORDS, 6))
        self.words |= marks_of(asked)
        return f"Please look for {asked}, it is urgent."

    def users(self) -> list[Any]:
        """Return the user's turns that are not forgotten."""
        return [
            turn
            for turn in self.agent.session.log()
            if turn.text.startswith("Please look for ") and turn.role == "user"
        ]

    def step(self) -> None:
        """Do one thing."""
        steps: list[Callable[[], object]] = [
            self.send,
            self.send,
            self.send,
            lambda: self.agent.session.add_user_turn(self.say()),
            self.rewind,
            self.edit,
            self.regenerate,
            self.forget,
            self.retain,
            self.fork,
            self.clear,
            self.write,
            self.append,
            self.use,
        ]
        (self.rng.choice(steps) if self.users() else self.send)()
        memory = self.agent.memory
        assert memory == folded(self.agent)
        check_usage(self.agent.session, memory)
        if not any(isinstance(each, ClearEvent) for each in self.agent.session.history.events()):
            check_audit(memory)
        self.passed[self.agent.session.history.revision] = memory

    def send(self) -> None:
        """Send a message."""
        self.agent.send(self.say())

    def write(self) -> None:
        """Write a key that another agent may have written."""
        agent, usage = (
            self.rng.choice(["summarization", "orchestrator"]),
            self.rng.choice([None, USAGE]),
        )
        self.agent.write(agent, {"reasoning.summary": f"summary {self.rng.random()}"}, usage=usage)

    def append(self) -> None:
        """Append to a list that another agent may have appended to."""
        agent = self.rng.choice(["context_synthesizer", "inference"])
        fact = {"id": f"x{self.rng.random()}", "content": "so it is", "source": "s"}
        self.agent.write(agent, append={"enrichment.facts": [fact]})

    def use(self) -> None:
        """Report a call, and write a large artifact."""
        large = {"id": f"a{self.rng.random()}", "content": "nothing to see\n" * 5_000}
        self.agent.write("inference", usage=USAGE)
        self.agent.write("retrieval_planner", append={"retrieval.artifacts": [large]})

    def rewind(self) -> None:
        """Rewind to where a step ended: everything is remembered as it was then."""
        revision = self.rng.choice([*self.passed])
        self.agent.session.history.rewind(revision)
        assert self.agent.memory == self.passed[revision]
        self.agent.run()

    def edit(self) -> None:
        """Change a message."""
        turn = self.rng.choice(self.users())
        self.agent.session.history.edit(turn.resource_id, self.say())
        self.agent.run()

    def regenerate(self) -> None:
        """Answer again."""
        self.agent.session.history.regenerate()
        self.agent.run()

    def clear(self) -> None:
        """Clear the view: nothing that was said is remembered."""
        if self.agent.session.state != "EMPTY":
            self.agent.session.clear()
        assert self.agent.memory.conversation.recent_turns == ()

    def fork(self) -> None:
        """Go on in a fork: it remembers the same."""
        fork = self.agent_of(self.agent.session.history.fork(f"fork {self.rng.random()}"))
        assert fork.memory.conversation == self.agent.memory.conversation
        assert fork.memory.place == self.agent.memory.place
        assert fork.memory.shared.audit == self.agent.memory.shared.audit
        assert fork.memory.shared.llm == self.agent.memory.shared.llm
        self.agent, self.passed = fork, {}

    def forget(self) -> None:
        """Forget a message: its words are nowhere, and every ref names what it named."""
        turn, refs = self.rng.choice(self.users()), [*self.agent.memory.conversation.id_registry]
        self.agent.session.history.forget(turn.resource_id)
        self.check_gone([turn.text])
        assert [*self.agent.memory.conversation.id_registry] == refs

    def retain(self) -> None:
        """Let old messages expire: their words are nowhere, either."""
        before = {turn.resource_id: turn.text for turn in self.agent.session.log()}
        self.agent.session.history.retain(max_bytes=self.rng.choice([0, 300]))
        log = self.agent.session.log()
        self.check_gone(
            text
            for turn in log
            if turn.text == "[expired]" and (text := before[turn.resource_id]) != turn.text
        )

    def check_gone(self, texts: Iterable[str]) -> None:
        """Check that what was asked for in these texts is nowhere, now or after a rewind."""
        self.passed.clear()
        self.model.forbidden |= set[str]().union(*map(marks_of, texts)) & self.words
        memory = self.agent.memory
        held = f"{memory}{stored(memory)}{self.agent.session.history.events()}"
        assert not self.model.forbidden & marks_of(held)


def standing_calls(session: ContextSession) -> Iterator[Spent]:
    """Yield the calls of the events that no rewind has undone."""
    for _, event in standing(session.history.events()):
        if spent := spent_in(event):
            yield spent


def check_usage(session: ContextSession, memory: AgentMemory) -> None:
    """Check that the usage is the sum of the calls that stand; the session has all."""
    usage, total = memory.shared.llm.usage, sum(standing_calls(session), Spent())
    found = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
    assert found == (total.input_tokens, total.output_tokens)
    assert usage is None or usage.cost_usd == pytest.approx(total.cost_usd)
    assert session.usage.spent.calls >= total.calls


def check_audit(memory: AgentMemory) -> None:
    """Check that the diffs lead from an empty context to this one, and that each is in a run."""
    shared = memory.shared
    made = AgentContext(metadata=shared.metadata)
    for record in shared.audit.diffs:
        made = ContextPatch.of(record).apply(made)
    bare = evolve(shared, audit=AuditContext(), llm=evolve(shared.llm, usage=None))
    assert made == bare
    written = [key for run in shared.audit.agent_runs for key in run.keys_written]
    assert sorted(written) == sorted(
        f"{namespace}.{key}"
        for record in shared.audit.diffs
        for namespace, keys in record.changes.items()
        for key in keys
    )


def run_histories(seeds: range, steps: int) -> None:
    """Run random histories."""
    for seed in seeds:
        history = History(seed)
        for _ in range(steps):
            history.step()


def test_memory_follows_random_histories() -> None:
    """Rewound, edited, regenerated, forked, cleared, forgotten, expired and written to."""
    run_histories(range(4), 7)


@pytest.mark.gate
def test_memory_follows_many_random_histories() -> None:
    """The same, longer."""
    run_histories(range(100, 120), 9)


def test_a_forgotten_result_leaves_its_refs() -> None:
    """A ref that the reply quotes still names the same recipe; its words are gone."""
    agent = agent_of(ScriptedModel(SCRIPT))
    agent.send("A soup?")
    before = agent.memory.conversation.id_registry
    found = next(turn for turn in agent.session.log() if turn.role == "tool")
    agent.session.history.forget(found.resource_id)
    after = agent.memory.conversation.id_registry
    assert [*after] == [*before]
    assert after.id_of("recipe_2") == before.id_of("recipe_2")
    assert "Miso" not in stored(agent.memory)


def test_an_event_that_does_not_fit_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """Another program may have written it: the rest is remembered, and a log record says so."""
    agent = agent_of(ScriptedModel([UNDERSTOOD, ASKED, "Which?"]))
    agent.session.add_user_turn("A soup?")
    agent.session.send("understood", {"intent": "x", "confidence": 1, "demoted": ["recipe_7"]})
    agent.session.send("planned", {"decision": "clarify", "goal": "which", "questions": []})
    assert "recipe_7" in caplog.text or agent.memory.turn.think_goal == "which"
    assert "remembers nothing" in caplog.text


def test_ids_of_other_agents_do_not_stop_act() -> None:
    """Act's own facts get ids after all of them, in whatever order they were written."""
    agent = agent_of(ScriptedModel(SCRIPT))
    facts = [{"id": id, "content": "c", "source": "s"} for id in ("f1", "f2", "f01")]
    agent.write("context_synthesizer", append={"enrichment.facts": facts})
    assert agent.send("A soup, please.") == SCRIPT[-1]
    ids = [fact.id for fact in agent.memory.shared.enrichment.facts]
    assert ids == ["f1", "f2", "f01", "f3", "f4"]


def test_threads_read_the_same_memory() -> None:
    """A tool reads it in its thread while the runner does: no event is remembered twice."""
    agent = agent_of(ScriptedModel([]))
    for number in range(40):
        agent.session.add_user_turn(f"Soup {number}?")
        agent.session.send("understood", {"intent": "i", "confidence": 0.5})
        agent.session.send("planned", {"decision": "propose", "goal": "g"})
        agent.session.add_assistant_turn("Which?")
    whole, begin, switches = folded(agent), Barrier(4), sys.getswitchinterval()

    def read(reader: Agent) -> AgentMemory:
        begin.wait()
        return reader.memory

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            for _ in range(4):
                reader = Agent(agent.session, agent.model)
                assert [*threads.map(read, [reader] * 4)] == [whole] * 4
                assert reader.memory == whole
    finally:
        sys.setswitchinterval(switches)
