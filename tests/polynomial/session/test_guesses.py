"""Guesses of people who know other libraries: each error names what to write here."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.base import guesses
from polycontext.testing import FAST

CALLS = [
    ("compress_file('a','b',max_tokens=4000)", "RowCompressor(max_tokens=4000))"),
    ("ContextSession(max_cost=1)", "Meter(session).limit(money=...)"),
    ("session.add_user_turn('x', images=[])", "session.add_message(message)"),
    ("session.add_ai_message('x')", "Use session.add_assistant_turn(text,"),
    ("session.history.add('x')", "Use session.add_message(message)."),
    ("session.tokens_used", "Use session.window.total_tokens."),
    ("session.system_prompt", "Use session.add_system(text)."),
    ("session.listeners", "Use ContextSession(listeners=[watcher]);"),
    ("session['t1']", "Use session.log() or session.messages()."),
    ("session.rules[0]", "Use session.rules.list()."),
    ("session.usage.record(5)", "Use session.add_message(response), which"),
    ("output['state']", "Use .state."),
    ("session.log()[0]['content']", "Use .content."),
    ("project(messages, 100).summary", "Use .messages, in which the summary is one."),
    ("len(project(messages, 100))", "Use .messages."),
    ("session.add_user_turn()", "Use ContextSession.add_user_turn(content,"),
    ("session.messages(limit=3)", "Use provider, allow_open."),
    ("ContextSession(4000, callbacks=[print])", "Did you mean 'listeners'?"),
    ("ContextSession.open()", "Use ContextSession.open(url, session_id,"),
    ("ContextSession.history.forget('x.db','s')", "Use ContextSession.open(path, id).history."),
    ("ContextProjector(keep_recent=3)", "Use ContextProjector(reach=Reach(keep_recent"),
    ("project(messages, 100, system='x')", 'Use a first message with "role": "system".'),
    ("len(session)", "Use session.log() or session.messages()."),
    ("session.history.load('x.db')", "Use session.extend(messages), or"),
    ("session.messages[-1]", "Use a call: session.log() or session.messages()."),
]
"""An expression, and what its error says to write."""

IMPORTS = [
    ("from polycontext import Conversation", "Use ContextSession from polycontext."),
    ("from polycontext import SQLiteStore", "Import it from polycontext.polynomial.stores"),
    ("from polycontext import ModelSummariser", "Did you mean 'ExtractiveSummariser'?"),
    ("from polycontext import count_tokens", "Use default_counter from polycontext.window."),
    ("from polycontext import wrap_openai", "Use wrap from polycontext.adapters.openai,"),
    ("from polycontext.stores import SQLiteStore", "Use polycontext.polynomial.stores."),
    ("from polycontext.agents import tool", "Use Tool from polycontext.agents."),
    ("from polycontext.adapters import autogen", "Use polycontext.adapters.Bridge with a"),
    ("from polycontext.testing import StrictServer", "Import it from polycontext.testing.strict."),
    ("import polycontext.langchain", "Use polycontext.adapters.langchain."),
    ("from polycontext.openai import wrap", "Use polycontext.adapters.openai."),
    ("from polycontext import exceptions", "Use "),
    ("from polycontext.exceptions import PolycontextError", "Use "),
]
"""An import, and what its error says."""


class Names(dict[str, Any]):
    """The public names of all packages, each loaded when it is used."""

    def __missing__(self, name: str) -> Any:
        return getattr(import_module(guesses.public_names()[name]), name)


@pytest.fixture
def names(tmp_path: Path) -> Names:
    """Return the names that the expressions use."""
    session = ContextSession(4000, counter=FAST)
    session.add_user_turn("Book me a train.")
    output = session.add_assistant_turn("Where to?")
    messages = [{"role": "user", "content": "Hello"}]
    return Names(session=session, output=output, messages=messages, path=tmp_path / "a.db")


@pytest.mark.parametrize(("expression", "words"), CALLS)
def test_a_wrong_name_or_call_says_what_to_write(names: Names, expression: str, words: str) -> None:
    """Of an attribute, a keyword, an argument or a subscript."""
    with pytest.raises((AttributeError, TypeError)) as wrong:
        eval(expression, {}, names)  # noqa: S307 - the table above
    assert words in str(wrong.value)
    assert getattr(wrong.value, "name", None) is None  # or Python adds a guess of its own


@pytest.mark.parametrize(("statement", "words"), IMPORTS)
def test_a_wrong_import_says_where_it_is(statement: str, words: str) -> None:
    """Of a name, a module or an adapter."""
    with pytest.raises(ImportError) as wrong:
        exec(statement, {})  # noqa: S102 - the table above
    assert words in str(wrong.value)


def test_no_guess_is_a_name_that_exists() -> None:
    """The table would never be read for it."""
    for kind, table in guesses.TABLES["attributes"].items():
        if kind[0].isupper() and kind not in ("SessionPart", "Rules", "Documents"):
            owner: Any = Names()[kind] if kind in guesses.public_names() else None
            for each in " ".join(table).split() if owner else ():
                assert each == "[]" or each.endswith("=") or each not in dir(owner), (kind, each)


def test_a_probe_finds_nothing() -> None:
    """A missing attribute is still missing to `hasattr`, and a property's own error is raised."""
    session = ContextSession(4000, counter=FAST)
    assert not hasattr(session, "chat")
    assert getattr(session.log, "chat", None) is None
    assert bool(session)
    with pytest.raises(AttributeError, match="FLYING"):
        _ = Flying(4000, counter=FAST).wings


class Flying(ContextSession):
    """A session with a property that fails."""

    @property
    def wings(self) -> str:
        """Fail."""
        raise AttributeError("FLYING")
