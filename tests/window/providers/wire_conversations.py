"""Generated conversations and garbage for the tests of the message formats."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from polycontext.window.providers import Rendered
from polycontext.window.turn import ToolCall, Turn
from tests.laws.inputs import wire_turns

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.just("\ud800"),
    st.just(10**400),
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3),
        st.frozensets(st.integers(), max_size=2),
    ),
    max_leaves=6,
)


@st.composite
def broken_lists(draw: st.DrawFn, render: Callable[..., Rendered]) -> list[Any]:
    """Draw a valid message list of which one place is replaced, removed or said twice."""
    messages: list[Any] = json.loads(json.dumps(render(draw(wire_turns(open_tail=True))).inline()))
    node: Any = messages
    step = draw(st.sampled_from(range(len(messages))))
    while isinstance(node[step], dict | list) and node[step] and draw(st.integers(0, 4)):
        node = node[step]
        step = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
    match draw(st.sampled_from(["replace", "remove", "repeat"])):
        case "remove":
            del node[step]
        case "repeat" if isinstance(node, list):
            node.insert(step, node[step])
        case _:
            node[step] = draw(ANYTHING)
    return messages


def words(turns: Sequence[Turn]) -> list[tuple[str, str | None, tuple[ToolCall, ...], str | None]]:
    """Return what turns say, without ids, tokens and metadata."""
    return [(turn.role, turn.content, turn.tool_calls, turn.tool_call_id) for turn in turns]
