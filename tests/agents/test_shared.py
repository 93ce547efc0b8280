"""The context that agents share: its journal is the store of its audit trail, usage and content."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from polycontext.agent_context import (
    FORGOTTEN,
    ContextLimits,
    ContextSizeChecker,
    ContextSizeError,
    ContextViolationError,
    ObjectStoreExternalizer,
    get_stats,
)
from polycontext.agent_context.errors import ArtifactError, ContextSizeWarning
from polycontext.agents import AgentMachine, SharedContext, SharedMachine, WriterRegion
from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.linearity import UNIX_EPOCH
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure.schedule import Prices
from polycontext.testing import ScriptedModel
from tests.agents.kitchen import ASKED, SCRIPT, UNDERSTOOD, agent_of, plan

USAGE = {"prompt_tokens": 900, "completion_tokens": 100}
PRICES = Prices(1, 10)  # dollars per million tokens: a call costs .0019
LARGE = "nothing to see\n" * 10_000


def message(content: str) -> dict[str, Any]:
    """Return an assistant message with the usage that a provider reports."""
    return {"role": "assistant", "content": content, "usage": USAGE, "model": "m"}


def opened(store: Any = None, **options: Any) -> SharedContext:
    """Return the shared context of a store, by default of a new one, in a handle of its own."""
    return SharedContext.open(store or InMemoryStore(), "trip", **options)


def fact(number: int, content: str = "c") -> dict[str, Any]:
    """Return a fact."""
    return {"id": f"f{number}", "content": content, "source": "s"}


def test_the_audit_has_a_run_for_each_answer_of_a_node() -> None:
    """It says which node it was, when, and what it wrote into the shared context."""
    agent = agent_of(ScriptedModel(SCRIPT))
    agent.send("A soup?")
    runs = [(run.agent_id, run.keys_written) for run in agent.memory.shared.audit.agent_runs]
    assert runs == [
        ("understand", ("reasoning.intents",)),
        ("think", ("retrieval.plans",)),
        ("act", ()),
        ("act", ()),
        ("act", ("enrichment.facts",)),
        ("act", ()),
        ("act", ("enrichment.facts",)),
        ("reply", ()),
    ]
    events = [event.at for event in agent.session.history.events()]
    assert all(run.timestamp in events for run in agent.memory.shared.audit.agent_runs)


def test_a_blocked_exchange_is_a_blocked_run() -> None:
    """Its error is the reason; the runs after it are none."""
    agent = agent_of(ScriptedModel([UNDERSTOOD, ASKED, "Which?"]))
    agent.session.add_user_turn("A soup?")
    agent.session.send("blocked", {"why": "no soup"})
    runs = agent.memory.shared.audit.agent_runs
    assert [(run.agent_id, run.status, run.error) for run in runs] == [
        ("blocked", "blocked", "no soup")
    ]
    agent.run()
    assert [run.status for run in agent.memory.shared.audit.agent_runs] == ["blocked", "success"]


def test_usage_is_what_providers_report() -> None:
    """By node in the shared context, and in the session, where a rewind takes nothing back.

    The call of an answer that is refused is recorded with the answer that is stored.
    """
    answers = [message("{}"), message(UNDERSTOOD), message(ASKED), message("Which?")]
    agent = agent_of(ScriptedModel([*answers, UNDERSTOOD]), prices=PRICES)
    agent.send("A soup?")
    usage = agent.memory.shared.llm.usage
    assert usage is not None
    assert (usage.total_tokens, usage.prompt_tokens, usage.completion_tokens) == (4000, 3600, 400)
    assert usage.cost_usd == pytest.approx(0.0076)
    by_agent = {"understand": 0.0038, "think": 0.0019, "reply": 0.0019}
    assert usage.by_agent == {name: pytest.approx(cost) for name, cost in by_agent.items()}
    assert agent.session.usage.spent.input_tokens == 3600
    agent.session.history.rewind(0)
    assert agent.memory.shared.llm.usage is None
    assert agent.session.usage.spent.calls == 4
    assert agent.session.usage.spent.cost_usd == pytest.approx(0.0076)


def test_a_usage_that_cannot_be_read_loses_no_answer() -> None:
    """The call counts, its tokens do not."""
    broken = {**message(UNDERSTOOD), "usage": {"prompt_tokens": "many"}}
    agent = agent_of(ScriptedModel([broken, ASKED, "Which?"]))
    assert agent.send("A soup?") == "Which?"
    assert (agent.session.usage.spent.calls, agent.session.usage.spent.input_tokens) == (3, 0)


def test_a_fact_says_who_found_it_when_and_how_sure() -> None:
    """The agent is in its provenance; the time is that of the event; Act gives a confidence."""
    step = json.dumps({"outcome": "found it", "confidence": 0.4})
    agent = agent_of(ScriptedModel([UNDERSTOOD, plan(), step, "Here."]))
    agent.send("A soup?")
    (found,) = agent.memory.shared.enrichment.facts
    acted = next(e for e in agent.session.history.events() if getattr(e, "name", "") == "acted")
    assert (found.provenance["agent_id"], found.timestamp) == ("act", acted.at)
    assert found.confidence == 0.4
    assert agent.memory.shared.metadata.created_at != UNIX_EPOCH
    shown = agent.memory.entries("enrichment.facts")
    assert [*shown[0]] == ["id", "content", "source", "confidence"]
    agent.write("inference", append={"enrichment.facts": [fact(9) | {"confidence": 1}]})
    assert agent.memory.entries("enrichment.facts")[-1] == fact(9)


def test_a_write_beyond_a_limit_changes_nothing() -> None:
    """The error names the limit, nothing is stored, and the audit yields before it is refused."""
    shared = opened()
    shared.write("summarization", {"reasoning.summary": "A train."})
    before, revision = shared.context, shared.session.history.revision
    for size, limit in ((3, "max_namespace_size"), (16, "max_total_size")):
        with pytest.raises(ContextSizeError) as caught:
            shared.write("orchestrator", {"enrichment.facts": [fact(1, "x" * size * 2**20)]})
        assert caught.value.limit == limit
    with pytest.raises(ContextSizeError, match="max_array_items"):
        shared.write("orchestrator", {"enrichment.context_links": ["x"] * 1001})
    assert (shared.context, shared.session.history.revision) == (before, revision)


def test_an_event_beyond_a_limit_is_not_remembered(caplog: pytest.LogCaptureFixture) -> None:
    """A program that sends it past the check changes no shared context."""
    shared = opened()
    large = {"agent": "orchestrator", "changes": {"reasoning.summary": "x" * 3 * 2**20}}
    shared.session.send("wrote", large)
    assert shared.context.reasoning.summary == ""
    assert "max_namespace_size" in caplog.text


class Narrow(SharedMachine):
    """A machine with a shared context of 40 KB, and an agent of its own."""

    class Region(WriterRegion):
        """The writers."""

        writers: ClassVar[Mapping[str, Any]] = {"reviewer": ["reasoning.summary"]}
        limits = ContextLimits(max_total_size=40_000, warn_total_size=20_000)

    regions: ClassVar[Mapping[str, Any]] = {"writers": Region}


def test_limits_and_agents_are_declared_on_the_region() -> None:
    """The audit trail yields where the whole would be too large, never what agents wrote."""
    shared = SharedContext(ContextSession(max_tokens=1000, machine=Narrow))
    for number in range(20):
        shared.write("reviewer", {"reasoning.summary": f"{number} " + "x" * 9_000})
    found = shared.context
    assert found.reasoning.summary.startswith("19 ")
    assert 0 < len(found.audit.diffs) < 3
    ContextSizeChecker(ContextLimits(max_total_size=40_000)).check(found)
    with pytest.warns(ContextSizeWarning, match="29,"):
        shared.write("orchestrator", {"enrichment.context_links": ["y" * 20_000]})
    with pytest.raises(ContextSizeError):
        shared.write("reviewer", {"reasoning.summary": "x" * 30_000})
    with pytest.raises(ContextViolationError):
        shared.write("reviewer", {"llm.model": "m"})


def test_a_large_artifact_is_a_stub_and_the_journal_has_its_content() -> None:
    """A rewind takes it back, and a small one stays where it is."""
    shared = opened()
    small = {"id": "note", "type": "text", "content": "short"}
    shared.write("retrieval_planner", append={"retrieval.artifacts": [small]})
    shared.write(
        "retrieval_planner", append={"retrieval.artifacts": [{"id": "log", "content": LARGE}]}
    )
    note, log = shared.context.retrieval.artifacts
    assert note.content == "short"
    assert log.content is None
    assert log.external is not None
    assert log.external.size > 150_000
    assert get_stats(shared.context).total_size < 3_000  # the diffs have the stub, too
    assert (shared.retrieve("log"), shared.retrieve("note")) == (LARGE, "short")
    shared.session.history.rewind(1)
    with pytest.raises(UnknownNameError, match="artifact"):
        shared.retrieve("log")


def test_a_large_artifact_is_stored_where_it_is_told(tmp_path: Path) -> None:
    """Then the journal has the stub alone; a write that is refused stores nothing."""
    shared = opened(artifacts=ObjectStoreExternalizer.open(tmp_path))
    log = {"retrieval.artifacts": [{"id": "log", "content": LARGE}]}
    with pytest.raises(ContextViolationError):
        shared.write("inference", append=log)
    assert [*tmp_path.iterdir()] == []
    shared.write("retrieval_planner", append=log)
    assert len(str(shared.session.history.events())) < 2_000
    assert shared.retrieve("log") == LARGE
    without = SharedContext(shared.session)
    with pytest.raises(ArtifactError):
        without.retrieve("log")


def test_a_list_is_shortened_although_others_refer_to_its_entries() -> None:
    """The oldest facts leave; the conclusions that are based on them stay."""
    shared = opened()
    shared.write("inference", append={"enrichment.facts": [fact(0)]})
    told = {"id": "c0", "content": "so", "confidence": 1, "based_on": ["f0"]}
    shared.write("inference", append={"reasoning.conclusions": [told]})
    for number in range(1, 120):
        shared.write("inference", append={"enrichment.facts": [fact(number)]})
    found = shared.context
    assert found.enrichment.facts[-1].id == "f119"
    assert found.enrichment.facts[0].id != "f0"
    assert found.reasoning.conclusions[0].based_on == ("f0",)
    assert 50 <= len(found.audit.diffs) < 100
    assert 50 <= len(found.audit.agent_runs) < 100


def test_forgotten_ids_keep_no_later_write_out() -> None:
    """Ids that an agent wrote from a message's words are gone with it; further facts are kept."""
    shared = opened()
    shared.session.add_user_turn("Look for KEY-4410 and KEY-4411.")
    for name in ("KEY-4410", "KEY-4411"):
        shared.write("inference", append={"enrichment.facts": [fact(0) | {"id": name}]})
    asked = next(iter(shared.session.log()))
    shared.session.history.forget(asked.resource_id)
    assert [each.id for each in shared.context.enrichment.facts] == [FORGOTTEN, FORGOTTEN]
    told = {"id": "c0", "content": "so", "confidence": 1, "based_on": [FORGOTTEN]}
    shared.write("inference", append={"reasoning.conclusions": [told]})
    shared.write("inference", append={"enrichment.facts": [fact(7)]})
    assert shared.context.enrichment.facts[-1].id == "f7"


