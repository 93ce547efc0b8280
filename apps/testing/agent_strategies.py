"""Hypothesis strategies for agents: sessions they lived in, moments, nodes, and answers."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from polycontext.agents import AgentMachine, Form, Recollection
from polycontext.agents.answers import Blocked, Deed, Plan, Summary, Understanding
from polycontext.agents.forms import read_answer, schema_of
from polycontext.base import PolycontextError
from polycontext.nodes.builders import Node
from polycontext.nodes.builders.node import ConversationPart, EntityMode, ReasoningPart
from polycontext.nodes.builders.standard_nodes import NODES as STANDARD
from polycontext.polynomial import ContextSession

from .strategies import FAST

_WORDS = st.sampled_from(["soup", "a quick soup", "no nuts, please", "## Your Task", "日本", ""])
_STEPS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["read", "analyze", "generate", "write"]),
        "subdomain": st.sampled_from(["recipes", "plans"]),
        "description": _WORDS,
    }
)
ANSWERS: dict[type[Form], st.SearchStrategy[dict[str, Any]]] = {
    Understanding: st.fixed_dictionaries(
        {"intent": _WORDS, "confidence": st.floats(0, 1)},
        optional={
            "user_expressed": _WORDS,
            "phase": st.none() | st.sampled_from(["exploring", "narrowing", "confirming"]),
        },
    ),
    Plan: st.fixed_dictionaries(
        {"decision": st.sampled_from(["plan_direct", "propose", "clarify"]), "goal": _WORDS},
        optional={"steps": st.lists(_STEPS, max_size=3), "questions": st.lists(_WORDS, max_size=2)},
    ),
    Deed: st.fixed_dictionaries({"outcome": _WORDS}, optional={"note_for_next_step": _WORDS}),
    Summary: st.fixed_dictionaries({"engagement": _WORDS}, optional={"summary": _WORDS}),
    Blocked: st.fixed_dictionaries({"why": _WORDS}),
}
"""The answers of each form, as JSON data, that fit any memory."""
FORMS = st.sampled_from([*ANSWERS])


def answers_to(form: type[Form]) -> st.SearchStrategy[object]:
    """Draw an answer of `form` as a model gives it: data, JSON, or JSON among other words."""
    data = _data_of(form)
    text = data.map(json.dumps)
    return data | text | text.map("Here it is:\n```json\n{}\n```".format)


def _data_of(form: type[Form]) -> st.SearchStrategy[Any]:
    """Draw an answer of a form as data; that of a user's form is drawn from its schema."""

    def is_read(answer: object) -> bool:
        with suppress(PolycontextError):
            return bool(read_answer(form, answer))
        return False

    return ANSWERS[form] if form in ANSWERS else _values(schema_of(form)).filter(is_read)


def _values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Draw what a JSON Schema of a form allows."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "array":
            return st.lists(_values(schema["items"]), max_size=2)
        case "object":
            inner = schema.get("properties", {})
            return st.fixed_dictionaries({name: _values(each) for name, each in inner.items()})
        case kind:
            plain = _PLAIN.get(kind, _WORDS)
            return st.one_of(*map(_values, schema["anyOf"])) if "anyOf" in schema else plain


_PLAIN: Mapping[Any, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "integer": st.integers(0, 5),
    "null": st.none(),
    "number": st.sampled_from([0, 0.5, 1]),
}


@st.composite
def agent_sessions(draw: st.DrawFn, machine: type[AgentMachine] = AgentMachine) -> ContextSession:
    """Draw a session in which an agent answered, and that was compressed, cleared or rewound."""
    session = ContextSession(draw(st.sampled_from([400, 4_000])), counter=FAST, machine=machine)
    for _ in range(draw(st.integers(0, 14))):
        act = draw(st.sampled_from([_answer, _answer, _answer, _go_back]))(session, draw)
        with suppress(PolycontextError):
            act()
    return session


def _answer(session: ContextSession, draw: st.DrawFn) -> Callable[[], object]:
    """Return what takes the session to its next state."""
    region = session.conversation.machine.regions["node"]
    node = region.nodes.get(session.regions["node"])
    if node is not None and node.answers is not None:
        form, left = node.answers, {}
        if form is Deed:
            left = {"left": max(len(Recollection(session).memory.plan) - 1, 0)}
        return lambda: session.send(form.event, draw(_data_of(form)), **left)
    said = f"{draw(_WORDS)} {session.history.revision}"
    return lambda: session.add_assistant_turn(said) if node else session.add_user_turn(said)


def _go_back(session: ContextSession, draw: st.DrawFn) -> Callable[[], object]:
    """Return what changes the past, or adds to it out of turn."""
    revision = draw(st.integers(0, session.history.revision))
    acts: list[Callable[[], object]] = [
        session.clear,
        session.compress,
        lambda: session.history.rewind(revision),
        lambda: session.add_user_turn("Rather not."),
        lambda: session.send(Summary.event, draw(ANSWERS[Summary])),
        lambda: session.send(Blocked.event, draw(ANSWERS[Blocked])),
    ]
    return draw(st.sampled_from(acts))


_OWN_NODES = st.builds(
    Node,
    st.just("critic"),
    st.just("Judge."),
    st.none() | st.sampled_from(EntityMode),
    st.sets(st.sampled_from(ConversationPart)),
    st.sets(st.sampled_from(ReasoningPart)),
    st.sampled_from([(), ("enrichment.facts",)]),
)
NODES = _OWN_NODES | st.sampled_from([*STANDARD.values()])
MOMENTS = agent_sessions().map(lambda session: Recollection(session).now)
