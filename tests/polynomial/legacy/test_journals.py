"""Journals of schema 1, written by the first release, still load with the same content.

Each ``*.json`` was written by that release. Its ``*.expected.json`` describes the session at that
time and how it continued. The guards are evaluated after replaying a journal: if they give another
state than the recorded one, ``settled.json`` has that state and how the session continues from it.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, ContextState
from polycontext.pressure import AdaptiveThreshold, Signals
from polycontext.pressure.threshold import NO_SIGNALS
from polycontext.window import Turn
from polycontext.window.part import PartKind
from tests.polynomial.conversations import text_of

FOLDER = Path(__file__).parent / "journals"


@frozen
class Words:
    """Count a token a word."""

    exact: bool = False

    def count(self, text: str) -> int:
        """Return the words of `text`."""
        return len(text.split())


class Ticking:
    """Tell a time that is a second later whenever somebody asks."""

    def __init__(self) -> None:
        self._now = datetime(2031, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        self._now += timedelta(seconds=1)
        return self._now


NAMES = sorted(path.name.removesuffix(".expected.json") for path in FOLDER.glob("*.expected.json"))


class OwnThreshold:
    """Press above 0.6 and aim at 0.3, whatever the signals say."""

    @property
    def low(self) -> float:
        """Return the low mark."""
        return 0.3

    def high(self, signals: Signals = NO_SIGNALS) -> float:
        """Return the high mark."""
        return 0.6


OWN: dict[str, Callable[[], object]] = {"counter": Words, "threshold": OwnThreshold}


def facts_of(session: ContextSession) -> dict[str, Any]:
    """Return what a caller sees of a session."""
    window = session.window
    return {
        "state": str(session.state),
        "max_tokens": window.max_tokens,
        "auto": session.policy.auto,
        "preserved_share": window.preserved_share,
        "tokens": window.tokens,
        "open_calls": list(window.open_calls),
        "log": [[turn.resource_id, str(turn.role), turn.content] for turn in session.log()],
        "window": [_turn(session, turn) for turn in window.all_turns()],
        "classes": {
            resource_id: window.linearity.get(resource_id).name
            for resource_id in sorted(window.linearity)
        },
        "messages": _messages(session),
    }


def _turn(session: ContextSession, turn: Turn) -> dict[str, Any]:
    told = {
        "id": turn.resource_id,
        "class": session.window.class_of(turn).name,
        "role": str(turn.role),
        "name": turn.name,
        "content": turn.content,
        "calls": [[call.id, call.name, call.arguments] for call in turn.tool_calls],
        "answers": turn.tool_call_id,
        "parts": _parts(turn),
        "sources": list(turn.sources),
        "level": turn.level,
        "tokens": turn.tokens,
        "at": turn.timestamp.isoformat(),
    }
    return {name: value for name, value in told.items() if value not in (None, [])}


def _parts(turn: Turn) -> list[list[Any]]:
    """Return blocks as schema 1 told of them: each with whether it stood before the text."""
    spoken = next(
        (place for place, part in enumerate(turn.parts) if part.kind is PartKind.WORDS),
        len(turn.parts),
    )
    blocks = ((place, part) for place, part in enumerate(turn.parts) if part.kind is PartKind.BLOCK)
    return [[part.provider, part.data, place < spoken] for place, part in blocks]


def _messages(session: ContextSession) -> Any:
    try:
        return session.messages(allow_open=True)
    except PolycontextError as error:
        return type(error).__name__


def next_of(session: ContextSession) -> list[list[Any]]:
    """Return, per command, the error, or the state, the tokens and the ids with their classes."""
    seen = {turn.resource_id for turn in session.window.all_turns()}
    gone = next(
        (turn.resource_id for turn in session.log() if turn.resource_id not in seen), "nobody"
    )
    commands: dict[str, Callable[[], object]] = {
        "recall what left first": lambda: session.recall([gone]),
        "answer": lambda: session.add_tool_turn("Berth nine.", tool_call_id="c1"),
        "rule": lambda: session.add_user_turn("From now on, name the tide."),
        "reply": lambda: session.add_assistant_turn("Which of them shall I move?"),
        "short": lambda: session.add_user_turn("ok"),
        "long": lambda: session.add_user_turn("The ferry waits at the bridge. " * 12),
        "pin": lambda: session.promote(session.log()[-1].resource_id, ResourceClass.PRESERVED),
        "clear": session.clear,
        "begin": lambda: session.add_user_turn("Good morning."),
    }
    return [[name, _outcome(session, command)] for name, command in commands.items()]


def _outcome(session: ContextSession, command: Callable[[], object]) -> list[Any] | str:
    try:
        command()
    except PolycontextError as error:
        return type(error).__name__
    window = session.window
    return [
        str(session.state),
        window.tokens,
        " ".join(f"{turn.resource_id}:{window.class_of(turn).name}" for turn in window.all_turns()),
    ]


def journal(name: str) -> str:
    """Return the text of a journal."""
    return (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def expected_of(name: str) -> dict[str, Any]:
    """Return what the session of a journal was."""
    expected: dict[str, Any] = json.loads(
        (FOLDER / f"{name}.expected.json").read_text(encoding="utf-8")
    )
    settled: dict[str, Any] = json.loads((FOLDER / "settled.json").read_text(encoding="utf-8"))
    expected |= settled.get(name, {})
    return expected


def loaded(text: str, own: list[str]) -> ContextSession:
    """Load a session with the first release's marks and its own counter, which are not saved."""
    options: dict[str, Any] = {"threshold": AdaptiveThreshold()} | {
        name: OWN[name]() for name in own
    }
    return ContextSession.history.load(text, clock=Ticking(), **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_journal_of_schema_1_loads_as_what_it_was(name: str) -> None:
    """State, log, turns, classes, tokens, messages and options match the saved session."""
    expected = expected_of(name)
    assert facts_of(loaded(journal(name), expected["own"])) == {
        key: expected[key] for key in expected if key not in {"own", "next"}
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_journal_goes_on_as_the_session_did(name: str) -> None:
    """Further commands give the same ids, classes, states and errors as in the original session."""
    expected = expected_of(name)
    assert next_of(loaded(journal(name), expected["own"])) == expected["next"]


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_journal_written_again_is_the_same_session(name: str) -> None:
    """Saving in the present schema loses nothing: what is written again loads as the same."""
    own = expected_of(name)["own"]
    first = loaded(journal(name), own)
    again = loaded(text_of(first), own)
    assert facts_of(again) == facts_of(first)
    assert next_of(again) == next_of(first)


def test_the_journals_show_every_state_and_what_engines_were_called() -> None:
    """The journals cover all four states and both engines, and all have schema 1."""
    saved = [json.loads(journal(name)) for name in NAMES]
    assert {expected_of(name)["state"] for name in NAMES} == set(map(str, ContextState))
    assert {one["engine"] for one in saved} == {"machine", "table"}
    assert {one["schema"] for one in saved} == {1}