@pytest.mark.anyio
async def test_other_programs_report_what_their_agents_used() -> None:
    """A write may have the response of a model, and nothing else."""
    shared = opened(prices=PRICES)
    await shared.awrite("inference", usage={"usage": USAGE})
    await shared.awrite("summarization", {"reasoning.summary": "s"}, usage=USAGE)
    assert shared.session.usage.spent.agent == ""
    assert shared.session.usage.spent.calls == 2
    assert [run.agent_id for run in shared.context.audit.agent_runs] == ["summarization"]
    assert shared.context.llm.usage is not None
    assert {*shared.context.llm.usage.by_agent} == {"inference", "summarization"}


def test_a_cleared_session_keeps_runs_and_usage() -> None:
    """What agents wrote is gone from the context; the journal still has it."""
    agent = agent_of(ScriptedModel([message(UNDERSTOOD), message(ASKED), message("Which?")]))
    agent.send("A soup?")
    before = agent.memory.shared
    agent.session.clear()
    after = agent.memory.shared
    assert after.reasoning.intents == ()
    assert after.audit.diffs == ()
    assert after.audit.agent_runs == before.audit.agent_runs
    assert after.llm.usage == before.llm.usage
    assert after.metadata == before.metadata


def test_a_session_without_writers_is_refused() -> None:
    """The error names the machines that have them."""
    with pytest.raises(InvalidOptionError, match="SharedMachine or AgentMachine"):
        SharedContext(ContextSession(max_tokens=1000))
    session = ContextSession(max_tokens=1000, machine=AgentMachine)
    assert SharedContext(session).context == agent_of(None, session).memory.shared
