"""The first compression after an import costs as much as the view, not as the whole log."""

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from polycontext.polynomial import ContextSession
from polycontext.pressure import ExtractiveSummariser
from polycontext.window import Turn
from tests.polynomial.conversations import WORDS, chat, text_of

BUDGET = 600
Read = Counter[str]
Way = Callable[[ContextSession, Path], ContextSession]


def grown(length: int) -> ContextSession:
    """Return a session that has taken a list of so many turns in."""
    session = ContextSession(BUDGET, counter=WORDS)
    session.extend(chat(length, 12))
    return session


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Return how often the summariser has read each turn."""
    seen: Read = Counter()
    reading = ExtractiveSummariser.read

    def noted(
        summariser: ExtractiveSummariser, turns: Sequence[Turn], *rest: Any, **options: Any
    ) -> Any:
        seen.update(turn.resource_id for turn in turns)
        return reading(summariser, turns, *rest, **options)

    monkeypatch.setattr(ExtractiveSummariser, "read", noted)
    return seen


def in_file(
    session: ContextSession, folder: Path, opened: int = BUDGET, told: int = BUDGET
) -> ContextSession:
    """Import the session into a file with room for `told` tokens, and open it with `opened`."""
    ContextSession.history.load(
        session.history.export(), folder / "kept.db", "again", told, counter=WORDS
    ).close()
    return ContextSession.open(folder / "kept.db", "again", opened, counter=WORDS)


WAYS: dict[str, Way] = {
    "a log": lambda session, _: ContextSession.history.load_turns(
        session.history.export_turns(), BUDGET, counter=WORDS
    ),
    "lines into a file": in_file,
    "a file, opened with less room": lambda session, folder: in_file(
        session, folder, BUDGET * 3 // 4
    ),
    "a file, imported with any room": lambda session, folder: in_file(
        session, folder, told=8 * BUDGET
    ),
    "JSON": lambda session, _: ContextSession.history.load(text_of(session), counter=WORDS),
    "a pickle": lambda session, _: pickle.loads(pickle.dumps(session)),  # noqa: S301 - our own
    "a fork": lambda session, _: session.history.fork("other"),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_turn_is_read_twice_and_the_first_compression_reads_the_view(
    way: str, read: Read, tmp_path: Path
) -> None:
    """By whatever way a conversation of many windows came in."""
    session = grown(90)
    read.clear()
    again = WAYS[way](session, tmp_path)
    imported, standing = read.copy(), {turn.resource_id for turn in again.window.all_turns()}
    again.compress(0.1)
    assert again.window.epoch.why == "compress"
    assert set(read - imported) <= standing
    assert max(read.values(), default=0) == 1
