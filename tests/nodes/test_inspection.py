"""What a session shows to its owner, for any session: as many as `INSPECTED` says."""

import os
from contextlib import suppress

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from polycontext.base import PolycontextError
from polycontext.nodes.inspection import KINDS, Inspector, kind_of
from polycontext.polynomial import ContextSession
from polycontext.testing import FAST
from polycontext.testing.strategies import Move
from tests.polynomial.conversations import session_moves

SESSIONS = int(os.environ.get("INSPECTED", settings().max_examples))
ACTS = ("compress", "undo", "pin", "recall", "forget", "rewind", "clear", "rule", "draft")


def talk(session: ContextSession, rounds: int) -> None:
    """Talk about shelves."""
    for number in range(rounds):
        session.add_user_turn(f"What stands on shelf {number}? Look behind the {number} jars.")
        session.add_assistant_turn(f"On shelf {number} stand {number * 7} jars of pears.")


def act(session: ContextSession, name: str, number: int) -> None:
    """Do what a user may do with a session, where it is allowed."""
    key = f"t{number}"
    with suppress(PolycontextError):
        match name:
            case "compress":
                session.compress()
            case "undo":
                session.history.undo()
            case "pin":
                session.pin(key)
            case "recall":
                session.recall(key)
            case "forget":
                session.history.forget(key)
            case "rewind":
                session.history.rewind(key)
            case "clear":
                session.clear(keep_system=True)
            case "rule":
                session.add_user_turn(f"Never open jar {number}.")
            case _:
                Inspector(session).draft("plums " * number)


def check_overview(session: ContextSession) -> None:
    """Check that what is shown adds up, and names only what is there."""
    told = Inspector(session).overview()
    window = told["window"]
    assert sum(window["classes"].values()) == window["tokens"] == session.window.total_tokens
    log = {turn.resource_id for turn in session.conversation.log}
    assert {each["id"] for each in told["turns"]} == log
    standing = {turn.resource_id for turn in session.window.all_turns()}
    assert {each["gist"] for each in told["turns"]} - {None} <= standing
    for summary in told["summaries"]:
        assert {key for line in summary["lines"] for key in line["sources"]} <= log
    details = Inspector(session).turns([*log, "nowhere"])
    assert {each["id"] for each in details} == log


def check_timeline(session: ContextSession) -> None:
    """Check that folding what came and went gives the ids and tokens of each view, in order."""
    inspector = Inspector(session)
    view = list[str]()
    entries = inspector.timeline()["entries"]
    assert len(entries) == session.history.revision + 1
    for revision, entry in enumerate(entries):
        view = [each for each in view if each not in entry["went"]]
        for place, key in zip(entry["places"], entry["came"], strict=True):
            view.insert(place, key)
        window = session.history.at(revision).window
        turns = window.all_turns()
        assert view == [turn.resource_id for turn in turns]
        counted = dict.fromkeys(KINDS, 0)
        for turn in turns:
            counted[kind_of(window, turn)] += turn.tokens or 0
        assert sum(entry["tokens"]) == window.total_tokens
        assert entry["tokens"] == [*counted.values()]


@settings(max_examples=SESSIONS)
@given(
    st.lists(st.tuples(session_moves(12), st.sampled_from(ACTS), st.integers(1, 30)), max_size=4),
    st.integers(150, 600),
)
def test_what_is_shown_of_any_session_holds(
    parts: list[tuple[list[Move], str, int]], budget: int
) -> None:
    """The report of a session never raises, adds up, and tells the view at every event."""
    session = ContextSession(budget, counter=FAST)
    for moves, name, number in parts:
        with suppress(PolycontextError):
            for turn, resource_class in moves:
                session.add(turn, resource_class)
            talk(session, number)
        act(session, name, number)
    check_overview(session)
    check_timeline(session)
    receipts = [each.to_data() for each in session.history.receipts()]
    assert orjson.dumps([Inspector(session).turns(), receipts])
