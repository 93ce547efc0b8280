"""Verbs: both methods of each are made from one function, and keep its parameters and its types."""

import asyncio
import gc
import inspect
import weakref
from typing import Any, assert_type

import pytest

from benchmarks.budget.reading import calls_of, session_of
from polycontext.adapters import Bridge
from polycontext.models import AnthropicCompaction, OpenAICompaction
from polycontext.models.model_summariser import ModelSummariser
from polycontext.nodes.context_managers import ContextManagers
from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.polynomial.session.background import Background
from polycontext.polynomial.session.documents import Documents
from polycontext.polynomial.session.history import History
from polycontext.polynomial.session.rules import Rules
from polycontext.polynomial.session.synchronisation import Seen
from polycontext.polynomial.session.usage import Usage
from polycontext.polynomial.session.writer import Session
from polycontext.polynomial.stores.session_store import Found
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.pressure import ContextProjector, Fulfilment
from polycontext.window.providers import Provider
from tests.polynomial.conversations import WORDS, call, result

MOST_NAMES = 49
MOST_FILES = 37
SUBJECTS = (ContextSession, History, Usage, Background, Documents, Rules)
OTHERS = (
    ContextProjector,
    SQLiteStore,
    ModelSummariser,
    AnthropicCompaction,
    OpenAICompaction,
    Bridge,
    ContextManagers,
)


def methods(kind: type) -> list[tuple[str, str]]:
    """Return the names of the methods that have a twin, and those of the twins."""
    names = [name for name in dir(kind) if not name.startswith("_")]
    twins = {name: "asynced" if name == "sync" else f"a{name}" for name in names}
    return [(name, twin) for name, twin in twins.items() if twin in names and name != "after"]


# --- types: read by mypy and pyright, and run ---------------------------------------------


async def typed(session: ContextSession) -> None:
    """Say what verbs of a session and its parts return, and their twins."""
    assert_type(session.add_user_turn("hi", name="ana", oversize="error"), ContextOutput)
    assert_type(await session.aadd_user_turn("hi", idempotency_key="k"), ContextOutput)
    assert_type(await session.aview(reserve=10), tuple[Seen, ...])
    assert_type(await session.acall_tool("context_describe"), str)
    assert_type(await session.ainvoke("self.context.pressure.check"), Any)
    assert_type(session.history, History[ContextSession])
    assert_type(await session.history.aat(1), ContextSession)
    assert_type(await session.history.afork("two", 1), ContextSession)
    assert_type(await session.history.asearch("say", limit=2), tuple[Found, ...])
    fulfilment = await session.background.afulfil(session.background.plan(0.5))
    assert_type(fulfilment, Fulfilment)
    assert_type(await session.documents.apatch("n", lambda _: None), ContextOutput)
    assert_type(await ContextSession.aopen(session._writer.store, "other"), ContextSession)


def test_types_are_kept_and_every_call_works() -> None:
    """Every call that the type checkers see also works at run time."""
    session = ContextSession(8000, counter=WORDS)
    session.add_user_turn("Say it.")
    asyncio.run(typed(session))


def test_a_twin_reads_the_session_when_it_is_awaited() -> None:
    """Not when it is called: what was awaited before it counts."""
    session = ContextSession(8000, counter=WORDS)
    session.add_user_turn("Is it raining?")

    async def awaited() -> None:
        writes = [
            session.aextend([call("c1")]),
            session.aadd_message(result("c1", "No.")),
            session.aadd_system("Be brief."),
            session.aclear(keep_system=True),
        ]
        for each in writes:
            await each

    asyncio.run(awaited())
    assert [turn.text for turn in session.window.all_turns()] == ["Be brief."]


@pytest.mark.parametrize("kind", [*SUBJECTS, *OTHERS])
def test_a_twin_has_the_parameters_of_its_method(kind: type) -> None:
    """A twin is a coroutine function with its method's parameters and a docstring of its own."""
    for name, twin in methods(kind):
        method, made = getattr(kind, name), getattr(kind, twin)
        assert (
            inspect.signature(made).parameters == inspect.signature(method).parameters
            or name == "open"
        )
        assert name == "open" or made.__name__ == f"a{name}"
        assert (
            made.__doc__ == f"Do what `{name}` does without blocking the event loop."
            or name == "open"
        )


# --- what a reader has to hold in mind ----------------------------------------------------


def test_a_session_has_few_names_and_one_base() -> None:
    """Twins are not counted: they are made from their methods."""
    names = {name for name in dir(ContextSession) if not name.startswith("_")}
    twins = {twin for _, twin in methods(ContextSession)}
    assert len(names - twins) <= MOST_NAMES
    assert ContextSession.__mro__ == (ContextSession, Session, object)


def test_a_warm_turn_enters_few_files() -> None:
    """Those of ours in which a function is called, once everything is loaded."""
    session = ContextSession(8000)
    session.add_user_turn("one")
    session.add_assistant_turn("two")
    files = {file for file, _ in calls_of(lambda: session.add_user_turn("three"))}
    assert len(files) <= MOST_FILES, sorted(files)


@pytest.mark.parametrize(
    ("provider", "most", "most_files"),
    [(Provider.OPENAI, 110, 16), (Provider.ANTHROPIC, 250, 21), (Provider.RESPONSES, 130, 18)],
)
def test_reading_the_messages_calls_little(provider: Provider, most: int, most_files: int) -> None:
    """Reading renders and judges the new turn; it simulates no cache and counts no bill."""
    session = session_of(62, provider)
    session.messages()  # loads what is loaded on first use
    session.add_assistant_turn("Well.")
    calls = calls_of(session.messages)
    assert calls.total() <= most, calls.most_common()
    assert len({file for file, _ in calls}) <= most_files


def test_a_session_is_let_go_with_its_last_reference() -> None:
    """None of its parts holds it back until the collector comes."""
    session = ContextSession(8000, counter=WORDS)
    session.add_user_turn("Where is my parcel?")
    session.messages()
    session.request(cache=True)
    session.history.search("parcel")
    session.documents.save()
    known = weakref.ref(session)
    gc.disable()
    try:
        del session
        assert known() is None
    finally:
        gc.enable()
