"""Rules per tool: what never yields, what yields first, what a later call replaces."""

from collections.abc import Sequence
from typing import Any

import pytest

from polycontext import ContextSession, ResourceClass, ToolCall, project
from polycontext.base import InvalidOptionError
from polycontext.linearity import keep_last, never_yield, yield_first
from polycontext.linearity.classification.classifier import ToolRule, classified_by
from polycontext.pressure import AdaptiveThreshold
from polycontext.testing import FAST
from tests.polynomial.conversations import text_of

Call = tuple[str, str, str]
"""A tool, its arguments, what it answers."""


def session_of(
    rounds: Sequence[Sequence[Call]], *rules: ToolRule, max_tokens: int = 900
) -> ContextSession:
    """Return a session in which every round of calls was made and answered, side by side."""
    session = ContextSession(max_tokens, counter=FAST, threshold=AdaptiveThreshold(), rules=rules)
    session.add_user_turn("Mend the build.")
    for number, calls in enumerate(rounds):
        made = [
            ToolCall(f"c{number}-{place}", name, arguments)
            for place, (name, arguments, _) in enumerate(calls)
        ]
        session.add_assistant_turn(None, tool_calls=made)
        for call, (*_, answer) in zip(made, calls, strict=True):
            session.add_tool_turn(answer, tool_call_id=call.id)
    return session


def texts(session: ContextSession) -> str:
    """Return all words of the view."""
    return "\n".join(turn.text for turn in session.window.all_turns())


def reads(path: str, number: int) -> Call:
    """Return a call that reads a part of a file."""
    return (
        "read_file",
        f'{{"path": "{path}", "from": {number}}}',
        f"{path} part {number}: " + "some line of code; " * 12,
    )


FILLER: Sequence[Sequence[Call]] = [
    [("note", f'{{"n": {n}}}', f"remark {n}: " + "nothing new here; " * 8)] for n in range(12)
]


def test_what_never_yields_stands_word_for_word_and_what_yields_first_leaves_no_trace() -> None:
    """After compression the policy is in the view verbatim and the listing only in the log."""
    policy, listing = (
        ("policy", "{}", "Refunds need a receipt; " * 6),
        ("list_dir", "{}", "alpha.py beta.py gamma.py"),
    )
    rounds = [[policy], [listing], *FILLER]
    session = session_of(rounds, never_yield("policy"), yield_first("list_dir"))
    assert session.conversation.window.turns_since_compression is not None
    assert policy[2] in texts(session)
    assert "alpha.py" not in texts(session)
    assert "list_dir" not in texts(session)
    assert any("alpha.py" in turn.text for turn in session.log())
    without = session_of(rounds)
    assert policy[2] not in texts(without)


@pytest.mark.parametrize(
    ("role", "content", "facts", "expected"),
    [
        ("assistant", "", {"tools": ("list_dir", "pwd"), "has_calls": True}, "DROPPABLE"),
        ("assistant", "Let me look.", {"tools": ("list_dir",), "has_calls": True}, "REQUIRED"),
        ("assistant", "", {"tools": ("list_dir", "read"), "has_calls": True}, "REQUIRED"),
        ("tool", "a b", {"tools": ("list_dir",)}, "DROPPABLE"),
        ("tool", "a b", {}, "REQUIRED"),
        ("user", "Book it.", {"first_user": True, "tools": ()}, "PRESERVED"),
    ],
)
def test_a_call_that_says_something_or_calls_another_tool_does_not_yield_first(
    role: str, content: str, facts: dict[str, Any], expected: str
) -> None:
    """Only what is nothing but a listing is DROPPABLE."""
    assert classified_by((yield_first("list_dir", "pwd"),))(role, content, facts).name == expected


def test_a_later_call_replaces_the_earlier_ones_of_the_same_path() -> None:
    """A later call replaces the earlier ones of the same path, and another path stays readable."""
    rounds = [[reads("a.py", 0)], [reads("b.py", 0)], [reads("a.py", 40)], *FILLER[:3]]
    session = session_of(rounds, keep_last("read_file", per="path"), max_tokens=2000)
    plan = session.policy.projector.plan_for(session.window, 0.99 * session.pressure)
    assert [job.sources[0].text.split(":")[0] for job in plan.jobs] == ["a.py part 0"]
    assert (
        session_of(rounds, max_tokens=2000)
        .policy.projector.plan_for(session.window, 0.99 * session.pressure)
        .jobs
        != plan.jobs
    )


def test_without_arguments_every_later_call_replaces_the_earlier_ones() -> None:
    """A new picture of the screen makes the last one old, whatever it was asked with."""
    rule = keep_last("screen")
    assert rule.replaces('{"x": 1}') == rule.replaces("no JSON") == rule.replaces("") == ()


def test_one_result_that_is_current_keeps_the_whole_round_readable() -> None:
    """Of two calls made side by side one is replaced: the round is not superseded."""
    rounds = [[reads("a.py", 0), reads("b.py", 0)], [reads("a.py", 40)], *FILLER[:3]]
    session = session_of(rounds, keep_last("read_file", per="path"), max_tokens=3000)
    plan = session.policy.projector.plan_for(session.window, 0.99 * session.pressure)
    assert all(job.kind.value != "pointer" for job in plan.jobs)


@pytest.mark.parametrize("make", [keep_last, never_yield, yield_first])
@pytest.mark.parametrize("names", [(), ("",), (None,)])
def test_a_rule_without_a_tool_is_refused(make: Any, names: tuple[Any, ...]) -> None:
    """No tool, an empty name, no name: each is told, with what would be legal."""
    with pytest.raises(InvalidOptionError, match="names of tools or arguments, each a text"):
        make(*names)
    with pytest.raises(InvalidOptionError, match="per"):
        keep_last("read_file", per=("path", ""))


def test_rules_are_saved_with_the_session_and_go_on() -> None:
    """Opened again, the same rules classify what comes."""
    session = session_of(FILLER, never_yield("policy"), keep_last("read_file", per="path"))
    again = ContextSession.history.load(text_of(session), counter=FAST)
    assert again.policy.projector.reach == session.policy.projector.reach
    again.add_assistant_turn(None, tool_calls=[ToolCall("p", "policy", "{}")])
    again.add_tool_turn("Never.", tool_call_id="p")
    assert [again.window.class_of(turn) for turn in again.window.all_turns()[-2:]] == [
        ResourceClass.PRESERVED
    ] * 2


def test_project_takes_the_same_rules() -> None:
    """A list that is cut keeps what never yields, and the words of what yields first are gone."""
    session = session_of(
        [
            [("policy", "{}", "Refunds need a receipt; " * 6)],
            [("list_dir", "{}", "alpha.py " * 9)],
            *FILLER,
        ],
        max_tokens=99999,
    )
    messages = session.messages()
    cut = project(
        messages, 700, counter=FAST, rules=[never_yield("policy"), yield_first("list_dir")]
    ).messages
    said = str(cut)
    assert "Refunds need a receipt; " * 6 in said
    assert "alpha" not in said
    assert "Refunds need a receipt; " * 6 not in str(project(messages, 700, counter=FAST).messages)
