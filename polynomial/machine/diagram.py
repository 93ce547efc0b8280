"""Draw the machine from its declaration: Mermaid for a README, dot for Graphviz.

The compiled table is what is drawn, so a diagram cannot say anything that the
machine does not do. All texts are deterministic: same table, same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from ..inputs import KIND_OF_ROLE, InputKind, Kind
from ..state import State, state_of
from .context_machine import ContextMachine
from .table import Row, Table

TURN_KINDS = tuple(KIND_OF_ROLE.values())
"""The inputs that bring a turn; where all of them do the same, an arrow says `ANY_TURN`."""

ANYWHERE = (InputKind.RESIZE, InputKind.REWIND, InputKind.FORGET)
"""The events that lead from every state to what the guards say: an arrow for each would hide all
others."""

ANY_TURN = "any turn"
LEGEND = f"{ANY_TURN}: {', '.join(TURN_KINDS)}; from every state to what the guards say: {', '.join(ANYWHERE)}"
OTHERWISE = "else"
"""What stands for a guard where all others of the same input and state did not hold."""

LINE_BREAK = "\\n"


@frozen
class Arrow:
    """Hold everything that leads from one state to another: one label a guard."""

    source: State
    target: State
    labels: tuple[str, ...]


def initial_state(table: Table) -> State:
    """Return where the machine starts."""
    (state,) = (state for state in table.machine.states if state.initial)
    return state_of(state.value)


def arrows(table: Table = ContextMachine.table) -> tuple[Arrow, ...]:
    """Return the arrows of `table`, parallel ones joined, in the order of the states.

    >>> from polycontext.polynomial import ContextState
    >>> [arrow.labels for arrow in arrows() if arrow.target is ContextState.COMPRESSED]
    [('recall, promote [is_cooling]', 'compress'), ('promote [is_cooling]', 'compress'), ('any turn,
    recall, promote [is_cooling]', 'compress')]
    """
    order = list(table.cells)
    joined: dict[tuple[State, State], dict[str, list[Kind]]] = {}
    for source, target, guard, kind in _moves(table):
        joined.setdefault((source, target), {}).setdefault(guard, []).append(kind)
    pairs = sorted(joined, key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    # What has no guard stands last: joined in a line, it would seem to share the guard behind it.
    labels = {pair: sorted(joined[pair].items(), key=lambda item: not item[0]) for pair in pairs}
    return tuple(
        Arrow(*pair, tuple(_label(kinds, guard) for guard, kinds in labels[pair])) for pair in pairs
    )


def mermaid(table: Table = ContextMachine.table) -> str:
    """Return `table` as a Mermaid state diagram.

    >>> mermaid().splitlines()[2]
    '    [*] --> EMPTY'
    """
    lines = ["stateDiagram-v2", f"    %% {LEGEND}", f"    [*] --> {initial_state(table)}"]
    lines += [
        f"    {arrow.source} --> {arrow.target} : {', '.join(arrow.labels)}"
        for arrow in arrows(table)
    ]
    return "\n".join(lines) + "\n"


def dot(table: Table = ContextMachine.table) -> str:
    """Return `table` as a Graphviz digraph.

    >>> dot().splitlines()[0]
    'digraph machine {'
    """
    lines = [
        "digraph machine {",
        f"    // {LEGEND}",
        '    node [shape=box, style=rounded, fontname="sans-serif"];',
        '    edge [fontname="sans-serif", fontsize=11];',
        "    start [shape=point, width=0.15];",
        f"    start -> {initial_state(table)};",
    ]
    lines += [
        f'    {arrow.source} -> {arrow.target} [label="{LINE_BREAK.join(arrow.labels)}"];'
        for arrow in arrows(table)
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _moves(table: Table) -> Iterator[tuple[State, State, str, Kind]]:
    for source, by_kind in table.cells.items():
        for kind, rows in by_kind.items():
            for row, guard in () if kind in ANYWHERE else zip(rows, _guards(rows), strict=True):
                yield source, row.target, guard, kind


def _guards(rows: Sequence[Row]) -> list[str]:
    """Return what each row asks: the names of its guards, `else` behind rows that ask, nothing for a row alone."""
    # Rows are asked in order: one without guards behind others means what is left.
    names = [" and ".join(map(str, row.guards)) for row in rows]
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
