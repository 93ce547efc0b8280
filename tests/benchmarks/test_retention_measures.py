"""The measuring code counts correctly: recall, budgets, halves, intervals.

A benchmark that counts wrongly misleads every tuning.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.retention.recall import (
    answers_of,
    evidence_kept,
    needles_of,
    whole_text,
)
from benchmarks.retention.recordings import (
    Message,
    Probe,
    counter,
    half_of,
    load,
    message_tokens,
    pinned,
    request_tokens,
)
from benchmarks.retention.tally import Tally
from polycontext.polynomial import project
from polycontext.window import REQUEST_OVERHEAD, count_turn
from polycontext.window.providers import get_format
from tests.benchmarks.conversations import (
    agent,
    agent_messages,
    monologue,
    monologue_messages,
    write,
)

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # benchmarks are no part of the package


def said(*texts: str) -> list[Message]:
    """Return messages of a user."""
    return [{"role": "user", "content": text} for text in texts]


@pytest.mark.parametrize(
    ("view", "kept"),
    [
        (["the spare key of the cellar is K00X, he said"], True),
        (["note: the spare  key\nof the cellar is   K00X"], True),
        (["K00X K89X K12X"], False),
        (["the key of the attic is K00X"], False),
        (["the spare key of the cellar is", "K00X"], False),
        ([], False),
    ],
)
def test_an_identifier_counts_only_with_what_stood_to_its_left(view: list[str], kept: bool) -> None:
    """An identifier counts as kept only with its lead-in, in one message."""
    messages = said("Hello.", "As told: the spare key of the cellar is K00X, he said.")
    (needle,) = needles_of(Probe("p", 2, needles=("K00X",)), messages)
    assert needle.stands_in(whole_text(said(*view))) is kept


def test_any_earlier_occurrence_will_do_and_what_never_occurred_is_no_needle() -> None:
    """An identifier matches at any earlier place; one that never occurred is no needle.

    Arguments of calls count as places.
    """
    messages = [*said("the cellar key is K00X"), *agent_messages(2), *said("the attic key: K00X")]
    needles = needles_of(Probe("p", 9, needles=("K00X", "GONE", '"shelf": 1')), messages)
    assert [(each.name, len(each.places)) for each in needles] == [("K00X", 3), ('"shelf": 1', 1)]
    assert needles[0].stands_in("he wrote the attic key: K00X")
    assert needles[1].stands_in(whole_text(messages[5:6]))


@given(st.lists(st.text("ab K7\n", max_size=30), max_size=5))
def test_the_messages_themselves_hold_every_needle(texts: list[str]) -> None:
    """Bound recall of a list in itself is 1, whatever stands in it."""
    messages = said(*texts)
    assert all(
        each.stands_in(whole_text(messages))
        for each in needles_of(Probe("p", 5, needles=("K7", "a K")), messages)
    )


@pytest.mark.parametrize(
    ("answers", "texts", "count"),
    [
        (("Tarnburg",), ["in Tarnburg", "x"], 1),
        (("Tarnburg",), ["in TARNBURG"], 1),
        (("Tarnburg",), ["in Tarnburgs"], 0),
        (("Tarnburg",), ["in Tarnburg"] * 3, 1),
        (("Tarnburg",), ["in Tarnburg"] * 4, 0),
        (("35",), ["I am 35"], 0),
        (("35", "thirty five"), ["I am thirty  five"], 1),
        ((), ["x"], 0),
    ],
)
def test_an_answer_is_asked_for_where_it_is_long_and_stands_in_one_to_three_messages(
    answers: tuple[str, ...], texts: list[str], count: int
) -> None:
    """Short answers and those that stand everywhere tell nothing about what was kept."""
    assert len(answers_of(Probe("q", 9, answers=answers), said(*texts), by_word=False)) == count


def test_evidence_is_kept_only_whole() -> None:
    """A message of the evidence that was shortened is not kept."""
    messages = monologue_messages(5)
    probe = Probe("q", 5, evidence=(1, 3))
    assert evidence_kept(probe, messages, messages[1:2]) == (1, 2)
    assert evidence_kept(
        probe, messages, said(messages[1]["content"][:-1], messages[3]["content"])
    ) == (1, 2)


def test_a_message_costs_what_the_house_counts() -> None:
    """Message by message, and the request as a whole as a projection tells it."""
    messages = agent_messages()
    turns = get_format("openai").parse(messages).turns
    assert [message_tokens(message) for message in messages] == [
        count_turn(counter(), turn) for turn in turns
    ]
    projection = project(messages, 400, counter=counter())
    assert request_tokens(projection.messages) == projection.tokens_after
    assert request_tokens(messages) == projection.tokens_before


def test_a_task_is_kept_whole_in_an_agents_budget_and_not_in_a_dialogues() -> None:
    """M = system + first user message + share of the rest, or share of all."""
    one, other = agent(), monologue()
    task = REQUEST_OVERHEAD + sum(one.tokens[:2])
    assert one.budget(len(one.messages), 0.25) == task + int(0.25 * sum(one.tokens[2:]))
    assert one.budget(2, 0.1) == task
    assert other.budget(12, 0.5) == REQUEST_OVERHEAD + int(0.5 * sum(other.tokens))
    assert pinned(one.messages) == {0, 1}
    assert pinned(other.messages) == {0}


def test_the_halves_are_halves(tmp_path: Path) -> None:
    """The two halves are disjoint, complete and similar in size, and the assignment is stable."""
    write(tmp_path, "tau_airline_gpt4o", *map(agent, range(40)))
    halves = {
        half: {each.id for each in load("tau", half, folder=tmp_path)}
        for half in ("tuning", "unseen", "all")
    }
    assert halves["tuning"] | halves["unseen"] == halves["all"]
    assert not halves["tuning"] & halves["unseen"]
    assert min(len(halves["tuning"]), len(halves["unseen"])) > 10
    assert [half_of(f"agent-{number}") for number in range(4)] == [
        "unseen",
        "unseen",
        "unseen",
        "tuning",
    ]


def test_a_tally_knows_its_interval() -> None:
    """A tally returns the share of all chances and an interval.

    The interval is narrow if the conversations agree, and wide if they do not.
    """
    alike, apart = Tally(), Tally()
    for number in range(20):
        alike.add(f"c{number}", 5, 10)
        apart.add(f"c{number}", 10 * (number % 2), 10)
    assert alike.share == apart.share == 0.5
    assert alike.interval() == (0.5, 0.5)
    low, high = apart.interval() or (1.0, 0.0)
    assert 0.2 < low < 0.4
    assert 0.6 < high < 0.8
    assert apart.interval() == (low, high)
    assert Tally().share is None
    assert Tally().interval() is None
