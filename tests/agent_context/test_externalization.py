"""Large values leave by themselves where there is a place for them, and come back as they were."""

import warnings
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import (
    AgentContext,
    AgentContextStore,
    Artifact,
    ArtifactError,
    ArtifactFault,
    ContextLimits,
    ContextPatch,
    ContextSizeChecker,
    ContextSizeError,
    ContextSizeWarning,
    ObjectStoreExternalizer,
    collect_garbage,
    deserialize,
    serialize,
)
from polycontext.agent_context.artifacts import STUB, retrieve_value
from polycontext.agent_context.json_text import dumps, is_same
from polycontext.agent_context.records import ExternalContent, Query
from polycontext.base import InvalidDataError, InvalidOptionError
from tests.agent_context.changes import START, write
from tests.agent_context.strategies import JSON
from tests.agent_context.test_artifacts import LATER, Failing

MEGABYTE = 1024 * 1024
THREE = "line of a log\n" * (3 * MEGABYTE // 14)
SIXTY = 60 * 1024


@pytest.fixture
def folder(tmp_path: Path) -> ObjectStoreExternalizer:
    """Return a folder of this machine."""
    return ObjectStoreExternalizer.open(tmp_path)


def test_three_megabytes_are_written_and_read_back(folder: ObjectStoreExternalizer) -> None:
    """A value larger than its namespace is externalised and read back, also after save and load."""
    store = AgentContextStore(START, artifacts=folder)
    store.write(
        "retrieval_planner",
        {"retrieval.artifacts": [{"id": "log", "type": "text", "content": THREE}]},
    )
    stub = store.context.retrieval.artifacts[0]
    assert stub.external is not None
    assert (
        stub.content,
        stub.external.size > 3_000_000,
        len(serialize(store.context)) < 4_096,
    ) == (None, True, True)
    assert store.retrieve(stub) == Artifact("log", "text", THREE)
    again = AgentContextStore(deserialize(serialize(store.context)), artifacts=folder)
    assert again.retrieve(again.context.retrieval.artifacts[0]).content == THREE
    assert store.replay() == store.context
    assert store.context.audit.agent_runs[-1].keys_written == ("retrieval.artifacts",)


def test_without_a_place_the_limit_stands() -> None:
    """Without an artifact store, an oversized value is refused and nothing can be retrieved."""
    store = AgentContextStore(START)
    with pytest.raises(ContextSizeError, match=r"max_namespace_size at \$\.retrieval"):
        store.write("retrieval_planner", {"retrieval.artifacts": [{"id": "log", "content": THREE}]})
    with pytest.raises(InvalidOptionError, match="Use a place for artifacts"):
        store.retrieve({STUB: {}})


@pytest.mark.parametrize("place", [3, "folder", Path("folder")])
def test_a_place_is_one(place: Any) -> None:
    """The name of a folder is no place yet: the refusal says what makes one of it."""
    with pytest.raises(InvalidOptionError, match="a place for artifacts, such as"):
        AgentContextStore(START, artifacts=place)


PLACES: list[tuple[str, str, Any, Any]] = [
    (
        "retrieval_planner",
        "retrieval.queries",
        [{"id": "q", "results": THREE}],
        lambda c: c.retrieval.queries[0].results,
    ),
    (
        "retrieval_planner",
        "retrieval.queries",
        [{"id": "q", "filters": {"a": [THREE]}}],
        lambda c: c.retrieval.queries[0].filters["a"],
    ),
    (
        "intent_detection",
        "reasoning.entities",
        {"report": THREE},
        lambda c: c.reasoning.entities["report"],
    ),
    (
        "reasoning_structure",
        "reasoning.dependency_map",
        {"a": THREE},
        lambda c: c.reasoning.dependency_map,
    ),
    ("inference", "llm.cache", {"answer": {"text": THREE}}, lambda c: c.llm.cache["answer"]),
    (
        "context_synthesizer",
        "enrichment.facts",
        [{"id": "f", "provenance": {"raw": THREE}}],
        lambda c: c.enrichment.facts[0].provenance["raw"],
    ),
    (
        "validation",
        "diagnostics.errors",
        [{"message": "m", "details": THREE}],
        lambda c: c.diagnostics.errors[0].details,
    ),
]


@pytest.mark.parametrize(("agent", "key", "value", "find"), PLACES)
def test_any_json_value_may_leave(
    folder: ObjectStoreExternalizer, agent: str, key: str, value: Any, find: Any
) -> None:
    """Results, entities, caches, provenance and details can be externalised as well."""
    store = AgentContextStore(START, artifacts=folder)
    store.write(agent, {key: value})
    stub = find(store.context)
    assert list(stub) == [STUB]
    inline = AgentContextStore(
        START, checker=ContextSizeChecker(ContextLimits(max_namespace_size=9 * MEGABYTE))
    )
    inline.write(agent, {key: value})
    assert is_same(store.retrieve(stub), find(inline.context))
    assert is_same(find(deserialize(serialize(store.context))), stub)
    assert store.replay() == store.context
    assert collect_garbage(folder, [store.context], older_than=LATER).collected == ()


def test_sixty_kilobytes_leave_when_the_total_would_not_fit(
    folder: ObjectStoreExternalizer,
) -> None:
    """Large values stay inline while there is room and are externalised when there is none."""
    store = AgentContextStore(START, artifacts=folder)
    texts = [f"{number:02}" * (SIXTY // 2) for number in range(40)]
    stayed: list[int] = []
    for number, text in enumerate(texts):
        store.append(
            "retrieval_planner", {"retrieval.queries": [Query(f"q{number}", results=text)]}
        )
        stayed.append(
            sum(isinstance(query.results, str) for query in store.context.retrieval.queries)
        )
    assert stayed[:10] == list(range(1, 11))
    assert 0 in stayed
    assert [store.retrieve(query.results) for query in store.context.retrieval.queries] == texts
    assert store.replay() == store.context
    assert AgentContextStore(deserialize(serialize(store.context))).replay() == store.context


def test_artifacts_keep_to_their_own_limits(folder: ObjectStoreExternalizer) -> None:
    """Artifacts over 50 KB leave at once, and the largest ones when all exceed 100 KB."""
    store = AgentContextStore(START, artifacts=folder)
    for number, size in enumerate((60, 40, 39, 38)):
        store.append(
            "retrieval_planner",
            {"retrieval.artifacts": [Artifact(f"a{number}", content="x" * size * 1024)]},
        )
    assert [artifact.external is None for artifact in store.context.retrieval.artifacts] == [
        False,
        False,
        True,
        True,
    ]
    assert not ContextSizeChecker().should_externalize_artifacts(store.context)


def test_small_values_stay_where_there_is_room(folder: ObjectStoreExternalizer) -> None:
    """Nothing leaves that need not."""
    store = AgentContextStore(START, artifacts=folder)
    store.write("intent_detection", {"reasoning.entities": {"large": "x" * (MEGABYTE // 2)}})
    assert store.context.reasoning.entities == {"large": "x" * (MEGABYTE // 2)}
    assert list(folder.stored()) == []


def test_text_fields_stay_text(folder: ObjectStoreExternalizer) -> None:
    """A stub is no text: a summary of three megabytes is refused as it is without a place."""
    store = AgentContextStore(START, artifacts=folder)
    with pytest.raises(ContextSizeError, match=r"\$\.reasoning"):
        store.write("summarization", {"reasoning.summary": THREE})
    assert store.context.reasoning.summary == ""


def test_what_the_trail_holds_leaves_as_well(folder: ObjectStoreExternalizer) -> None:
    """Old values in the diffs are externalised when the trail is full, and no diff is joined."""
    store = AgentContextStore(START, artifacts=folder)
    sizes: list[int] = []
    for number in range(30):
        store.write(
            "intent_detection", {"reasoning.entities": {"page": f"{number:02}" * (SIXTY // 2)}}
        )
        sizes.append(len(dumps(store.context.audit)))
    assert len(store.context.audit.diffs) == 30
    assert max(sizes) > 10 * SIXTY
    assert min(sizes[10:]) < SIXTY
    assert store.replay() == store.context


def test_what_the_context_came_with_leaves_as_well(folder: ObjectStoreExternalizer) -> None:
    """Values that the store was opened with are externalised too, and replay starts from stubs."""
    pages = {f"page {number}": f"{number:02}" * (SIXTY // 2) for number in range(30)}
    store = AgentContextStore(write(START, reasoning__entities=pages), artifacts=folder)
    store.write("intent_detection", {"reasoning.entities": {**pages, "more": THREE}})
    assert all(set(value) == {STUB} for value in store.context.reasoning.entities.values())
    assert [store.retrieve(value) for value in store.context.reasoning.entities.values()] == [
        *pages.values(),
        THREE,
    ]
    assert store.replay() == store.context
    assert (
        ContextPatch.of(store.context.audit.diffs[0]).summary()
        == "[intent_detection] Changes: reasoning.entities_added=1"
    )


def test_what_fails_on_the_way_changes_nothing(folder: ObjectStoreExternalizer) -> None:
    """If content cannot be stored, the write fails on record; it succeeds once storing works."""
    failing = Failing(folder, 0, stored=False)
    store = AgentContextStore(START, artifacts=failing)
    with pytest.raises(ArtifactError, match="the line went dead"):
        store.write("retrieval_planner", {"retrieval.artifacts": [{"id": "log", "content": THREE}]})
    assert store.context.retrieval is START.retrieval
    assert store.context.audit.agent_runs[-1].status == "failed"
    failing.step = 99
    store.write("retrieval_planner", {"retrieval.artifacts": [{"id": "log", "content": THREE}]})
    assert store.retrieve(store.context.retrieval.artifacts[0]).content == THREE


def test_a_place_that_hands_out_wrong_stubs_is_refused(folder: ObjectStoreExternalizer) -> None:
    """A stub of other bytes would lose the content: it takes no content's place."""

    class Careless(Failing):
        def externalize(self, content: Any) -> ExternalContent:
            return self.inner.externalize("something else")

    store = AgentContextStore(START, artifacts=Careless(folder, 99, stored=True))
    with pytest.raises(ArtifactError, match="the stub is of other bytes") as caught:
        store.write("retrieval_planner", {"retrieval.artifacts": [{"id": "log", "content": THREE}]})
    assert caught.value.reason is ArtifactFault.DAMAGED
    assert store.context.retrieval is START.retrieval


def test_no_writer_waits_for_a_slow_place(folder: ObjectStoreExternalizer) -> None:
    """While one run's content is being stored another writes; both are there afterwards."""
    entered, left = Barrier(2, timeout=60), Barrier(2, timeout=60)

    class Slow(Failing):
        def externalize(self, content: Any) -> ExternalContent:
            entered.wait()
            left.wait()
            return self.inner.externalize(content)

    store = AgentContextStore(START, artifacts=Slow(folder, 99, stored=True))
    large = {"retrieval.artifacts": [{"id": "log", "content": THREE}]}
    thread = Thread(target=store.write, args=("retrieval_planner", large))
    thread.start()
    entered.wait()
    store.write("retrieval_planner", {"retrieval.plans": [{"id": "p1"}]})
    left.wait()
    thread.join()
    assert [plan.id for plan in store.context.retrieval.plans] == ["p1"]
    assert store.context.retrieval.artifacts[0].external is not None
    assert store.replay() == store.context


def test_a_warning_comes_from_eight_megabytes_on() -> None:
    """A store over 8 MB warns at each write, after the commit, even if the warning is raised."""
    parts = {
        "reasoning.entities": {"a": 1},
        "enrichment.context_links": ["a"],
        "retrieval.plans": [{"id": "p"}],
        "llm.cache": {"a": 1},
    }
    limits = ContextLimits(warn_total_size=1_000)
    store = AgentContextStore(START, checker=ContextSizeChecker(limits))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.write("orchestrator", {"llm.model": "small"})
        with pytest.raises(ContextSizeWarning, match="the limit is 10,485,760"):
            store.write("orchestrator", {**parts, "reasoning.summary": "x" * 1_000})
    assert store.context.llm.cache == {"a": 1}
    assert [run.status for run in store.context.audit.agent_runs] == ["success", "success"]
    assert ContextLimits().warn_total_size == 8 * MEGABYTE


@pytest.mark.parametrize(
    "stub", [{}, {"sha256": "x"}, {"size": -1}, "text", {"sha256": "0" * 64, "size": 3}]
)
def test_a_forged_stub_leads_nowhere(folder: ObjectStoreExternalizer, stub: Any) -> None:
    """A forged stub raises a typed error; a value of any other form is returned unchanged."""
    with pytest.raises((InvalidDataError, ArtifactError)):
        retrieve_value({STUB: stub}, folder)
    for value in (None, "text", {"a": 1}, {STUB: stub, "more": 1}, [stub]):
        assert retrieve_value(value, folder) is value


def everything(context: AgentContext, store: AgentContextStore) -> list[Any]:
    """Return every value that may leave, retrieved."""
    return [store.retrieve(value) for value in context.reasoning.entities.values()] + [
        store.retrieve(query.results) for query in context.retrieval.queries
    ]


@given(st.lists(JSON, max_size=4), st.integers(0, 200), st.integers(900, 4_000))
def test_whatever_leaves_comes_back(values: list[Any], most: int, room: int) -> None:
    """Under any limits, written values are read back exactly and the trail replays."""
    place = ObjectStoreExternalizer.open("memory:///")
    limits = ContextLimits(
        max_inline_artifact_size=most, max_total_size=room + 9_000, max_namespace_size=room
    )
    store = AgentContextStore(START, artifacts=place, checker=ContextSizeChecker(limits))
    try:
        store.write(
            "orchestrator",
            {"reasoning.entities": {str(n): value for n, value in enumerate(values)}},
        )
        store.write(
            "orchestrator",
            {
                "retrieval.queries": [
                    Query(f"q{n}", results=value) for n, value in enumerate(values)
                ]
            },
        )
    except ContextSizeError:
        assert store.replay() == store.context
        return
    assert is_same(
        tuple(everything(store.context, store)), Artifact(content=[*values, *values]).content
    )
    assert store.replay() == store.context
    assert AgentContextStore(deserialize(serialize(store.context))).replay() == store.context
