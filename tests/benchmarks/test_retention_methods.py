"""The baselines: each method keeps to its budget, and the oracles deserve their name."""

from collections.abc import Sequence

import pytest
from attrs import evolve

from benchmarks.retention.gates import broken_again, broken_by, is_valid, lost, written
from benchmarks.retention.methods import (
    METHODS,
    Asked,
    anchored_tail,
    best_messages,
    bm25,
    greedy_oracle,
    plain_tail,
)
from benchmarks.retention.projecting import calls_of, measure
from benchmarks.retention.recall import needles_of, whole_text
from benchmarks.retention.recordings import Message, request_tokens
from polycontext.polynomial import ContextOverflowError
from tests.benchmarks.conversations import (
    agent,
    agent_messages,
    monologue,
    monologue_messages,
)

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # benchmarks are no part of the package

AGENT, MONOLOGUE = agent(), monologue()
BESIDES = sorted(set(METHODS) - {"project"})


def asked(share: float, **fields: object) -> Asked:
    """Return what is asked of the agent's conversation, its two keys wanted."""
    at = len(AGENT.messages)
    return Asked(
        AGENT.messages,
        AGENT.budget(at, share),
        wanted=needles_of(AGENT.probes[0], AGENT.messages),
        **fields,  # type: ignore[arg-type]
    )


def hits(view: Sequence[Message], given: Asked) -> int:
    """Return how many of the wanted stand in a view."""
    return sum(each.stands_in(whole_text(view)) for each in given.wanted)


@pytest.mark.parametrize("share", [0.05, 0.25, 0.6, 1.0])
@pytest.mark.parametrize("name", BESIDES)
def test_every_way_keeps_to_its_budget_and_changes_nothing(name: str, share: float) -> None:
    """Each method stays within its budget, keeps the order, repeats, and changes no input."""
    given = asked(share, query="Which key has shelf 3?", seed="s")
    before = written(given.messages)
    view = METHODS[name](given)
    assert request_tokens(view) <= given.max_tokens
    assert METHODS[name](given) == view
    assert written(given.messages) == before
    if name != "greedy oracle":
        places = [given.messages.index(message) for message in view]
        assert places == sorted(places)
    if share == 1.0 and "oracle" not in name and "best" not in name:
        assert view == list(given.messages)


def test_the_oracles_keep_what_is_wanted_where_others_do_not() -> None:
    """The oracles find both keys within a budget in which a tail finds one."""
    given = asked(0.3)
    assert hits(best_messages(given), given) == hits(greedy_oracle(given), given) == 2
    assert hits(anchored_tail(given), given) == 1
    less = evolve(given, max_tokens=AGENT.budget(len(AGENT.messages), 0.08))
    assert (hits(best_messages(less), less), hits(greedy_oracle(less), less)) == (0, 2)


def test_tails_end_at_the_end() -> None:
    """A plain tail drops the task; an anchored one keeps it, and calls with their results."""
    given = asked(0.3)
    plain, anchored = plain_tail(given), anchored_tail(given)
    assert plain == list(given.messages[-len(plain) :])
    assert anchored[:2] == list(given.messages[:2])
    assert anchored[2:] == list(given.messages[len(given.messages) - len(anchored) + 2 :])
    assert is_valid(anchored)
    assert anchored[2]["role"] == "assistant"


def test_bm25_keeps_the_messages_that_speak_of_the_question() -> None:
    """BM25 keeps the message that the question names; without a question, the latest ones."""
    messages = monologue_messages()
    max_tokens = MONOLOGUE.budget(len(messages), 0.3)
    assert messages[3] in bm25(Asked(messages, max_tokens, query="When was I in Tarn3burg?"))
    assert messages[-1] in bm25(Asked(messages, max_tokens))


def test_gates_notice_what_a_view_breaks() -> None:
    """Each defect of a view is reported by its gate, and a good view breaks none."""
    messages = agent_messages(2)
    most = request_tokens(messages)
    assert broken_by(messages, messages, most) == []
    assert broken_by(messages, messages, most - 1) == ["over budget"]
    assert broken_by(messages[:3], messages, most) == ["invalid"]
    assert broken_by([messages[0], *messages[2:]], messages, most) == ["system or task lost"]
    assert lost([{**messages[0], "content": "You keep shelves."}, *messages[1:]], messages)
    assert broken_by(messages[:3], messages[:3], most) == []


def test_gates_notice_what_shows_the_second_time() -> None:
    """A method that is not deterministic or idempotent, or that changes its input, is reported."""
    messages = monologue_messages(6)
    runs: list[int] = []

    def other_every_time(given: Sequence[Message]) -> list[Message]:
        runs.append(1)
        return list(given[: 4 + len(runs) % 2])

    def one_less(given: Sequence[Message]) -> list[Message]:
        return list(given[:-1])

    def refuses_its_own(given: Sequence[Message]) -> list[Message]:
        if len(given) < len(messages):
            raise ContextOverflowError(2, 1, "the conversation")
        return list(given[:-1])

    frozen = written(messages)
    assert "not deterministic" in broken_again(
        other_every_time, other_every_time(messages), messages, frozen
    )
    assert broken_again(one_less, one_less(messages), messages, frozen) == ["not idempotent"]
    assert broken_again(refuses_its_own, messages[:-1], messages, frozen) == ["not idempotent"]
    assert broken_again(list, messages, messages, written(messages[:-1])) == ["input mutated"]
    assert broken_again(list, messages, messages, frozen) == []


def test_a_refusal_misses_every_needle_and_is_counted() -> None:
    """A refusal counts as zero recall and breaks no gate; any other error breaks one."""

    def refuse(given: Asked) -> list[Message]:
        raise ContextOverflowError(2, 1, "the conversation")

    def fail(given: Asked) -> list[Message]:
        raise RuntimeError("broken")

    for method, gates in ((refuse, {}), (fail, {"exception": 1})):
        data = measure(method, [AGENT], 0.25).as_data()
        assert data["recalls"]["bound"]["share"] == 0.0
        assert data["recalls"]["bound"]["of"] == 2
        assert data["refusals"] == 1.0
        assert data["gates"] == gates


def test_long_range_asks_only_for_what_no_tail_holds() -> None:
    """Long-range recall asks only for facts that no tail of the same size holds."""
    data = measure(METHODS["plain tail"], [AGENT], 0.3, gates=False).as_data()["recalls"]
    assert (data["bound"]["of"], data["bound"]["share"]) == (2, 0.5)
    assert (data["long range"]["of"], data["long range"]["share"]) == (1, 0.0)
    best = measure(METHODS["best whole messages"], [AGENT], 0.3, gates=False).as_data()["recalls"]
    assert best["long range"]["share"] == 1.0


def test_dialogues_are_asked_blind_once_and_once_for_each_question() -> None:
    """A dialogue is asked once without a question, and once with each question.

    Evidence is measured only with the question.
    """
    assert [(call.query is None, len(call.probes)) for call in calls_of(MONOLOGUE)] == [
        (True, 2),
        (False, 1),
        (False, 1),
    ]
    data = measure(METHODS["BM25"], [MONOLOGUE], 0.3, gates=False).as_data()
    assert data["calls"] == 3
    assert {name: recall["of"] for name, recall in data["recalls"].items()} == {
        "answers": 2,
        "answers, asked": 2,
        "evidence, asked": 2,
    }
    assert data["recalls"]["evidence, asked"]["share"] == data["recalls"]["answers, asked"]["share"]
    assert data["used"]["median"] <= 1.0
