"""A journal that no conversation can have written is refused by its first impossible event."""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from polycontext.base import InvalidDataError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, ContextState
from tests.polynomial.conversations import WORDS, add_all, document, lines_of, tool_atom, words
from tests.polynomial.session.faulty import Ticking

BUDGET = 340
Json = dict[str, Any]
Lie = Callable[[list[Json]], None]

CALL, RESULT, COMPRESS, RECALL, PROMOTE, PRESSED, CLEAR = 2, 3, 9, 10, 11, 13, 15


@cache
def honest() -> str:
    """Return a saved session that has been through everything."""
    session = ContextSession(BUDGET, counter=WORDS, auto=False, clock=Ticking())
    session.add_system("Be brief.")
    session.add_user_turn("Plan a journey.")
    add_all(session, tool_atom("look", 60, said="let me look"))
    session.add_assistant_turn(words(40, "a"))
    session.add_user_turn(words(40, "u"))
    session.add_user_turn("ok", resource_class=ResourceClass.DROPPABLE)
    session.add_assistant_turn(words(40, "b"))
    session.add_user_turn("and now?")
    session.compress(0.3)
    session.recall(["t5"])
    session.promote("t5", ResourceClass.PRESERVED, rationale="it matters")
    session.add_assistant_turn("so")
    session.add_user_turn(words(220, "m"))
    assert session.state is ContextState.PRESSURED
    session.compress(0.1)
    session.clear()
    session.add_user_turn("anew")
    return json.dumps(document(session))


def loaded(data: Json) -> ContextSession:
    """Load a saved session."""
    return ContextSession.history.load(lines_of(data), counter=WORDS)


def test_the_honest_journal_loads() -> None:
    """The honest journal loads, and has every kind of event at the places that the lies change."""
    data = json.loads(honest())
    session = loaded(data)
    assert json.dumps(document(session)) == honest()
    kinds = [event["event"] for event in data["events"]]
    assert [
        kinds[place] for place in (CALL, RESULT, COMPRESS, RECALL, PROMOTE, PRESSED, CLEAR)
    ] == [
        "TurnEvent",
        "TurnEvent",
        "CompressEvent",
        "RecallEvent",
        "PromoteEvent",
        "TurnEvent",
        "ClearEvent",
    ]
    assert data["events"][COMPRESS]["edit"]["dropped"] == ["t7"]
    assert data["events"][PRESSED]["state"] == "PRESSURED"


def put(place: int, *path: str | int, value: Any) -> Lie:
    """Say something else at a path of an event."""

    def lie(events: list[Json]) -> None:
        at: Any = events[place]
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return lie


def gone(place: int, *path: str) -> Lie:
    """Leave something out of an event."""

    def lie(events: list[Json]) -> None:
        at = events[place]
        for step in path[:-1]:
            at = at[step]
        del at[path[-1]]

    return lie


def moved(source: int, target: int, **changes: Any) -> Lie:
    """Say an event again before the one at `target`."""

    def lie(events: list[Json]) -> None:
        events.insert(target, {**deepcopy(events[source]), **changes})

    return lie


def without(start: int, stop: int) -> Lie:
    """Leave events out."""

    def lie(events: list[Json]) -> None:
        del events[start:stop]

    return lie


def spliced(place: int, **changes: Any) -> Lie:
    """Say something else of the first splice of an event."""

    def lie(events: list[Json]) -> None:
        events[place]["edit"]["splices"][0].update(changes)

    return lie


def twice_spliced(events: list[Json]) -> None:
    """Replace one run of turns two times."""
    splices = events[COMPRESS]["edit"]["splices"]
    splices.append({**splices[0], "turns": []})


def said_twice(events: list[Json]) -> None:
    """Give two gists one id."""
    gist = deepcopy(events[COMPRESS]["edit"]["splices"][0]["turns"][0])
    events[COMPRESS]["edit"]["splices"][0]["turns"].append(gist)


def all_sources(*ids: str) -> list[str]:
    """Return what the first gist stands for, and more."""
    sources: list[str] = json.loads(honest())["events"][COMPRESS]["edit"]["splices"][0]["turns"][0][
        "sources"
    ]
    return [*ids, *sources]


