"""The context window: turns are counted and classified once, keep their order and never change."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given

from polycontext.base import InvalidOptionError
from polycontext.linearity import ResourceClass, UnknownResourceError
from polycontext.testing import FAST, filled, windows
from polycontext.window import (
    ContextWindow,
    InvalidTurnError,
    OrderError,
    Part,
    Role,
    TiktokenCounter,
    ToolCall,
    Turn,
)
from polycontext.window.tokens.counter import count_turn

USER, ASSISTANT = Turn(Role.USER, "hello there"), Turn(Role.ASSISTANT, "hi")
CALL = Turn(Role.ASSISTANT, None, tool_calls=(ToolCall("a", "search"), ToolCall("b", "run")))
REAL = TiktokenCounter("o200k_base")


def result(call_id: str) -> Turn:
    """Return the result of a call."""
    return Turn(Role.TOOL, "found", tool_call_id=call_id)


def window_of(*turns: Turn, max_tokens: int = 1_000) -> ContextWindow:
    """Return the window of these turns."""
    return filled([(turn, None) for turn in turns], max_tokens)


# --- what a window is ------------------------------------------------------


BAD_WINDOWS: dict[str, dict[str, Any]] = {
    "no room": {"max_tokens": 0},
    "less than no room": {"max_tokens": -5},
    "a fraction": {"max_tokens": 0.5},
    "a truth": {"max_tokens": True},
    "a text": {"max_tokens": "8000"},
    "a share above one": {"max_tokens": 100, "preserved_share": 1.5},
    "a negative share": {"max_tokens": 100, "preserved_share": -0.1},
    "a share that is not a number": {"max_tokens": 100, "preserved_share": float("nan")},
}


@pytest.mark.parametrize("options", BAD_WINDOWS.values(), ids=BAD_WINDOWS.keys())
def test_a_window_of_impossible_size_is_refused(options: dict[str, Any]) -> None:
    """The budget must be a whole number from 1 on, and the preserved share from 0 to 1."""
    with pytest.raises(InvalidOptionError):
        ContextWindow(**options)


@given(windows())
def test_equality_is_contents_and_focus(window: ContextWindow) -> None:
    """Windows are equal if their turns, focus and budget are equal."""
    other = ContextWindow(window.max_tokens, counter=FAST)
    assert (window == other) == (len(window) == 0)
    assert all((window.seek(p) == window) == (p == window.position) for p in range(len(window) + 1))
    assert window != ContextWindow(window.max_tokens + 1, counter=FAST)
    assert window != "window"
    assert window != window.splice([], compressed=True)


def test_a_window_says_what_it_is() -> None:
    """The representation names turns, focus and tokens, without any of the text."""
    assert (
        repr(window_of(USER, ASSISTANT).seek(1))
        == "ContextWindow(turns=2, position=1, tokens=7/1000)"
    )


# --- counting -------------------------------------------------------------


def test_a_turn_is_counted_once() -> None:
    """A turn that brings its count keeps it, and nobody counts an appended turn again."""

    class Counting:
        exact = False
        calls = 0

        def count(self, text: str) -> int:
            self.calls += 1
            return len(text)

    counter = Counting()
    window = ContextWindow(100, counter=counter).append(Turn(Role.USER, "abc"))
    assert counter.calls == 1
    assert (window.tokens, window.seek(0).tokens, list(window.extend(lambda w: w.tokens))) == (
        7,
        0,
        [0, 7],
    )
    assert window.append(Turn(Role.USER, "x", tokens=50)).tokens == 57
    assert counter.calls == 1


# --- ids ------------------------------------------------------------------


def test_a_taken_id_is_refused() -> None:
    """A turn may bring its id, but not one that another turn of the conversation has or had."""
    window = window_of(Turn(Role.USER, "x", resource_id="mine"))
    with pytest.raises(InvalidTurnError, match="'mine' is taken"):
        window.append(Turn(Role.USER, "y", resource_id="mine"))
    with pytest.raises(InvalidTurnError, match="'mine' is taken"):
        window.cleared().append(Turn(Role.USER, "y", resource_id="mine"))


def test_given_ids_do_not_get_in_the_way_of_made_ones() -> None:
    """Generated ids skip the ids that callers have used."""
    window = window_of(
        Turn(Role.USER, "x", resource_id="t2"),
        Turn(Role.USER, "y", resource_id="t3"),
        USER,
        ASSISTANT,
    )
    assert [turn.resource_id for turn in window.all_turns()][:2] == ["t2", "t3"]
    assert len({turn.resource_id for turn in window.all_turns()}) == 4


def test_a_cleared_window_forgets_open_calls_and_the_task() -> None:
    """After clearing any turn may come, and the next user turn is the task."""
    window = window_of(USER, CALL).cleared().append(Turn(Role.USER, "Another task."))
    assert window.class_of(window.all_turns()[0]) is ResourceClass.PRESERVED


# --- order ----------------------------------------------------------------

WRONG_MOMENTS: dict[str, tuple[list[Turn], Turn, str]] = {
    "a result at the very start": ([], result("a"), "no call is open"),
    "a result for an unknown call": ([USER, CALL], result("z"), r"results for \['a', 'b'\]"),
    "a second result for one call": ([CALL, result("a")], result("a"), r"results for \['b'\]"),
    "an assistant turn while calls are open": ([CALL, result("b")], ASSISTANT, "tool turns"),
}


@pytest.mark.parametrize(
    ("before", "turn", "legal"), WRONG_MOMENTS.values(), ids=WRONG_MOMENTS.keys()
)
def test_a_turn_at_the_wrong_moment_is_refused(before: list[Turn], turn: Turn, legal: str) -> None:
    """A turn that cannot follow the last one is refused with the legal ones; nothing changes."""
    window = window_of(*before)
    twin = window_of(*before)
    for take in (window.append, window.check_order):
        with pytest.raises(OrderError, match=legal) as caught:
            take(turn)
        assert caught.value.role == turn.role
    assert window == twin
    window_of(USER).check_order(CALL)


# --- classes --------------------------------------------------------------


def classes(window: ContextWindow) -> list[str]:
    """Return the class of every turn by name."""
    return [window.class_of(turn).name for turn in window.all_turns()]


def test_the_first_user_turn_is_the_task() -> None:
    """Only the first user turn is preserved as the task; a gist before it is not taken for one."""
    window = window_of(
        Turn(Role.USER, "gist", sources=("x",)),
        USER,
        Turn(Role.USER, "More about the trip to Oslo."),
    )
    assert classes(window) == ["REQUIRED", "PRESERVED", "REQUIRED"]


def test_what_a_host_writes_before_the_users_first_words_is_no_task() -> None:
    """A message of only a host's block may be compressed; the user's first words may not."""
    block = "<environment_context>\n  <cwd>/shop</cwd>\n</environment_context>"
    window = window_of(Turn(Role.USER, block), USER)
    assert classes(window) == ["REQUIRED", "PRESERVED"]
    assert classes(window_of(Turn(Role.USER, f"{block}\nGo."))) == ["PRESERVED"]


def test_an_agreement_that_answers_a_question_is_no_chitchat() -> None:
    """A short agreement is REQUIRED after a question and DROPPABLE otherwise."""
    asked = window_of(
        USER, Turn(Role.ASSISTANT, "Shall I delete the old branch?"), Turn(Role.USER, "ok")
    )
    told = window_of(USER, Turn(Role.ASSISTANT, "I deleted the old branch."), Turn(Role.USER, "ok"))
    assert (classes(asked)[-1], classes(told)[-1]) == ("REQUIRED", "DROPPABLE")


def test_promoting_raises_the_class_of_one_turn() -> None:
    """The ledger holds the reason; an unknown id is refused."""
    window = window_of(USER, ASSISTANT)
    pinned = window.promote("t2", ResourceClass.PRESERVED, rationale="the user came back to it")
    assert pinned.linearity.tag_of("t2").rationale == "the user came back to it"
    with pytest.raises(UnknownResourceError):
        pinned.promote("t9", ResourceClass.PRESERVED)


class Listening:
    """A classifier that keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def __call__(self, role: str, content: str, metadata: Mapping[str, Any]) -> ResourceClass:
        """Answer REQUIRED."""
        self.told.append({"role": role, "content": content, **metadata})
        return ResourceClass.REQUIRED


