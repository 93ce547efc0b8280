"""Generated conversations and garbage for the tests of the message formats."""

import json
from collections.abc import Sequence
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from polycontext.window.providers import Parsed
from polycontext.window.providers.wire import Render
from polycontext.window.turn import Role, ToolCall, Turn

TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(["", " ", "\n", "done ", "<|endoftext|>", "日本", "Book UA100."]))
CALL_IDS = st.sampled_from(["call_1", "call_2", "toolu_01A", "f:1", "f_1", "functions.eval:301", "é"])
ARGUMENTS = st.one_of(
    st.sampled_from(["{}", "", "not json", "[1]", "null", '{"x": NaN}', '{"x": 1e999}', '{"s": "\\ud800"}', "[" * 2000]),
    st.dictionaries(st.text(max_size=3), st.integers() | TEXTS, max_size=3).map(json.dumps),
)


@st.composite
def call_atoms(draw: st.DrawFn) -> list[Turn]:
    """Draw an assistant turn that calls and its results, in any order."""
    ids = draw(st.lists(CALL_IDS, min_size=1, max_size=3, unique=True))
    calls = [ToolCall(call_id, draw(st.sampled_from(["search", "book", "n" * 250])), draw(ARGUMENTS)) for call_id in ids]
    results = [Turn("tool", draw(TEXTS), tool_call_id=call_id) for call_id in draw(st.permutations(ids))]
    return [Turn("assistant", draw(st.none() | TEXTS), tool_calls=tuple(calls)), *results]


@st.composite
def conversations(draw: st.DrawFn, *, open_tail: bool = False) -> list[Turn]:
    """Draw turns whose calls are paired, with the user first after system turns; with `open_tail` some calls at the end may be open."""
    words = st.tuples(st.sampled_from(["user", "assistant", "system"]), TEXTS).map(lambda pair: [Turn(*pair)])
    head = [Turn("system", text) for text in draw(st.lists(TEXTS, max_size=2))]
    body = draw(st.lists(words | call_atoms(), max_size=6))
    tail = draw(call_atoms()) if open_tail else []
    kept = draw(st.integers(1, len(tail))) if tail else 0
    turns = [*head, Turn("user", draw(TEXTS)), *(turn for atom in body for turn in atom), *tail[:kept]]
    return [evolve(turn, resource_id=f"t{index}") for index, turn in enumerate(turns)]


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=2), st.just("\ud800"), st.just(10**400)
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
def broken_lists(draw: st.DrawFn, render: Render) -> list[Any]:
    """Draw a valid message list of which one place is replaced, removed or said twice."""
    messages: list[Any] = json.loads(json.dumps(render(draw(conversations(open_tail=True))).inline()))
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


def named(parsed: Parsed) -> tuple[list[Turn], dict[str, int]]:
    """Return the parsed turns with resource ids, and the position of each id."""
    turns = [evolve(turn, resource_id=f"t{index}") for index, turn in enumerate(parsed.turns)]
    return turns, {turn.resource_id: index for index, turn in enumerate(turns)}


def digested(turns: Sequence[Turn], every: int = 1) -> list[Turn]:
    """Return `turns` with every `every`-th result cut to a digest under a new id, the call kept."""
    results = [index for index, turn in enumerate(turns) if turn.role is Role.TOOL][::every]
    view = list(turns)
    for index in results:
        turn = view[index]
        view[index] = evolve(turn, content="[cut]", parts=(), resource_id=f"d{index}", sources=(turn.resource_id,))
    return view


def words(turns: Sequence[Turn]) -> list[tuple[str, str | None, tuple[ToolCall, ...], str | None]]:
    """Return what turns say, without ids, tokens and metadata."""
    return [(turn.role, turn.content, turn.tool_calls, turn.tool_call_id) for turn in turns]