def preserved_gone(events: list[Json]) -> None:
    """Let the gist stand for the task too, which is PRESERVED."""
    spliced(COMPRESS, start=1)(events)
    put(COMPRESS, "edit", "splices", 0, "turns", 0, "sources", value=all_sources("t2"))(events)


def standing_recalled(events: list[Json]) -> None:
    """Recall the task, which stands."""
    spliced(RECALL, turns=[events[1]["turn"]])(events)


def recalled_twice(events: list[Json]) -> None:
    """Bring one turn back two times."""
    turns = events[RECALL]["edit"]["splices"][0]["turns"]
    turns.append(deepcopy(turns[0]))


GIST = ("edit", "splices", 0, "turns", 0)
LIES: dict[str, tuple[int, Lie]] = {
    "a splice before the window": (
        COMPRESS,
        put(COMPRESS, "edit", "splices", 0, "start", value=-1),
    ),
    "EMPTY with two turns": (1, put(1, "state", value="EMPTY")),
    # Found where a gist names places that were never given, before anything is replayed.
    "an assistant turn first": (PRESSED - 1, without(0, CALL)),
    "COMPRESSED without a compression": (4, put(4, "state", value="COMPRESSED")),
    "a recall that leads elsewhere": (RECALL, put(RECALL, "state", value="DREAMING")),
    "recall in EMPTY": (CLEAR + 1, moved(RECALL, CLEAR + 1)),
    "a turn while PRESSURED": (PRESSED + 1, moved(4, PRESSED + 1)),
    "an unknown id promoted": (PROMOTE, put(PROMOTE, "resource_id", value="t99")),
    "a promotion downward": (PROMOTE, put(PROMOTE, "resource_class", value="DROPPABLE")),
    "a repeated turn id": (5, put(5, "turn", "resource_id", value="t2")),
    "a gist under a turn's id": (COMPRESS, put(COMPRESS, *GIST, "resource_id", value="t2")),
    "two gists under one id": (COMPRESS, said_twice),
    "an edit that overlaps": (COMPRESS, twice_spliced),
    "a gist of what stands": (COMPRESS, put(COMPRESS, *GIST, "sources", value=all_sources("t1"))),
    "a gist of nothing": (COMPRESS, put(COMPRESS, *GIST, "sources", value=[])),
    "a PRESERVED turn below its floor": (COMPRESS, preserved_gone),
    "a REQUIRED turn dropped": (COMPRESS, spliced(COMPRESS, turns=[])),
    "a dropped turn that is REQUIRED": (COMPRESS, put(COMPRESS, "edit", "dropped", value=["t4"])),
    "a dropped turn that stands": (8, moved(COMPRESS, 8, edit={"splices": [], "dropped": ["t7"]})),
    "a result parted from its call": (COMPRESS, spliced(COMPRESS, start=3)),
    "a recall with other words": (
        RECALL,
        put(RECALL, *GIST, "content", value="what was never said"),
    ),
    "a recall of what stands": (RECALL, standing_recalled),
    "a recall of one turn twice": (RECALL, recalled_twice),
    "a recall that takes a turn away": (RECALL, spliced(RECALL, start=1, stop=2)),
    "a result for no open call": (RESULT, put(RESULT, "turn", "tool_call_id", value="c9")),
    "a turn without its token count": (4, gone(4, "turn", "tokens")),
    "a turn of fewer tokens than none": (4, put(4, "turn", "tokens", value=-40)),
}
lies = pytest.mark.parametrize("name", LIES)


def lied(name: str) -> tuple[str, int]:
    """Return the saved session with one lie, and the number of the impossible event."""
    number, lie = LIES[name]
    data = json.loads(honest())
    lie(data["events"])
    return lines_of(data), number


@lies
def test_an_impossible_journal_is_not_loaded(name: str) -> None:
    """Loading names the event by its number, and what is wrong with it."""
    text, number = lied(name)
    with pytest.raises(InvalidDataError) as refusal:
        ContextSession.history.load(text, counter=WORDS)
    assert refusal.value.path.partition(".")[0] == f"line {number + 2}"
    assert refusal.value.what
    assert refusal.value.legal
