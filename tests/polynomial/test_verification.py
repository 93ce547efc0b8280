"""`verify` accepts projections, and names every fault of other compactions."""

import copy
from itertools import combinations, product
from types import MappingProxyType

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.polynomial import ContextOverflowError, project
from polycontext.testing import FAST, Move
from polycontext.window.filler import SYSTEM_READ
from polycontext.window.providers import get_format
from tests.polynomial.conversations import (
    RECORDINGS,
    Message,
    assistant,
    call,
    generated_messages,
    needs_recordings,
    recorded,
    result,
    session_moves,
    system,
    user,
)
from tests.polynomial.verification import Verification, found_in_order, verify

HISTORY = [
    system("Be brief."),
    user("Book a night train."),
    call("call_1"),
    result("call_1", "three trains"),
    assistant("Which one?"),
    user("The first."),
    call("call_1"),
    result("call_1", "booked"),
    assistant("Done."),
]
SUMMARY = assistant("[Summary of 3 earlier messages]")


# --- good compactions -----------------------------------------------------------------


@given(generated_messages(), st.sampled_from([60, 150, 300, 1000]), st.sampled_from([0, 6]))
def test_a_projection_passes(messages: list[Message], budget: int, keep_recent: int) -> None:
    """Whatever `project` makes of a conversation kept what it had to keep."""
    try:
        projected = project(messages, budget, counter=FAST, keep_recent=keep_recent)
    except ContextOverflowError:
        return
    verification = verify(messages, projected.messages)
    assert verification.ok, str(verification)
    assert len(verification.kept) + len(verification.invented) == len(projected.messages)


@pytest.mark.parametrize("text", ["[Summary of 3 earlier messages]\nTwo trains.", "Be brief."])
def test_a_summary_of_another_tool_may_be_summarised_again(text: str) -> None:
    """A system message has to stay unless it is a summary, in both forms of its content."""
    for content in (text, [{"type": "text", "text": text}]):
        before = [user("Book a night train."), {"role": "system", "content": content}]
        verification = verify([*before, assistant("Done.")], [before[0], SUMMARY])
        assert verification.pinned_lost == ((1,) if text == "Be brief." else ())


@given(session_moves(), st.sampled_from([60, 150, 300, 1000]))
def test_a_projection_of_anthropic_messages_passes(moves: list[Move], budget: int) -> None:
    """A projection of Anthropic's lists, with results in user messages, also passes.

    The texts are numbered, since half of a merged message could equal another message.
    """
    turns = [
        evolve(turn, content=f"{turn.text} #{number}") for number, (turn, _) in enumerate(moves)
    ]
    messages = get_format("anthropic").render(turns).inline()
    try:
        projected = project(messages, budget, provider="anthropic", counter=FAST)
    except ContextOverflowError:
        return
    verification = verify(messages, projected.messages, provider="anthropic")
    # Pictures of the task fall before anything is refused; its words stand.
    said = [
        block["text"]
        for message in projected.messages
        for block in blocks_of(message)
        if block["type"] == "text"
    ]
    for index in verification.pinned_lost:
        texts = [block["text"] for block in blocks_of(messages[index]) if block["type"] == "text"]
        assert all(any(text in each for each in said) for text in texts)
    # What is said between two system messages is alike wherever it stands.
    strays = [
        index
        for index in verification.reordered
        if SYSTEM_READ not in str(projected.messages[index])
    ]
    assert evolve(verification, pinned_lost=(), reordered=tuple(strays)).ok, str(verification)


