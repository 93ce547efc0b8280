"""The replay loop reports what the machine really did."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.cli.recordings.replay import ReplaySettings, replay_conversation
from polycontext.cli.recordings.report import (
    Compressed,
    PrefixMeter,
    ReplayReport,
    TurnRefused,
    TurnTaken,
    ranges,
)
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextState
from polycontext.pressure import ContextProjector, Reach
from polycontext.pressure.threshold import mark_above
from polycontext.transcripts import Conversation, conversations, read_conversations
from polycontext.transcripts.documents import Document
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Turn, count_turn
from polycontext.window.providers import Provider, get_format
from tests.cli.command import ANTHROPIC_EXAMPLE, EXAMPLE, assistant, chat, result, user


def conversation(value: Any) -> Conversation:
    """Return a conversation as a file would give it."""
    text = json.dumps(value)
    return next(conversations(Document("test", 1, json.loads(text), text)))


def replay(value: Any, **settings: Any) -> ReplayReport:
    """Replay messages."""
    return replay_conversation(conversation(value), ReplaySettings(**settings))


def example(path: Path = EXAMPLE) -> Conversation:
    """Return one of the example conversations."""
    return next(read_conversations([str(path)]))


def taken(report: ReplayReport) -> list[TurnTaken]:
    """Return the steps of turns that went in."""
    return [step for step in report.steps if isinstance(step, TurnTaken)]


def test_a_conversation_that_fits_is_not_touched() -> None:
    """Without pressure every turn goes in, and nothing else happens."""
    report = replay(chat(4), max_tokens=100_000)
    assert [step.turn.content for step in taken(report)] == [
        message["content"] for message in chat(4)
    ]
    assert report.steps == tuple(taken(report))
    assert report.states == (ContextState.EMPTY, ContextState.ACCUMULATING)
    assert (report.compressions, report.refused, report.tokens_saved, report.prefix_kept) == (
        (),
        (),
        0,
        1.0,
    )


def test_a_compression_says_what_became_of_which_turns() -> None:
    """A compression reports the numbers of earlier turns that it dropped or summarised.

    The tokens saved are the sum over the steps.
    """
    report = replay_conversation(example(), ReplaySettings(max_tokens=1200))
    compressions = report.compressions
    classes = {step.number: step.resource_class for step in taken(report)}
    assert any(step.gisted for step in compressions)
    assert any(step.dropped for step in compressions)
    seen = 0
    for step in report.steps:
        if isinstance(step, Compressed):
            assert {*step.dropped, *step.gisted} <= set(range(1, seen + 1))
            assert {classes[number] for number in step.dropped} <= {ResourceClass.DROPPABLE}
            assert set(step.dropped).isdisjoint(step.gisted)
            assert step.state is ContextState.COMPRESSED
            assert step.pressure == step.tokens_after / 1200
        else:
            seen = step.number
    logged = sum(turn.tokens or 0 for turn in report.session.log())
    assert report.tokens_saved == logged - report.session.window.tokens


def test_the_marks_are_obeyed() -> None:
    """PRESSURED means above the high mark, and a compression reaches the low mark.

    Both marks are shares of the room beside the floor. The answer that ends the window stays
    whole, so the low mark is measured beside it, too.
    """
    settings = ReplaySettings(max_tokens=3000, high=0.6, low=0.3, keep_recent=0)
    report = replay_conversation(conversation(chat(60)), settings)
    session = settings.session(report.conversation)
    floor = answer = 0.0
    for step in report.steps:
        if isinstance(step, TurnTaken):
            session.add(step.turn)
            answer = count_turn(session.window.counter, step.turn) / 3000
            floor = ContextProjector(reach=Reach(keep_recent=0)).floor(session.window) / 3000
            assert (step.state is ContextState.PRESSURED) == (
                step.pressure > mark_above(floor, 0.6)
            )
        elif step is report.compressions[0]:
            assert 0.3 <= step.pressure <= mark_above(floor + answer, 0.3) < 0.4
    assert len(report.compressions) > 1


@pytest.mark.parametrize("path", [EXAMPLE, ANTHROPIC_EXAMPLE], ids=["openai", "anthropic"])
@pytest.mark.parametrize("max_tokens", [400, 700, 1200])
def test_every_list_that_is_due_is_handed_out_or_refused(path: Path, max_tokens: int) -> None:
    """A request is due after each turn, except system turns and turns that leave calls open.

    The counts add up.
    """
    report = replay_conversation(example(path), ReplaySettings(max_tokens=max_tokens))
    waiting: set[str] = set()
    due = 0
    for step in taken(report):
        waiting = (waiting | {call.id for call in step.turn.tool_calls}) - {
            step.turn.tool_call_id or ""
        }
        is_due = not waiting and step.turn.role != "system"
        due += is_due
        assert (step.delivered or step.list_refused is not None) == is_due
    assert sum(report.lists) == due > 0


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 3)), min_size=1, max_size=25),
    st.integers(120, 900),
)
def test_generated_conversations_never_break(shape: list[tuple[int, int]], max_tokens: int) -> None:
    """Every generated chat with calls replays, and its view is valid and within budget if possible.

    Each turn is accepted or rejected once.
    """
    messages: list[dict[str, Any]] = []
    for number, (words, calls) in enumerate(shape):
        text = " ".join(f"n{number}w{word}" for word in range(words))
        ids = [f"c{call}" for call in range(calls)]  # the same ids in every turn, as in recordings
        messages += [user(text), assistant(text, *ids), *(result(call, text) for call in ids)]
    report = replay(messages, max_tokens=max_tokens)
    numbers = [step.number for step in report.steps if isinstance(step, TurnRefused | TurnTaken)]
    assert numbers == list(range(1, len(messages) + 1))
    window = report.session.window
    # Beside a task that leaves no room for the shortest gist, a reply gets into the log, and no
    # list is handed out.
    fits = window.total_tokens + REQUEST_OVERHEAD <= max_tokens
    assert fits or ContextProjector().floor(window) + REQUEST_OVERHEAD > max_tokens
    if fits and not report.session.window.open_calls and len(report.session.window):
        get_format("openai").check(report.session.messages())


def test_a_turn_that_can_never_fit_is_skipped() -> None:
    """The refusal holds both numbers, and the conversation goes on without the turn."""
    huge = {"role": "system", "content": " ".join(f"word{n}" for n in range(2000))}
    report = replay([*chat(2), huge, *chat(2)], max_tokens=500)
    (refused,) = report.refused
    assert (refused.number, refused.error) == (3, "ContextOverflowError")
    assert "the budget is 500" in refused.reason
    assert [step.number for step in taken(report)] == [1, 2, 4, 5]


def test_results_of_a_refused_turn_are_refused_with_it() -> None:
    """The reason names the turn that called."""
    report = replay(
        [assistant(None, "x", "y"), result("x", "1"), result("y", "2"), user("b")], max_tokens=500
    )
    assert [(step.number, step.reason) for step in report.refused[1:]] == [
        (2, "its call was refused with turn 1"),
        (3, "its call was refused with turn 1"),
    ]
    assert [step.number for step in taken(report)] == [4]


def test_what_has_happened_is_taken_in_however_large() -> None:
    """A reply and a result far over the budget are whole in the log and cut in the view."""
    huge = " ".join(f"word{n}" for n in range(2000))
    messages = [
        user("a"),
        assistant(huge, "x", "y"),
        result("x", huge),
        result("y", "2"),
        assistant("done"),
    ]
    report = replay(messages, max_tokens=500)
    assert report.refused == ()
    assert [step.number for step in taken(report)] == [1, 2, 3, 4, 5]
    assert [turn.content for turn in report.session.log()][1:3] == [huge, huge]
    assert sum(report.lists) == 3
    assert [step.number for step in taken(report) if step.delivered] == [1, 4, 5]


def test_progress_is_told_turn_by_turn() -> None:
    """The callback receives every turn's bytes, which add up to the conversation's size."""
    heard: list[float] = []
    replay_conversation(evolve(conversation(chat(5)), size=1000), ReplaySettings(), heard.append)
    assert heard == [200] * 5


def window(*texts: str) -> Callable[[int], ContextWindow]:
    """Return a function that gives the window of the first so many texts."""
    full = ContextWindow(1000)
    for text in texts:
        full = full.append(Turn("user", text))

    def first(count: int) -> ContextWindow:
        part = ContextWindow(1000)
        for turn in full.all_turns()[:count]:
            part = part.append(turn)
        return part

    return first


def test_a_changed_prefix_is_kept_up_to_the_change() -> None:
    """Turns after the first change count as lost, even if their text is the same."""
    meter, first = PrefixMeter(), window("a", "b", "c")
    meter.add(first(3), Provider.OPENAI)
    changed = first(1).append(Turn("user", "other"))
    meter.add(changed.append(first(3).all_turns()[2]), Provider.OPENAI)
    assert meter.share == pytest.approx(1 / 3)


def test_a_late_system_turn_changes_the_prefix_for_anthropic_only() -> None:
    """Anthropic takes system turns first, so a later one moves everything behind it."""
    for provider, share in ((Provider.OPENAI, 1.0), (Provider.ANTHROPIC, 0.0)):
        meter, first = PrefixMeter(), window("a", "b")
        meter.add(first(2), provider)
        meter.add(first(2).append(Turn("system", "Be brief.")), provider)
        assert meter.share == share


def test_the_prefix_kept_is_that_of_the_requests() -> None:
    """The reported share of the prefix equals the one measured on the session's own requests."""
    session = ReplaySettings(max_tokens=1200).session(example())
    requests: list[tuple[list[dict[str, Any]], list[int]]] = []
    for turn in example().parse().turns:
        session.add(turn)
        if turn.role in ("user", "tool") and not session.window.open_calls:
            requests.append(
                (session.messages(), [each.tokens or 0 for each in session.window.all_turns()])
            )
    kept = sent = 0
    for (messages, tokens), (following, _) in pairwise(requests):
        common = next(
            (
                index
                for index, pair in enumerate(zip(messages, following, strict=False))
                if pair[0] != pair[1]
            ),
            len(messages),
        )
        kept, sent = kept + sum(tokens[:common]), sent + sum(tokens)
    report = replay_conversation(example(), ReplaySettings(max_tokens=1200))
    assert report.prefix_kept == pytest.approx(kept / sent)
    assert 0.3 < kept / sent < 1.0


def test_numbers_are_written_the_short_way() -> None:
    """Runs become ranges; order and repetition do not matter."""
    assert ranges(()) == ""
    assert ranges((9, 3, 4, 5, 3)) == "3-5, 9"
