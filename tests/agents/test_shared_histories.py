"""Random histories of writers and nodes: audit, usage and registry are those of a fresh fold."""

import random
from collections.abc import Callable, Iterator

import pytest
from attrs import evolve

from polycontext.agent_context import AgentContext, ContextPatch
from polycontext.agent_context.records import AuditContext
from polycontext.agents import AgentMachine, AgentMemory, Recollection, SharedContext
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import ClearEvent, Spent, spent_in
from polycontext.polynomial.journal.events import standing
from polycontext.window import Role, ToolCall, Turn

USAGE = {"usage": {"prompt_tokens": 90, "completion_tokens": 10}}
STEPS = 12


class History:
    """A random history of one session."""

    def __init__(self, seed: int) -> None:
        self.rng, self.said = random.Random(seed), 0  # noqa: S311 - a test's
        self.share(ContextSession(max_tokens=6000, machine=AgentMachine))

    def share(self, session: ContextSession) -> None:
        """Go on in a session."""
        self.session, self.shared = session, SharedContext(session)
        self.passed = {session.history.revision: self.shared.memory}

    def live(self) -> None:
        """Do some things; after each, check what is remembered."""
        steps: list[Callable[[], object]] = [
            self.write,
            self.append,
            self.ask,
            self.find,
            self.use,
            self.rewind,
            self.edit,
            self.fork,
            self.forget,
            self.clear,
        ]
        weights = [3, 3, 3, 2, 1, 1, 1, 0.5, 1, 0.3]
        for _ in range(STEPS):
            self.rng.choices(steps, weights)[0]()
            self.check()

    def words(self) -> str:
        """Return words that nothing else has."""
        self.said += 1
        return f"code-{self.said} is what they look for, number {self.rng.random()}"

    def write(self) -> None:
        """Write a key that another agent may have written."""
        agent = self.rng.choice(["summarization", "orchestrator"])
        usage = self.rng.choice([None, USAGE])
        self.shared.write(agent, {"reasoning.summary": self.words()}, usage=usage)

    def append(self) -> None:
        """Append to a list that another agent may have appended to."""
        agent = self.rng.choice(["context_synthesizer", "inference"])
        fact = {"id": f"f{self.said}", "content": self.words(), "source": "s"}
        self.shared.write(agent, append={"enrichment.facts": [fact]})

    def use(self) -> None:
        """Report a call, or write a large artifact."""
        if self.rng.random() < 0.5:
            self.shared.write("inference", usage=USAGE)
            return
        large = {"id": f"a{self.said}", "content": self.words() * 2_000}
        self.shared.write("retrieval_planner", append={"retrieval.artifacts": [large]})

    def ask(self) -> None:
        """Let nodes answer a message."""
        words, session = self.words(), self.session
        session.add_user_turn(f"Look for {words}.")
        spent = Spent("understand", 1, 10, 1, 0.25, 5).to_data()
        session.send("understood", {"intent": words, "confidence": 0.5}, spent=spent)
        session.send("planned", {"decision": "clarify", "goal": words, "questions": []})
        spent = Spent("reply", 1, 20, 2, 0.5, 5).to_data()
        session.add(Turn(Role.ASSISTANT, "Which?", metadata={"spent": spent}))

    def find(self) -> None:
        """Let a tool find an entity."""
        id = f"id-{self.rng.randrange(4)}-77aa"
        made = ToolCall(f"c{self.said}_{self.session.history.revision}", "find", "{}")
        self.session.add_user_turn(self.words())
        self.session.send("understood", {"intent": "find", "confidence": 1})
        step = {"type": "read", "subdomain": "recipes", "description": "find"}
        self.session.send("planned", {"decision": "plan_direct", "goal": "find", "steps": [step]})
        self.session.add_assistant_turn(None, [made])
        found = {"entities": [["read", "recipes", id, "name", 0]]}
        text = f'[{{"id": "{id}", "name": "{self.words()}"}}]'
        turn = Turn(Role.TOOL, text, name="find", tool_call_id=made.id, metadata=found)
        self.session.add(turn)
        self.session.send("acted", {"outcome": self.words(), "confidence": 0.5}, left=0)
        self.session.add_assistant_turn("Here it is.")

    def users(self) -> list[Turn]:
        """Return the user's turns."""
        return [turn for turn in self.session.log() if "code-" in turn.text and turn.role == "user"]

    def rewind(self) -> None:
        """Go back to where a step ended: everything is as it was then."""
        revision = self.rng.choice([*self.passed])
        self.session.history.rewind(revision)
        assert self.shared.memory == self.passed[revision]

    def edit(self) -> None:
        """Change a message: what followed is gone."""
        if users := self.users():
            self.session.history.edit(self.rng.choice(users).resource_id, self.words())

    def forget(self) -> None:
        """Forget a message: its words are in no audit trail."""
        if users := self.users():
            turn = self.rng.choice(users)
            self.session.history.forget(turn.resource_id)
            self.passed.clear()
            words = turn.text.removeprefix("Look for ").rstrip(".")
            assert words not in str(self.shared.context)

    def fork(self) -> None:
        """Go on in a fork."""
        before = self.shared.memory
        self.share(self.session.history.fork(f"fork {self.rng.random()}"))
        assert self.shared.memory.conversation == before.conversation
        assert self.shared.context.audit == before.shared.audit
        assert self.shared.context.llm == before.shared.llm

    def clear(self) -> None:
        """Clear the view."""
        if self.session.state != "EMPTY":
            self.session.clear()

    def check(self) -> None:
        """Compare what is remembered with a fresh fold, and with what the journal says of it."""
        memory = self.shared.memory
        assert memory == Recollection(self.session).memory
        self.passed[self.session.history.revision] = memory
        check_usage(self.session, memory)
        if not any(isinstance(event, ClearEvent) for event in self.session.history.events()):
            check_audit(memory)


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


def test_random_histories_of_a_shared_context() -> None:
    """Written, appended, asked, rewound, edited, forked, forgotten and cleared."""
    for seed in range(5):
        History(seed).live()


@pytest.mark.gate
def test_more_random_histories_of_a_shared_context() -> None:
    """The same, more of them: none differs."""
    for seed in range(1_000, 1_100):
        History(seed).live()
