"""A log is a value: another version's additions do not change it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal.log import Log
from polycontext.window import Turn
from tests.polynomial.conversations import WORDS
from tests.polynomial.session.faulty import FaultyStore


def said(name: str) -> Turn:
    """Return a turn of that id."""
    return Turn("user", name, resource_id=name)


def test_the_journal_behind_any_revision_ends_where_the_session_does() -> None:
    """Events stored under a lost answer are not returned before the session has caught up."""
    store = FaultyStore()
    session = ContextSession(1000, counter=WORDS, store=store)
    session.add_user_turn("one")
    store.fault = "after"
    with pytest.raises(OSError, match="the answer is lost"):
        session.extend([{"role": role, "content": role} for role in ("user", "assistant", "user")])
    assert [len(session.history.events(after)) for after in range(5)] == [1, 0, 0, 0, 0]
    session.add_user_turn("four")
    assert [len(session.history.events(after)) for after in range(6)] == [5, 4, 3, 2, 1, 0]


NAMES = st.integers(1, 40).map("t{}".format) | st.sampled_from(
    ["g3", "t01", "t", "x9", "t99999999999999", "t-1", "ctx-7"]
)


@given(
    st.lists(NAMES, unique=True, max_size=30),
    st.lists(NAMES, unique=True, max_size=30),
    st.integers(0, 30),
)
def test_every_id_is_found_whatever_its_number(
    first: list[str], second: list[str], shared: int
) -> None:
    """Versions with rising, falling or no numbers each find all of their own ids and no others."""
    base = Log()
    for name in first[:shared]:
        base = base.append(said(name))
    kept, other = base, base
    mine, theirs = (
        first,
        [*first[:shared], *(name for name in second if name not in first[:shared])],
    )
    for name in mine[shared:]:
        kept = kept.append(said(name))
    for name in theirs[len(base) :]:
        other = other.append(said(name))
    for log, names in ((kept, mine), (other, theirs)):
        assert [log.place(name) for name in names] == list(range(len(names)))
        assert not any(log.knows(name) for name in {*first, *second, "t41"} - {*names})
