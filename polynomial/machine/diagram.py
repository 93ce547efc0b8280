"""Diagrams of the machine: Mermaid for a README, dot for Graphviz.

A diagram is drawn from the table, so it always matches the machine. The output is
deterministic: the same table gives the same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen
from statemachine.transition import Transition

from ..inputs import KIND_OF_ROLE, InputKind, Kind
from ..state import State
from .context_machine import ContextMachine
from .table import Table

TURN_KINDS = tuple(KIND_OF_ROLE.values())
"""The inputs that add a turn. If all of them do the same, an arrow says `ANY_TURN`."""

ANYWHERE = (InputKind.RESIZE, InputKind.REWIND, InputKind.FORGET)
"""The events that lead from every state to the one that the guards choose. They are left out: an
arrow for each would hide the others.
"""

ANY_TURN = "any turn"
LEGEND = (
    f"{ANY_TURN}: {', '.join(TURN_KINDS)}; "
    f"from every state to what the guards say: {', '.join(ANYWHERE)}"
)
OTHERWISE = "else"
"""The label of the transition that is taken if no guard of the same input and state holds."""

_NONE: Mapping[str, Table] = {}
LINE_BREAK = "\\n"


@frozen
class Arrow:
    """All transitions from one state to another, with one label for each guard."""

    source: State
    target: State
    labels: tuple[str, ...]


def arrows(table: Table = ContextMachine.table) -> tuple[Arrow, ...]:
    """Return the arrows of `table` in the order of its states, with parallel ones joined.

    >>> from polycontext.polynomial import ContextState
    >>> [arrow.labels for arrow in arrows() if arrow.target is ContextState.COMPRESSED]
    [('recall, refill, promote, undo [is_cooling]', 'compress'), \
('promote, undo [is_cooling]', 'compress'), \
('any turn, recall, refill, promote, undo [is_cooling]', 'compress')]
    """
    order = list(table.cells)
    joined: dict[tuple[State, State], dict[str, list[Kind]]] = {}
    for source, target, guard, kind in _moves(table):
        joined.setdefault((source, target), {}).setdefault(guard, []).append(kind)
    pairs = sorted(joined, key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    # Unguarded labels come last: joined in one line, they would seem to share the next guard.
    labels = {pair: sorted(joined[pair].items(), key=lambda item: not item[0]) for pair in pairs}
    return tuple(
        Arrow(*pair, tuple(_label(kinds, guard) for guard, kinds in labels[pair])) for pair in pairs
    )


def mermaid(table: Table = ContextMachine.table, regions: Mapping[str, Table] = _NONE) -> str:
    """Return `table` as a Mermaid state diagram, with other `regions` by name.

    >>> mermaid().splitlines()[2]
    '    [*] --> EMPTY'
    """
    lines = ["stateDiagram-v2", f"    %% {LEGEND}", *_lines(table, "    ")]
    for name, region in regions.items():
        lines += [f"    state {name} {{", *_lines(region, "        "), "    }"]
    return "\n".join(lines) + "\n"


def _lines(table: Table, indent: str) -> Iterator[str]:
    yield f"{indent}[*] --> {table.initial}"
    for arrow in arrows(table):
        yield f"{indent}{arrow.source} --> {arrow.target} : {', '.join(arrow.labels)}"


def dot(table: Table = ContextMachine.table, regions: Mapping[str, Table] = _NONE) -> str:
    """Return `table` as a Graphviz digraph, with other `regions` by name.

    >>> dot().splitlines()[0]
    'digraph machine {'
    """
    lines = [
        "digraph machine {",
        f"    // {LEGEND}",
        '    node [shape=box, style=rounded, fontname="sans-serif"];',
        '    edge [fontname="sans-serif", fontsize=11];',
        "    start [shape=point, width=0.15];",
        f"    start -> {table.initial};",
    ]
    lines += [
        f'    {arrow.source} -> {arrow.target} [label="{LINE_BREAK.join(arrow.labels)}"];'
        for drawn in (table, *regions.values())
        for arrow in arrows(drawn)
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _moves(table: Table) -> Iterator[tuple[State, State, str, Kind]]:
    for source, by_kind in table.cells.items():
        for kind, rows in by_kind.items():
            for row, guard in () if kind in ANYWHERE else zip(rows, _guards(rows), strict=True):
                yield source, table.leaves[row], guard, kind


def _guards(rows: Sequence[Transition]) -> list[str]:
    """Return the label of each row: its guards, `else` after guarded rows, or nothing if alone."""
    # Rows are tried in order, so an unguarded row after others covers the remaining cases.
    names = [" and ".join(str(each).replace("!", "not ") for each in row.cond) for row in rows]
    return [name or (OTHERWISE if len(rows) > 1 else "") for name in names]


def _label(kinds: Iterable[Kind], guard: str) -> str:
    seen = dict.fromkeys(kinds)
    named = [
        *(kind for kind in InputKind if kind in seen),
        *(kind for kind in seen if not isinstance(kind, InputKind)),
    ]
    if set(TURN_KINDS) <= set(named):
        words = [ANY_TURN, *(kind for kind in named if kind not in TURN_KINDS)]
    else:
        words = [*named]
    return ", ".join(words) + (f" [{guard}]" if guard else "")
