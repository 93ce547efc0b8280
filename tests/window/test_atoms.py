"""Atoms: calls stay together with their results, whatever the ids and the order."""

from hypothesis import given

from polycontext.testing import FAST, Move, conversations, filled, windows
from polycontext.window import ContextWindow, Role, ToolCall, Turn
from polycontext.window.atoms import open_calls


def call(*ids: str) -> Turn:
    """Return an assistant turn with calls of these ids."""
    return Turn(Role.ASSISTANT, None, tool_calls=tuple(ToolCall(i, "search") for i in ids))


def result(call_id: str, text: str = "found") -> Turn:
    """Return the result of a call."""
    return Turn(Role.TOOL, text, tool_call_id=call_id)


def window_of(*turns: Turn) -> ContextWindow:
    """Return the window of these turns."""
    return filled([(turn, None) for turn in turns])


def ids_of(window: ContextWindow) -> list[tuple[str, ...]]:
    """Return the resource ids of every atom."""
    return [atom.resource_ids for atom in window.atoms()]


def test_a_turn_without_calls_is_an_atom() -> None:
    """Every plain turn stands alone."""
    window = window_of(Turn(Role.SYSTEM, "s"), Turn(Role.USER, "u"), Turn(Role.ASSISTANT, "a"))
    assert ids_of(window) == [("t1",), ("t2",), ("t3",)]


def test_parallel_results_belong_to_their_calls() -> None:
    """An assistant turn with parallel calls and all their results form one atom."""
    window = window_of(
        Turn(Role.USER, "u"), call("a", "b"), result("b"), result("a"), Turn(Role.ASSISTANT, "done")
    )
    assert ids_of(window) == [("t1",), ("t2", "t3", "t4"), ("t5",)]
    assert window.atoms()[1].id == "t2"


def test_a_reused_call_id_belongs_to_the_call_beside_it() -> None:
    """Providers reuse ids: results are paired by adjacency, never by a global map."""
    window = window_of(call("a"), result("a", "first"), call("a"), result("a", "second"))
    assert ids_of(window) == [("t1", "t2"), ("t3", "t4")]


def test_an_atom_is_open_until_its_last_result() -> None:
    """Only the last atom can be open, and it is so while one of its calls waits."""
    waiting = window_of(call("a"), result("a"), call("a", "b"), result("b"))
    assert [atom.is_open for atom in waiting.atoms()] == [False, True]
    assert waiting.open_calls == ("a",)
    closed = waiting.append(result("a"))
    assert [atom.is_open for atom in closed.atoms()] == [False, False]
    assert closed.open_calls == ()


def test_open_calls_are_read_from_the_end_of_any_turns() -> None:
    """The calls without a result are those of the last atom, in the order they were made."""
    assert open_calls([]) == ()
    assert open_calls([call("b", "a", "c"), result("a")]) == ("b", "c")
    assert open_calls([call("a"), result("a"), Turn(Role.ASSISTANT, "x")]) == ()


def test_an_empty_window_has_no_atoms() -> None:
    """Nothing is made of nothing."""
    assert ContextWindow(10, counter=FAST).atoms() == ()
    assert len(ContextWindow(10, counter=FAST).atom_columns()) == 0


@given(conversations())
def test_an_atom_holds_each_call_with_exactly_one_result(moves: list[Move]) -> None:
    """In each atom calls and results match one to one; only the open atom lacks some."""
    window = filled(moves)
    for atom in window.atoms():
        calls = [each.id for each in atom.turns[0].tool_calls]
        results = [turn.tool_call_id for turn in atom.turns[1:]]
        assert len(results) == len(set(results))
        assert all(turn.role is Role.TOOL for turn in atom.turns[1:])
        missing = [each for each in calls if each not in results]
        assert tuple(missing) == (window.open_calls if atom.is_open else ())


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


@given(windows())
def test_atoms_ignore_the_focus(window: ContextWindow) -> None:
    """Moving the focus groups nothing differently."""
    assert window.seek(0).atoms() == window.seek(len(window)).atoms()
    assert window.seek(0).open_calls == window.open_calls == open_calls(window.all_turns())
