"""A context kept in a session: several agents write it with their rights, and nothing is lost."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from polycontext.agent_context import (
    AgentContext,
    AgentContextStore,
    ArtifactError,
    ContextValidator,
    ContextViolationError,
    MergeConflictError,
    ObjectStoreExternalizer,
    serialize,
)
from polycontext.agent_context.journal_store import KeptContextStore
from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreError
from polycontext.polynomial.journal.events import PatchEvent
from polycontext.polynomial.stores import InMemoryStore, SessionStore, SQLiteStore
from polycontext.postgresql import PostgreSQLStore
from polycontext.window import OrderError, Turn
from tests.agent_context.test_artifacts import Failing
from tests.polynomial.session.faulty import FaultyStore
from tests.postgresql.server import Server

START = AgentContext.new("session-1", "trace-1")
INTENTS = "reasoning.intents"
HYPOTHESES = "reasoning.hypotheses"


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.gate)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    """Return a store of each kind."""
    kept: SessionStore
    match request.param:
        case "memory":
            kept = InMemoryStore()
        case "sqlite":
            kept = SQLiteStore(tmp_path / "sessions.db")
        case _:
            kept = PostgreSQLStore(
                request.getfixturevalue("postgresql").url, schema=request.getfixturevalue("schema")
            )
    yield kept
    kept.close()


def opened(store: SessionStore, **options: Any) -> KeptContextStore:
    """Return the context of a session of its own over the store."""
    return KeptContextStore(
        ContextSession(2_000, store=store, session_id="s"), "plan", START, **options
    )


def intent(name: str) -> dict[str, Any]:
    """Return an intent."""
    return {"type": name, "confidence": 0.5}


def names(kept: AgentContextStore) -> list[str]:
    """Return what the intents are."""
    return [each.type for each in kept.context.reasoning.intents]


def test_two_agents_in_two_sessions_write_one_context(store: SessionStore) -> None:
    """Writes of two agents in two sessions are all kept, in order, and replay from the journal."""
    one, other = opened(store), opened(store)
    one.append("intent_detection", {INTENTS: [intent("book")]})
    other.write(
        "reasoning_structure", {HYPOTHESES: [{"id": "h1", "description": "he travels alone"}]}
    )
    one.append("intent_detection", {INTENTS: [intent("pay")]})
    third = opened(store)
    assert names(third) == ["book", "pay"]
    assert third.context.reasoning.hypotheses[0].id == "h1"
    assert [run.agent_id for run in third.context.audit.agent_runs] == [
        "intent_detection",
        "reasoning_structure",
        "intent_detection",
    ]
    assert third.replay() == third.context == one.context
    assert serialize(third.context) == serialize(one.context)
    assert {type(event) for event in third._session.history.events()} == {PatchEvent}


def test_threads_lose_nothing(store: SessionStore) -> None:
    """Four threads with a session each, adding to one list and writing keys of their own."""
    opened(store)

    def work(number: int) -> None:
        kept = opened(store)
        for place in range(10):
            kept.append("intent_detection", {INTENTS: [intent(f"{number}.{place}")]})

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = names(opened(store))
    assert sorted(found) == sorted(
        f"{number}.{place}" for number in range(4) for place in range(10)
    )
    assert all(
        [each for each in found if each[0] == str(n)] == [f"{n}.{place}" for place in range(10)]
        for n in range(4)
    )


def test_threads_over_one_session_lose_nothing(store: SessionStore) -> None:
    """The same object in several threads, while turns come in."""
    kept = opened(store)
    session = kept._session
    barrier = Barrier(3)

    def work(number: int) -> None:
        barrier.wait()
        for place in range(10):
            kept.append("intent_detection", {INTENTS: [intent(f"{number}.{place}")]})
            session.add_user_turn(f"{number}.{place}")

    threads = [Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(names(kept)), len(session.log())) == (30, 30)
    assert opened(store).context == kept.context


def test_who_has_no_right_changes_nothing_but_the_record(store: SessionStore) -> None:
    """A write without the right changes nothing but the record of its refusal."""
    kept, other = opened(store), opened(store)
    kept.write("intent_detection", {INTENTS: [intent("book")]})
    with pytest.raises(ContextViolationError):
        other.write("summarization", {INTENTS: []}, turns=[{"role": "user", "content": "with it"}])
    assert names(opened(store)) == ["book"]
    assert opened(store)._session.log() == ()
    assert [(run.agent_id, run.status) for run in opened(store).context.audit.agent_runs] == [
        ("intent_detection", "success"),
        ("summarization", "failed"),
    ]
    narrow = opened(store, validator=ContextValidator())
    with pytest.raises(ContextViolationError):
        narrow.write("intent_detection", {INTENTS: []})
    assert names(opened(store)) == ["book"]


def test_what_two_runs_wrote_differently_at_the_same_time_is_refused_for_the_later(
    store: SessionStore,
) -> None:
    """Of different keys both are taken; a run that begins afterwards may write over it."""
    one, other = opened(store), opened(store)
    with pytest.raises(MergeConflictError, match="summary"):  # noqa: PT012, SIM117 - its end fails
        with one.run("orchestrator") as run:
            run.write({"reasoning.summary": "mine"})
            other.write("orchestrator", {"reasoning.summary": "theirs"})
    assert opened(store).context.reasoning.summary == "theirs"
    with one.run("orchestrator") as run:
        run.write({"reasoning.summary": "mine"})
        other.append("orchestrator", {INTENTS: [intent("book")]})
    assert (one.context.reasoning.summary, names(one)) == ("mine", ["book"])
    other.write("orchestrator", {"reasoning.summary": "theirs again"})
    assert one._session.history.refresh() is one._session
    assert one.context.reasoning.summary == "theirs again"


def test_a_run_and_turns_are_one_commit(store: SessionStore) -> None:
    """A turn that may not come takes the run with it; what is left is its record."""
    kept = opened(store)
    kept.append(
        "intent_detection",
        {INTENTS: [intent("book")]},
        turns=[{"role": "user", "content": "Book."}],
    )
    assert len(kept._session.log()) == 1
    with pytest.raises(OrderError):
        kept.append(
            "intent_detection",
            {INTENTS: [intent("pay")]},
            turns=[Turn("tool", "x", tool_call_id="c1")],
        )
    assert (names(kept), names(opened(store)), len(kept._session.log())) == (["book"], ["book"], 1)
    assert [run.status for run in kept.context.audit.agent_runs] == ["success", "failed"]


def test_a_key_writes_once(store: SessionStore) -> None:
    """However often it is asked, and by whomever."""
    kept = opened(store)
    for each in (kept, kept, opened(store)):
        each.append("intent_detection", {INTENTS: [intent("book")]}, idempotency_key="k1")
    assert names(opened(store)) == ["book"]


def test_a_lost_answer_is_asked_again_by_its_key() -> None:
    """The run was stored, and nobody knew; under its key it is not done twice."""
    store = FaultyStore()
    kept = opened(store)
    store.fault = "after"
    with pytest.raises(OSError, match="the answer is lost"):
        kept.append("intent_detection", {INTENTS: [intent("book")]}, idempotency_key="k1")
    kept.append("intent_detection", {INTENTS: [intent("book")]}, idempotency_key="k1")
    assert names(kept) == names(opened(store)) == ["book"]


@pytest.mark.parametrize("fault", ["before", "middle"])
def test_what_was_not_stored_has_not_happened(fault: Any) -> None:
    """The context is what it was, here and in the store, and the next run goes on."""
    store = FaultyStore()
    kept = opened(store)
    kept.append("intent_detection", {INTENTS: [intent("book")]})
    store.fault = fault
    with pytest.raises(OSError, match=r"disk|broke"):
        kept.append("intent_detection", {INTENTS: [intent("pay")]}, turns=[Turn("user", "Pay.")])
    assert names(kept) == names(opened(store)) == ["book"]
    kept.append("intent_detection", {INTENTS: [intent("ask")]})
    assert names(opened(store)) == ["book", "ask"]


def test_a_store_that_was_closed_says_so_and_the_run_is_not_on_record(tmp_path: Path) -> None:
    """Twice: for the run, and beside it for its record."""
    store = SQLiteStore(tmp_path / "sessions.db")
    kept = opened(store)
    with pytest.raises(StoreError, match="it was closed") as refused:  # noqa: PT012, SIM117
        with kept.run("intent_detection") as run:
            run.append({INTENTS: [intent("book")]})
            store.close()
    assert "the failed run is not on record" in refused.value.__notes__[0]
    assert names(kept) == []


def test_going_back_takes_the_context_back_and_a_fork_goes_on_alone(store: SessionStore) -> None:
    """The context is what its patches up to there say, and can be written there."""
    kept = opened(store)
    kept.append("intent_detection", {INTENTS: [intent("book")]})
    session = kept._session
    here = session.history.revision
    kept.append("intent_detection", {INTENTS: [intent("pay")]})
    fork = KeptContextStore(session.history.fork("fork"), "plan")
    session.history.rewind(here)
    assert (names(kept), names(fork), names(opened(store))) == (["book"], ["book", "pay"], ["book"])
    kept.append("intent_detection", {INTENTS: [intent("ask")]})
    assert (names(kept), names(fork), names(opened(store))) == (
        ["book", "ask"],
        ["book", "pay"],
        ["book", "ask"],
    )
    assert kept.replay() == kept.context


@pytest.mark.gate
@pytest.mark.no_cover
def test_hundreds_of_runs_stay_small_and_open_as_they_were(tmp_path: Path) -> None:
    """The journal grows by what each run changed, not by the context."""
    path = tmp_path / "sessions.db"
    store = SQLiteStore(path)
    kept = opened(store)
    for number in range(600):
        if number % 3:
            kept.write("summarization", {"reasoning.summary": f"the summary {number}"})
        else:
            kept.append("intent_detection", {INTENTS: [intent(f"the intent {number}")]})
    last = kept.context
    patches = [
        len(event.patch)
        for event in kept._session.history.events()
        if isinstance(event, PatchEvent)
    ]
    assert max(patches[300:]) < 1.5 * max(patches[110:300])
    store.close()
    again = opened(store := SQLiteStore(path))
    assert again.context == last
    assert again.replay() == last
    store.close()


def test_large_artifacts_leave_and_come_back_after_reopening(tmp_path: Path) -> None:
    """The journal holds only the stub of a large artifact, which is read back after reopening."""
    content = "line of a log\n" * 250_000
    place = ObjectStoreExternalizer.open(tmp_path / "artifacts")
    store = SQLiteStore(tmp_path / "sessions.db")
    kept = opened(store, artifacts=place)
    artifact = {"id": "log", "type": "text", "content": content}
    kept.write(
        "retrieval_planner",
        {"retrieval.artifacts": [artifact]},
        turns=[Turn("user", "Look.")],
        idempotency_key="k1",
    )
    stub = kept.context.retrieval.artifacts[0]
    assert (stub.content, len(kept._session.log())) == (None, 1)
    assert (
        sum(
            len(event.patch)
            for event in kept._session.history.events()
            if isinstance(event, PatchEvent)
        )
        < 10_000
    )
    store.close()
    again = opened(store := SQLiteStore(tmp_path / "sessions.db"), artifacts=place)
    assert again.retrieve(again.context.retrieval.artifacts[0]).content == content
    assert again.replay() == again.context
    store.close()


def test_a_place_that_fails_changes_nothing(tmp_path: Path) -> None:
    """The turn that came with the run stays out as well."""
    store = InMemoryStore()
    kept = opened(store, artifacts=Failing(ObjectStoreExternalizer.open(tmp_path), 0, stored=False))
    with pytest.raises(ArtifactError):
        kept.write(
            "retrieval_planner",
            {"retrieval.artifacts": [{"id": "log", "type": "text", "content": "x" * 3_000_000}]},
            turns=[Turn("user", "Look.")],
        )
    assert (kept.context.retrieval.artifacts, opened(store)._session.log()) == ((), ())


def test_artifacts_can_be_moved_out_later(tmp_path: Path) -> None:
    """As of every such store."""
    kept = opened(InMemoryStore())
    kept.write(
        "retrieval_planner",
        {"retrieval.artifacts": [{"id": "log", "type": "text", "content": "x" * 60_000}]},
    )
    kept.externalize_artifacts("retrieval_planner", ObjectStoreExternalizer.open(tmp_path))
    assert kept.context.retrieval.artifacts[0].content is None
    assert kept.replay() == kept.context


def test_tasks_write_from_threads(store: SessionStore) -> None:
    """A run waits for the store: tasks give it to a thread."""
    kept = opened(store)

    async def work() -> None:
        await asyncio.gather(
            *(
                asyncio.to_thread(kept.append, "intent_detection", {INTENTS: [intent(str(n))]})
                for n in range(8)
            )
        )

    asyncio.run(work())
    assert sorted(names(opened(store))) == list("01234567")


def test_there_must_be_something_to_begin_with_and_it_must_be_a_context() -> None:
    """In words."""
    session = ContextSession(2_000)
    with pytest.raises(InvalidOptionError, match="the context to begin with"):
        KeptContextStore(session, "plan")
    session.documents.patch("notes", lambda _: [{"op": "add", "path": "", "value": {"seen": 1}}])
    with pytest.raises(InvalidDataError):
        KeptContextStore(session, "notes")


# --- processes ---------------------------------------------------------------------

WRITER = """
import os, sys
from polycontext.agent_context import AgentContext, ContextViolationError
from polycontext.agent_context.journal_store import KeptContextStore
from polycontext.polynomial import ContextSession
from polycontext.postgresql import PostgreSQLStore

