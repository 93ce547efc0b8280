"""Atoms: calls stay together with their results, whatever the ids and the order."""

from hypothesis import given

from polycontext.testing import filled, windows
from polycontext.window import ContextWindow, Role, ToolCall, Turn


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
