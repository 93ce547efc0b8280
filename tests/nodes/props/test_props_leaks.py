"""Nothing of the backend reaches the props: a fuzz with a canary in every private place."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.nodes import PromptBuilder
from polycontext.polynomial import ContextSession
from polycontext.pressure import AdaptiveThreshold, ContextProjector, FixedThreshold, Reach, Signals
from polycontext.testing import FAST
from polycontext.window import ContextItem, TokenCounter, ToolCall, Turn
from tests.polynomial.conversations import text_of

CANARIES = {
    "system text": "CANARYSYSTEM",
    "a system turn in the middle": "CANARYMIDDLE",
    "a call's name": "CANARYCALL",
    "a call's arguments": "CANARYARGUMENT",
    "a result": "CANARYRESULT",
    "a gist": "CANARYGIST",
    "a template": "CANARYTEMPLATE",
    "a persona": "CANARYPERSONA",
    "a constraint of the prompt": "CANARYCONSTRAINT",
    "a task of the prompt": "CANARYTASK",
    "why a class was raised": "CANARYRATIONALE",
    "a turn's metadata": "CANARYMETADATA",
    "an eigenvector": "0.7234517",
    "a threshold's high": "0.6912347",
    "a threshold's low": "0.3187651",
    "a share for gists": "0.2345671",
    "a signal": "0.4567813",
    "a resource class": "DROPPABLE",
    "another resource class": "REQUIRED",
    "the highest resource class": "PRESERVED",
}
START = datetime(2026, 3, 1, tzinfo=UTC)
PROMPTS = PromptBuilder(
    {"spy": "CANARYTEMPLATE {persona} {constraints}"}, {"stealth.high": "CANARYPERSONA"}
)


class Gossip:
    """Summarise anything by one word that must not get out."""

    def summarise(
        self, turns: object, max_tokens: int, *, counter: TokenCounter, query: str | None = None
    ) -> str:
        """Return the canary."""
        return "CANARYGIST " * 3


def _begun(
    threshold: AdaptiveThreshold | FixedThreshold, auto: bool, budget: int
) -> ContextSession:
    ticks = count()
    session = ContextSession(
        budget,
        counter=FAST,
        auto=auto,
        threshold=threshold,
        projector=ContextProjector(Gossip(), Reach(keep_recent=2, recent_share=0.2345671)),
        clock=lambda: START + timedelta(seconds=next(ticks)),
    )
    session.add_system("CANARYSYSTEM: be kind.")
    session.add_user_turn("Hello there.")
    return session


def _calls(session: ContextSession, results: int) -> None:
    session.add_assistant_turn(None, [ToolCall("c1", "CANARYCALL", '{"key": "CANARYARGUMENT"}')])
    for _ in range(results):
        session.add_tool_turn("CANARYRESULT " * 5, tool_call_id="c1")


def _prompts(session: ContextSession) -> None:
    prompt = session.build_prompt(
        "spy", {"stealth": 0.7234517}, ["CANARYCONSTRAINT"], task="CANARYTASK", prompts=PROMPTS
    )
    assert "CANARYPERSONA" in prompt


STEPS: dict[str, Callable[[ContextSession], object]] = {
    "user": lambda s: s.add_user_turn(
        "And what about the harbour, the tower and the bridge over the river?"
    ),
    "assistant": lambda s: s.add_assistant_turn(
        "The harbour is open, the tower is closed, and the bridge was never built."
    ),
    "droppable": lambda s: s.add(
        Turn("assistant", "Well then.", metadata={"plan": "CANARYMETADATA"}),
        ResourceClass.DROPPABLE,
    ),
    "system": lambda s: s.add_system("CANARYMIDDLE: be brief."),
    "calls": partial(_calls, results=1),
    "open calls": partial(_calls, results=0),
    "answer": lambda s: s.add_tool_turn("CANARYRESULT", tool_call_id="c1"),
    "attach": lambda s: s.attach(
        ContextItem("def f(): return 1", type="code", metadata={"filename": "f.py"})
    ),
    "compress": lambda s: s.compress(0.1),
    "recall": lambda s: s.recall([s.log()[-1].resource_id]),
    "promote": lambda s: s.promote(
        s.log()[-1].resource_id, ResourceClass.PRESERVED, rationale="CANARYRATIONALE"
    ),
    "signal": lambda s: s.background.signal(Signals(progress=0.4567813)),
    "prompt": _prompts,
    "clear": lambda s: s.clear(),
}


@given(
    st.sampled_from(
        [FixedThreshold(0.6912347, 0.3187651), AdaptiveThreshold(0.6912347, 0.3187651)]
    ),
    st.booleans(),
    st.sampled_from([150, 400]),
    st.lists(st.sampled_from(list(STEPS)), max_size=25),
)
def test_no_canary_reaches_the_props(
    threshold: AdaptiveThreshold | FixedThreshold, auto: bool, budget: int, steps: list[str]
) -> None:
    """Whatever a session goes through, after every step its props sing of nothing private."""
    session = _begun(threshold, auto, budget)
    for step in steps:
        with suppress(PolycontextError):
            STEPS[step](session)
        props = json.dumps(session.render())
        assert not [place for place, canary in CANARIES.items() if canary in props], props


@pytest.mark.parametrize(
    "place",
    [
        "system text",
        "a call's arguments",
        "a result",
        "a gist",
        "a turn's metadata",
        "why a class was raised",
    ],
)
def test_the_canaries_are_in_the_cage(place: str) -> None:
    """Each canary of the session really is in it, so the test above could fail."""
    session = _begun(FixedThreshold(0.6912347, 0.3187651), auto=False, budget=2000)
    for step in ("droppable", "calls", "promote", *("user", "assistant") * 6, "compress"):
        STEPS[step](session)
    assert CANARIES[place] in text_of(session)