def blocks_of(message: Message) -> list[Message]:
    """Return the blocks of an Anthropic message, of a text the one that it stands for."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


@pytest.mark.gate
@needs_recordings
@pytest.mark.parametrize("name", RECORDINGS)
def test_projections_of_recordings_pass(name: str) -> None:
    """Recorded conversations, whose call ids come back, are kept as they must be."""
    for messages in list(recorded(name))[:10]:
        try:
            projected = project(messages, 4000, counter=FAST).messages
        except ContextOverflowError:
            continue
        assert verify(messages, projected).ok


def test_an_untouched_list_passes() -> None:
    """An unchanged list keeps all messages, adds none, and is not modified."""
    before, after = copy.deepcopy(HISTORY), copy.deepcopy(HISTORY)
    verification = verify(before, after)
    assert verification == Verification(kept=tuple(range(9)), total=9)
    assert (before, after) == (HISTORY, HISTORY)
    assert str(verification) == "ok: kept 9 of 9 messages"


def test_a_summary_is_allowed_and_listed() -> None:
    """A message that `before` lacks, such as a summary, is new."""
    verification = verify(HISTORY, [*HISTORY[:2], SUMMARY, *HISTORY[5:]])
    assert (verification.ok, verification.invented, verification.kept) == (
        True,
        (2,),
        (0, 1, 5, 6, 7, 8),
    )
    assert str(verification) == "ok: kept 6 of 9 messages; 1 new"


def test_the_order_of_keys_is_no_difference() -> None:
    """Two messages are the same if they are the same JSON."""
    turned = [dict(reversed(message.items())) for message in HISTORY]
    assert verify(HISTORY, turned) == verify(HISTORY, HISTORY)


def test_messages_may_be_any_mapping() -> None:
    """Read-only messages, at any depth, are compared as the objects they are."""
    content = [{"type": "text", "text": "hi"}]
    frozen = [
        MappingProxyType(
            {"role": "user", "content": [MappingProxyType(block) for block in content]}
        )
    ]
    assert verify(frozen, [{"role": "user", "content": content}]).ok


def test_a_list_that_ends_open_may_stay_open() -> None:
    """`after` may end on open calls if `before` does, and only then."""
    history = [*HISTORY, call("call_9")]
    assert verify(history, [*HISTORY[:2], call("call_9")]).ok
    assert verify(HISTORY, [*HISTORY[:2], call("call_9")]).broken is not None


# --- bad compactions ------------------------------------------------------------------


def test_a_trim_that_loses_system_and_task_is_named() -> None:
    """Keeping the last messages, as trimming by default does, loses the pinned ones."""
    verification = verify(HISTORY, HISTORY[4:])
    assert (verification.pinned_lost, verification.ok) == ((0, 1), False)
    assert str(verification) == "not ok: lost pinned before[0][1]; kept 5 of 9 messages"


def test_an_orphaned_result_is_named() -> None:
    """A cut between a call and its result leaves a list that the provider refuses."""
    verification = verify(HISTORY, [*HISTORY[:2], *HISTORY[3:]])
    assert verification.broken is not None
    assert (verification.broken.rule, verification.broken.index, verification.ok) == (
        "orphan-result",
        2,
        False,
    )
    assert "orphan-result" in str(verification)


def test_a_call_without_its_result_is_named() -> None:
    """A result that was dropped alone leaves its call unanswered."""
    verification = verify(HISTORY, [*HISTORY[:3], *HISTORY[4:]])
    assert verification.broken is not None
    assert verification.broken.rule == "unanswered-call"


def test_a_result_of_another_call_is_named() -> None:
    """Ids come back in later turns: a pair that the provider would take may still be none."""
    before = [
        *HISTORY[:2],
        call("call_1"),
        result("call_1", "three trains"),
        call("call_1", name="book"),
        result("call_1", "booked"),
    ]
    verification = verify(before, [*before[:3], before[5]])
    assert (verification.broken, verification.mispaired, verification.ok) == (None, (3,), False)
    assert "results of another call after[3]" in str(verification)


def test_a_result_of_another_call_is_named_for_anthropic() -> None:
    """The same, where results are blocks of user messages."""

    def use(name: str) -> Message:
        return {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": name, "input": {}}],
        }

    def found(text: str) -> Message:
        return {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}],
        }

    before = [user("Book."), use("search"), found("three"), use("book"), found("booked")]
    assert verify(before, [before[0], before[1], before[4]], provider="anthropic").mispaired == (2,)
    assert verify(before, [before[0], before[3], before[4]], provider="anthropic").ok


def test_results_in_another_order_behind_their_call_are_pairs() -> None:
    """Parallel results that changed places are out of order, but not mispaired."""
    before = [user("Go."), call("a", "b"), result("a", "1"), result("b", "2")]
    verification = verify(before, [before[0], before[1], before[3], before[2]])
    assert (verification.mispaired, verification.broken, len(verification.reordered)) == (
        (),
        None,
        1,
    )


def test_messages_out_of_order_are_named() -> None:
    """A moved message counts as reordered, not as lost or new."""
    verification = verify(HISTORY, [HISTORY[0], HISTORY[1], HISTORY[8], *HISTORY[4:8]])
    assert (verification.reordered, verification.pinned_lost, verification.invented) == (
        (2,),
        (),
        (),
    )
    assert str(verification) == "not ok: out of order after[2]; kept 6 of 9 messages"


def test_a_pinned_message_out_of_order_is_moved_and_not_lost() -> None:
    """System and task in the wrong order are both there."""
    verification = verify(HISTORY, [HISTORY[1], HISTORY[0], *HISTORY[2:]])
    assert (
        len(verification.reordered),
        verification.pinned_lost,
        verification.invented,
        verification.ok,
    ) == (1, (), (), False)


def test_an_edited_task_is_lost() -> None:
    """A task that was changed by one letter is gone, and the other text is new."""
    verification = verify(HISTORY, [HISTORY[0], user("Book a night train!"), *HISTORY[2:]])
    assert (verification.pinned_lost, verification.invented, verification.ok) == ((1,), (1,), False)


def test_a_task_said_again_later_is_no_task_kept() -> None:
    """A later message with the task's text counts as the task only if nothing else can."""
    before = [user("go on"), assistant("1"), user("go on"), assistant("2")]
    assert verify(before, before[1:]).pinned_lost == (0,)
    assert verify(before, before[2:]).pinned_lost == ()