def test_a_classifier_is_told_what_the_window_knows() -> None:
    """A classifier gets the turn with its place, its cost and the room for constraints."""
    listening = Listening()
    window = ContextWindow(105, counter=FAST, classifier=listening, preserved_share=0.5)
    window = window.append(Turn(Role.ASSISTANT, "What is it?", metadata={"mood": "calm"}))
    window = window.append(Turn(Role.USER, "The thing.", tokens=9))
    window = window.append(
        Turn(Role.ASSISTANT, None, tool_calls=CALL.tool_calls, parts=(Part("openai", "{}"),))
    )
    quiet = {
        "first_user": False,
        "gist": False,
        "has_calls": False,
        "has_parts": False,
        "answers_question": False,
        "tools": (),
    }
    share = {"constraint_tokens": 0, "preserved_share_tokens": 52}
    # The task, which is not PRESERVED here, takes nothing of the room.
    costs = [turn.tokens for turn in window.all_turns()]
    assert listening.told == [
        {
            "role": "assistant",
            "content": "What is it?",
            "mood": "calm",
            **quiet,
            "tokens": costs[0],
            **share,
        },
        {
            "role": "user",
            "content": "The thing.",
            **quiet,
            "first_user": True,
            "answers_question": True,
            "tokens": 9,
            **share,
        },
        {
            "role": "assistant",
            "content": "",
            **quiet,
            "has_calls": True,
            "has_parts": True,
            "tools": tuple(call.name for call in CALL.tool_calls),
            "tokens": costs[2],
            **share,
        },
    ]
    assert window_of().classify(USER) is ResourceClass.PRESERVED
    assert (
        ContextWindow(100, classifier=listening).classify(
            gist := Turn(Role.USER, "x", sources=("t1",))
        )
        is ResourceClass.REQUIRED
    )
    assert (listening.told[-1]["gist"], listening.told[-1]["first_user"]) == (True, False)
    assert listening.told[-1]["tokens"] == count_turn(REAL, gist)


