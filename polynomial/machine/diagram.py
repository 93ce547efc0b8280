"""Draw the machine from its declaration: Mermaid for a README, dot for Graphviz.

The compiled table is what is drawn, so a diagram cannot say anything that the
machine does not do. All texts are deterministic: same table, same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from polycontext.polynomial.machine.context_machine import TABLE, ContextMachine
from polycontext.polynomial.machine.table import Row, Table
from polycontext.polynomial.state import ContextState, InputKind

TURN_KINDS = (InputKind.USER_TURN, InputKind.ASSISTANT_TURN, InputKind.TOOL_TURN, InputKind.SYSTEM)
"""The inputs that bring a turn; where all of them do the same, an arrow says `ANY_TURN`."""

ANY_TURN = "any turn"
LEGEND = f"{ANY_TURN}: {', '.join(TURN_KINDS)}"
OTHERWISE = "else"
"""What stands for a guard where all others of the same input and state did not hold."""

LINE_BREAK = "\\n"


@frozen
class Arrow:
    """Hold everything that leads from one state to another: one label a guard."""

    source: ContextState
    target: ContextState
    labels: tuple[str, ...]


def initial_state() -> ContextState:
    """Return where the machine starts."""
    (state,) = (state for state in ContextMachine.states if state.initial)
    return ContextState(state.value)


def arrows(table: Table = TABLE) -> tuple[Arrow, ...]:
    """Return the arrows of `table`, parallel ones joined, in the order of the states.

    >>> [arrow.labels for arrow in arrows() if arrow.target is ContextState.COMPRESSED]
    [('compress',), ('compress',), ('any turn [is_cooling]', 'compress, recall, promote')]
    """
    order = list(table)
    joined: dict[tuple[ContextState, ContextState], dict[str, list[InputKind]]] = {}
    for source, target, guard, kind in _moves(table):
        joined.setdefault((source, target), {}).setdefault(guard, []).append(kind)
    pairs = sorted(joined, key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    return tuple(Arrow(*pair, tuple(_label(kinds, guard) for guard, kinds in joined[pair].items())) for pair in pairs)


def mermaid(table: Table = TABLE) -> str:
    """Return `table` as a Mermaid state diagram.

    >>> mermaid().splitlines()[2]
    '    [*] --> EMPTY'
    """
    lines = ["stateDiagram-v2", f"    %% {LEGEND}", f"    [*] --> {initial_state()}"]
    lines += [f"    {arrow.source} --> {arrow.target} : {', '.join(arrow.labels)}" for arrow in arrows(table)]
    return "\n".join(lines) + "\n"


def dot(table: Table = TABLE) -> str:
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
        f"    start -> {initial_state()};",
    ]
    lines += [f'    {arrow.source} -> {arrow.target} [label="{LINE_BREAK.join(arrow.labels)}"];' for arrow in arrows(table)]
    return "\n".join([*lines, "}"]) + "\n"


def _moves(table: Table) -> Iterator[tuple[ContextState, ContextState, str, InputKind]]:
    for source, by_kind in table.items():
        for kind, rows in by_kind.items():
            for row, guard in zip(rows, _guards(rows), strict=True):
                yield source, row.target, guard, kind


def _guards(rows: Sequence[Row]) -> list[str]:
    """Return what each row asks: the names of its guards, `else` behind rows that ask, nothing for a row alone."""
    # Rows are asked in order: one without guards behind others means what is left.
    names = [" and ".join(guard.__name__ for guard in row.guards) for row in rows]
    return [name or (OTHERWISE if len(rows) > 1 else "") for name in names]


def _label(kinds: Iterable[InputKind], guard: str) -> str:
    named = [kind for kind in InputKind if kind in set(kinds)]
    if set(TURN_KINDS) <= set(named):
        words = [ANY_TURN, *(kind for kind in named if kind not in TURN_KINDS)]
    else:
        words = [*named]
    return ", ".join(words) + (f" [{guard}]" if guard else "")