def test_a_message_kept_twice_is_new_once() -> None:
    """There is one more than there was."""
    verification = verify(HISTORY, [*HISTORY, HISTORY[8]])
    assert (len(verification.kept), len(verification.invented), verification.reordered) == (
        9,
        1,
        (),
    )


# --- pins and refusals ----------------------------------------------------------------


def test_all_system_messages_are_pinned_and_the_first_user_message_with_words() -> None:
    """Developer messages are system messages; a user message of results only is no task."""
    results: Message = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}],
    }
    before = [results, {"role": "developer", "content": "a"}, user("b"), system("c"), user("d")]
    assert verify(before, [user("d")]).pinned_lost == (1, 2, 3)


def test_where_nobody_set_a_task_none_is_pinned() -> None:
    """Of a list without system and user messages anything may go."""
    assert verify([assistant("1"), assistant("2")], [assistant("2")]).ok


def test_a_broken_before_is_judged_by_what_became_of_it() -> None:
    """A history that was invalid may come out valid; only `after` is judged."""
    assert verify([*HISTORY[:2], result("orphan", "x")], HISTORY[:2]).ok
    assert not verify(
        [*HISTORY[:2], result("orphan", "x")], [*HISTORY[:2], result("orphan", "x")]
    ).ok


# --- matching -------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=9),
    st.lists(st.sampled_from("abcdefgh"), max_size=9),
)
def test_what_is_matched_is_equal_and_in_order(before: list[str], after: list[str]) -> None:
    """No entry is matched twice, or by another one."""
    found = found_in_order(before, after)
    assert list(found.items()) == sorted(found.items())
    assert list(found.values()) == sorted(set(found.values()))
    assert all(after[new] == before[old] for new, old in found.items())


def test_whatever_is_left_of_a_list_is_matched() -> None:
    """All of every shorter list is matched, if nothing was moved; what is new beside it is not."""
    for length in range(7):
        for letters in product("abc", repeat=length):
            for left in range(length + 1):
                for after in combinations(letters, left):
                    assert [*found_in_order(letters, after)] == [*range(left)]
                    assert [*found_in_order(letters, [*after, "new"])] == [*range(left)]