RULE = "Never push to main."
PINNING: dict[str, tuple[Turn, ResourceClass, bool]] = {
    "a constraint of the user": (Turn(Role.USER, RULE), ResourceClass.PRESERVED, True),
    "a constraint that may yield": (Turn(Role.USER, RULE), ResourceClass.REQUIRED, False),
    "another word of the user": (Turn(Role.USER, "Look at main."), ResourceClass.PRESERVED, False),
    "a word of somebody else": (Turn(Role.ASSISTANT, RULE), ResourceClass.PRESERVED, False),
    "a gist": (Turn(Role.USER, RULE, sources=("t1",)), ResourceClass.PRESERVED, False),
}


@pytest.mark.parametrize(("turn", "resource_class", "pins"), PINNING.values(), ids=PINNING.keys())
def test_only_the_users_own_preserved_constraints_use_up_their_share(
    turn: Turn, resource_class: ResourceClass, pins: bool
) -> None:
    """Only preserved constraints of the user, not the task itself, use up their share."""
    listening = Listening()
    window = ContextWindow(1_000, counter=FAST, classifier=listening).append(
        Turn(Role.USER, RULE), ResourceClass.PRESERVED
    )
    window = window.append(turn, resource_class)
    window.append(turn, resource_class).classify(USER)
    assert listening.told[-1]["constraint_tokens"] == (2 * count_turn(FAST, turn) if pins else 0)


# --- atoms ----------------------------------------------------------------


def test_a_reused_call_id_belongs_to_the_call_beside_it() -> None:
    """Providers reuse ids: results are paired by adjacency, never by a global map."""
    calling = Turn(Role.ASSISTANT, None, tool_calls=(ToolCall("a", "search"),))
    window = window_of(calling, result("a"), calling, result("a"))
    assert [atom.resource_ids for atom in window.atoms()] == [("t1", "t2"), ("t3", "t4")]


@given(windows())
def test_columns_are_the_atoms(window: ContextWindow) -> None:
    """The columns hold what the atoms hold."""
    columns, atoms = window.atom_columns(), window.atoms()
    assert len(columns) == len(atoms)
    assert [tuple(columns.turns_of(i)) for i in range(len(columns))] == [
        atom.turns for atom in atoms
    ]
    assert columns.tokens == [atom.tokens for atom in atoms]
    assert columns.bounds == [*(atom.start for atom in atoms), len(window)]