agent, key, count = sys.argv[1:]
place, schema = os.environ["PLACE"], os.environ.get("SCHEMA")
where = PostgreSQLStore(place, schema=schema) if schema else place
with ContextSession.open(where, "s", max_tokens=2000, timeout=0.2) as session:
    kept = KeptContextStore(session, "plan", AgentContext.new("session-1", "trace-1"))
    for number in range(int(count)):
        # Of its own: what two add in the same words at the same moment stands once.
        entry = {"id": str(number)}
        if key == "reasoning.intents":
            entry = {"type": str(number), "confidence": os.getpid() % 1000 / 1000}
        kept.append(agent, {key: [entry]})
        print(number, flush=True)
    try:
        kept.write(agent, {"llm.model": "none"})
    except ContextViolationError:
        print("refused")
"""


def writing(
    agent: str, key: str, runs: int, place: str, schema: str = ""
) -> "subprocess.Popen[str]":
    """Start a process in which an agent appends `runs` entries and then tries a forbidden write."""
    arguments = [sys.executable, "-c", WRITER, agent, key, str(runs)]
    environment = {**os.environ, "PLACE": place, "SCHEMA": schema}
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def said(process: "subprocess.Popen[str]") -> list[str]:
    """Return what a process has said once it has ended well."""
    out, faults = process.communicate(timeout=120)
    assert faults == ""
    return out.split()


def test_agents_in_several_processes_write_one_file(tmp_path: Path) -> None:
    """Other processes write the context in one SQLite file while it is open here."""
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    with ContextSession.open(url, "s", max_tokens=2_000) as session:
        kept = KeptContextStore(session, "plan", START)
        kept.append("intent_detection", {INTENTS: [intent("mine")]})
        for agent, key in (("intent_detection", INTENTS), ("reasoning_structure", HYPOTHESES)):
            assert said(writing(agent, key, 3, url)) == ["0", "1", "2", "refused"]
    with ContextSession.open(url, "s", max_tokens=2_000) as session:
        kept = KeptContextStore(session, "plan")
        assert names(kept) == ["mine", "0", "1", "2"]
        assert [each.id for each in kept.context.reasoning.hypotheses] == ["0", "1", "2"]
        assert [run.status for run in kept.context.audit.agent_runs] == ["success"] * 4 + [
            "failed"
        ] + ["success"] * 3 + ["failed"]


@pytest.mark.gate
def test_two_agents_in_two_processes_write_one_context_on_a_server(
    postgresql: Server, schema: str
) -> None:
    """Concurrent agents in several processes lose no write, and each refusal is recorded."""
    place = postgresql.url
    agents = [
        ("intent_detection", INTENTS),
        ("reasoning_structure", HYPOTHESES),
        ("intent_detection", INTENTS),
    ]
    for process in [writing(agent, key, 20, place, schema) for agent, key in agents]:
        assert said(process) == [*map(str, range(20)), "refused"]
    with closing(PostgreSQLStore(place, schema=schema)) as store:
        kept = opened(store)
        assert Counter(names(kept)) == {str(number): 2 for number in range(20)}
        assert [each.id for each in kept.context.reasoning.hypotheses] == [
            str(number) for number in range(20)
        ]
        assert Counter(run.status for run in kept.context.audit.agent_runs) == {
            "success": 60,
            "failed": 3,
        }
        assert kept.replay() == kept.context


@pytest.mark.gate
def test_what_a_killed_process_was_told_is_there(postgresql: Server, schema: str) -> None:
    """After `kill -9` every acknowledged write is stored once, in order, plus at most one more."""
    process = writing("intent_detection", INTENTS, 10_000, postgresql.url, schema)
    assert process.stdout is not None
    heard = [process.stdout.readline().strip() for _ in range(15)]
    process.kill()
    heard += process.communicate(timeout=60)[0].split()
    with closing(PostgreSQLStore(postgresql.url, schema=schema)) as store:
        kept = opened(store)
        assert names(kept) in ([*heard], [*heard, str(len(heard))])
        kept.append("intent_detection", {INTENTS: [intent("on")]})
        assert kept.replay() == kept.context
