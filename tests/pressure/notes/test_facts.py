"""Facts that a plan's gists must keep, and the trace from a gist's line to its source."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import ContextSession
from polycontext.base import InvalidOptionError
from polycontext.pressure import ContextProjector
from polycontext.pressure.gist import summary_text
from polycontext.pressure.notes.facts import facts_of
from polycontext.pressure.notes.items import Section
from polycontext.pressure.notes.provenance import find_sources
from polycontext.pressure.notes.summariser import ExtractiveSummariser
from polycontext.testing import FAST
from polycontext.window import ToolCall, Turn
from polycontext.window.items import ContextItem
from tests.pressure.notes.extractive_samples import called


def long_session(max_tokens: int = 1_500, steps: int = 60) -> ContextSession:
    """Return a session that compressed again and again."""
    session = ContextSession(max_tokens, counter=FAST)
    session.add_user_turn("Sort the shed.")
    session.add_user_turn("Never touch the red box.")
    for number in range(steps):
        arguments = json.dumps(
            {
                "path": f"shed/shelf-{number}.txt",
                "command": f"count the nails of box BX-{number} " * 8,
                "n": number,
            }
        )
        session.add_assistant_turn(
            f"I look at shelf {number}.", [ToolCall(f"c{number}", "look", arguments)]
        )
        session.add_tool_turn(
            json.dumps({"shelf": number, "boxes": [f"BX-{number}{k}" for k in range(4)]}),
            tool_call_id=f"c{number}",
        )
        session.add_user_turn(f"And what of box BX-{number}3?")
    return session


def test_a_plan_carries_what_must_stand() -> None:
    """A plan carries demands, ids in use and next steps of gisted turns, each with its source."""
    turns = [
        Turn("user", "Sort them. Never open box B7.", resource_id="a"),
        Turn("assistant", "Plan:\n- [ ] count the nails of shelf_12", resource_id="b"),
        Turn("assistant", "Next I'll open shelf_13.", resource_id="c"),
    ]
    facts = facts_of(turns, FAST)
    told = {(fact.head, fact.text, fact.source) for fact in facts}
    assert (Section.RULES, "Never open box B7.", "a") in told
    assert (Section.OPEN, "- [ ] count the nails of shelf_12", "b") in told
    assert (Section.OPEN, "Next I'll open shelf_13.", "c") in told
    assert any(head is Section.FILES and "shelf_12" in text for head, text, _ in told)


def test_a_plan_carries_the_newest_of_a_value() -> None:
    """A plan carries only the newest of several values."""
    turns = [
        turn
        for degrees in (900, 950, 990)
        for turn in called(
            "look",
            f'{{"at": {degrees}}}',
            f'{{"kiln_id": "K1", "degrees": {degrees}}}',
            f"t{degrees}",
        )
    ]
    told = [fact.text for fact in facts_of(turns, FAST) if fact.head is Section.KNOWN]
    assert told == ["K1: degrees 990 (was 950)"]
    assert not [fact for fact in facts_of(turns[:2], FAST) if fact.head is Section.KNOWN]


def test_the_facts_of_a_plan_are_those_of_what_yields() -> None:
    """Each was said by a turn that its gists stand for; an empty plan has none."""
    session = long_session(steps=12)
    projector = ContextProjector()
    plan = projector.plan_to(session.window, 0.4)
    sources = {turn.resource_id for job in plan.jobs for turn in job.reads}
    assert plan.facts
    assert {fact.source for fact in plan.facts} <= sources
    assert len(plan.facts) == len(set(plan.facts))
    assert projector.plan_to(session.window, 1.0).facts == ()


def test_what_a_line_was_traced_to_is_recalled() -> None:
    """The ids that `trace` returns are those that `recall` takes."""
    session = long_session(3_000)
    gist = next(turn for turn in session.window.all_turns() if turn.is_gist)
    first = next(
        ids for line in re.split(r"\n(?=\S)", gist.text)[1:] if (ids := session.history.trace(line))
    )
    assert first[0] in {turn.resource_id for turn in session.recall(first[:1]).window.all_turns()}


def test_what_nobody_said_has_no_source() -> None:
    """Words of a model, headings, empty lines and partly invented lines have no source."""
    session = long_session(steps=3)
    for line in (
        "assistant: all of it is gold",
        "Facts:",
        "",
        "user: And what of box B23? … and of box B99?",
    ):
        assert session.history.trace(line) == ()
    with pytest.raises(InvalidOptionError, match="line"):
        session.history.trace(None)  # type: ignore[arg-type]


def test_an_attachment_is_traced_by_its_name() -> None:
    """An attachment's line is traced to it by name, and the later of two is current."""
    session = ContextSession(2_000, counter=FAST)
    session.add_user_turn("Sort the shed.")
    first, second = "def nails():\n    return 1\n", "def screws():\n    return 2\n"
    ids = []
    for text in (first, second):
        session.attach(ContextItem(text, "file", {"filename": "shed.py"}))
        ids.append(session.window.all_turns()[-1].resource_id)
        session.add_assistant_turn("I read it.")
    gist = ExtractiveSummariser(ids=True).summarise(session.log(), 200, counter=FAST)
    line = next(line for line in re.split(r"\n(?=\S)", gist) if "attached" in line)
    assert (
        session.history.trace(line) == session.history.trace(line.partition("] ")[2]) == (ids[-1],)
    )


def test_what_an_earlier_summary_said_in_another_name_is_traced_to_it() -> None:
    """A line of an incoming gist is labelled as earlier and traced to that gist."""
    came = Turn(
        "user",
        summary_text("assistant: I painted the red box blue."),
        resource_id="a",
        metadata={"gist": True},
    )
    gist = ExtractiveSummariser().summarise([Turn("user", "Sort."), came], 100, counter=FAST)
    line = next(line for line in gist.splitlines() if "painted" in line)
    assert line.startswith("earlier: ")
    assert find_sources(line, [came]) == (came,)


def test_a_line_of_several_turns_names_as_few_as_say_it() -> None:
    """A call and its result are two turns; of the same words said twice the later turn is named."""
    call = Turn(
        "assistant", None, tool_calls=[ToolCall("c", "look", '{"at": "shelf 7"}')], resource_id="a"
    )
    result = Turn("tool", "three boxes", tool_call_id="c", resource_id="b")
    again = Turn("user", "three boxes", resource_id="c")
    assert find_sources('look({"at": "shelf 7"}) -> three boxes', [call, result]) == (call, result)
    assert find_sources("user: three boxes", [result, again]) == (again,)


@given(
    st.lists(st.text(alphabet="ab …:(),\n", min_size=1, max_size=12), min_size=1, max_size=4),
    st.text(alphabet="ab …:(),\n", max_size=20),
)
def test_tracing_ends_whatever_is_asked(texts: list[str], line: str) -> None:
    """It names turns in their order, each once."""
    turns = [
        Turn("user", text, resource_id=f"t{number}")
        for number, text in enumerate(texts)
        if text.strip()
    ]
    found = [turns.index(turn) for turn in find_sources(line, turns)]
    assert found == sorted(set(found))
