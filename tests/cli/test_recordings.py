"""The replay loop reports what the machine really did."""

import json
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest

from polycontext.cli.recordings import PrefixMeter, Replay, ReplaySettings, replay_conversation
from polycontext.transcripts import Conversation, read_conversations
from polycontext.transcripts.conversation import conversations
from polycontext.transcripts.documents import Document
from polycontext.window import ContextWindow, Turn
from polycontext.window.providers import Provider
from tests.cli.command import ANTHROPIC_EXAMPLE, EXAMPLE, assistant, result, user


def replay(value: Any, **options: Any) -> Replay:
    """Replay messages."""
    text = json.dumps(value)
    found = next(conversations(Document("test", 1, json.loads(text), text)))
    return replay_conversation(found, ReplaySettings(**options))


def example(path: Path = EXAMPLE) -> Conversation:
    """Return one of the example conversations."""
    return next(read_conversations([str(path)]))


def steps(done: Replay, kind: str) -> list[dict[str, Any]]:
    """Return the steps of a kind."""
    return [step for step in done.report["steps"] if step["step"] == kind]


def test_a_compression_says_what_became_of_which_turns() -> None:
    """It reports the earlier turns that it dropped or summarised first, and the summaries."""
    done = replay_conversation(example(), ReplaySettings(max_tokens=1200))
    classes = {step["turn"]: step["class"] for step in steps(done, "turn")}
    compressions = steps(done, "compress")
    told = [number for step in compressions for number in step["gisted"]]
    assert len(told) == len(set(told)) > 0
    assert compressions[0]["gisted"] == [3, 4, 5, 6, 7, 9, 10, 11]
    assert compressions[0]["summaries"][0]["turns"] == compressions[0]["gisted"]
    dropped = [number for step in compressions for number in step["dropped"]]
    assert {classes[number] for number in dropped} == {"DROPPABLE"}
    assert all(step["pressure"] == round(step["tokens_after"] / 1200, 4) for step in compressions)
    logged = sum(turn.tokens or 0 for turn in done.session.log())
    assert done.report["summary"]["tokens_saved"] == logged - done.session.window.tokens


@pytest.mark.parametrize("path", [EXAMPLE, ANTHROPIC_EXAMPLE], ids=["openai", "anthropic"])
@pytest.mark.parametrize("max_tokens", [400, 1200])
def test_every_list_that_is_due_is_handed_out_or_refused(path: Path, max_tokens: int) -> None:
    """A request is due after each turn, except system turns and turns that leave calls open."""
    done = replay_conversation(example(path), ReplaySettings(max_tokens=max_tokens))
    waiting: set[str] = set()
    due = 0
    for step in steps(done, "turn"):
        turn = done.turns[step["turn"] - 1]
        waiting = (waiting | {call.id for call in turn.tool_calls}) - {turn.tool_call_id or ""}
        is_due = not waiting and turn.role != "system"
        due += is_due
        assert (step["delivered"] or "list_refused" in step) == is_due
    told = done.report["summary"]
    assert told["lists_delivered"] + told["lists_refused"] == due > 0


def test_results_of_a_refused_turn_are_refused_with_it() -> None:
    """The reason names the turn that called."""
    said = [assistant(None, "x", "y"), result("x", "1"), result("y", "2"), user("b")]
    done = replay(said, max_tokens=500)
    assert [(step["turn"], step["reason"]) for step in steps(done, "refused")[1:]] == [
        (2, "its call was refused with turn 1"),
        (3, "its call was refused with turn 1"),
    ]
    assert [step["turn"] for step in steps(done, "turn")] == [4]


def test_a_late_system_turn_changes_the_prefix_for_anthropic_only() -> None:
    """Anthropic takes system turns first, so a later one moves everything behind it."""
    window = ContextWindow(1000).append(Turn("user", "a")).append(Turn("user", "b"))
    for provider, share in ((Provider.OPENAI, 1.0), (Provider.ANTHROPIC, 0.0)):
        meter = PrefixMeter()
        meter.add(window, provider)
        meter.add(window.append(Turn("system", "Be brief.")), provider)
        assert meter.share == share


def test_the_prefix_kept_is_that_of_the_requests() -> None:
    """The reported share of the prefix equals the one measured on the session's own requests."""
    session = ReplaySettings(max_tokens=1200).session(example())
    requests: list[tuple[list[dict[str, Any]], list[int]]] = []
    for turn in example().parse().turns:
        session.add(turn)
        if turn.role in ("user", "tool") and not session.window.open_calls:
            tokens = [each.tokens or 0 for each in session.window.all_turns()]
            requests.append((session.messages(), tokens))
    kept = sent = 0
    for (messages, tokens), (following, _) in pairwise(requests):
        pairs = zip(messages, following, strict=False)
        common = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
        kept, sent = kept + sum(tokens[:common]), sent + sum(tokens)
    done = replay_conversation(example(), ReplaySettings(max_tokens=1200))
    assert done.report["summary"]["prefix_kept"] == round(kept / sent, 4)
    assert 0.3 < kept / sent < 1.0
