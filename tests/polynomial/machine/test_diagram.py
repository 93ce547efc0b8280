"""The diagrams say what the machine does, all of it and nothing else."""

import re

import pytest
from statemachine import State

from polycontext.agents import NodeRegion
from polycontext.polynomial import ContextMachine
from polycontext.polynomial.machine.diagram import (
    ANY_TURN,
    ANYWHERE,
    OTHERWISE,
    TURN_KINDS,
    arrows,
    dot,
    mermaid,
)
from polycontext.polynomial.machine.table import Table

Move = tuple[str, str, str, str]
TABLE = ContextMachine.table


def moves_of_the_table(table: Table = TABLE) -> set[Move]:
    """Return every move that the machine can make: source, input, guard, target."""
    return {
        (
            source,
            kind,
            next(map(str, row.cond), OTHERWISE if len(rows) > 1 else ""),
            table.leaves[row],
        )
        for source, by_kind in table.cells.items()
        for kind, rows in by_kind.items()
        if kind not in ANYWHERE
        for row in rows
    }


def moves_of_a_label(source: str, target: str, label: str) -> set[Move]:
    """Read a label back: groups of inputs, each with the guard behind it where it has one."""
    groups = re.findall(r"([^\[\]]+?) \[(\w+)\](?:, )?|([^\[\]]+)$", label)
    assert groups
    named = [(kind, guard) for kinds, guard, free in groups for kind in (kinds or free).split(", ")]
    moves = {
        (source, each, guard, target)
        for kind, guard in named
        for each in (TURN_KINDS if kind == ANY_TURN else [kind])
    }
    return {(source, str(kind), guard, target) for source, kind, guard, target in moves}


@pytest.mark.parametrize(
    ("text", "arrow"),
    [
        (mermaid(), r"^    (\w+) --> (\w+) : (.+)$"),
        (dot(), r'^    (\w+) -> (\w+) \[label="(.+)"\];$'),
    ],
    ids=["mermaid", "dot"],
)
def test_a_diagram_draws_every_move_and_no_other(text: str, arrow: str) -> None:
    """Read back, it is the machine's table."""
    drawn: set[Move] = set()
    for source, target, labels in re.findall(arrow, text, re.MULTILINE):
        for label in labels.split(r"\n"):
            drawn |= moves_of_a_label(source, target, label)
    assert drawn == moves_of_the_table()


def test_inputs_that_do_the_same_under_two_guards_get_two_labels() -> None:
    """Several guards on one arrow are kept apart."""

    class Late(ContextMachine):
        late = State("LATE", value="LATE")
        leave = ContextMachine.accumulating.to(late, cond="is_late")
        go = ContextMachine.accumulating.to(late, cond="is_late") | (
            ContextMachine.accumulating.to(late, unless="is_late")
        )
        back = late.to(ContextMachine.accumulating)

        def is_late(self) -> bool:
            """Say no."""
            return False

    (arrow,) = (arrow for arrow in arrows(Late.table) if arrow.target == "LATE")
    assert arrow.labels == ("leave, go [is_late]", "go [not is_late]")


def test_regions_are_drawn_beside_the_context() -> None:
    """Each with its own start, by its name."""
    regions = {"node": NodeRegion.table}
    text = mermaid(ContextMachine.table, regions)
    assert text.startswith(mermaid().rstrip())
    assert "    state node {\n        [*] --> READY\n" in text
    assert "THINKING -> ACTING" in dot(ContextMachine.table, regions)
