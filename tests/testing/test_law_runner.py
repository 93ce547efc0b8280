"""Laws run on generated inputs.

Every law has a strategy, a counterexample is shrunk and shown, and a run can be repeated.
"""

import random
from typing import Any

import pytest
from hypothesis import strategies as st

from polycontext.base import Law, LawViolation, UnknownNameError
from polycontext.base.law import agree, holds
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.testing import FAST
from polycontext.testing.display import LONGEST, shown
from polycontext.testing.law_inputs import PARAMETERS, for_parameter
from polycontext.testing.law_runner import ROOMS, all_laws, run_law
from polycontext.window import ContextWindow, Role, ToolCall, Turn
from tests.house import ROOMS as HOUSE
from tests.house import ROOT
from tests.testing import law_subjects

Drawn = list[dict[str, Any]]


def law_of(check: Any, *parameters: str) -> Law:
    """Return a law of this test alone."""
    return Law(check.__name__, "nodes", "A statement.", "here", parameters, check)


def recorded(law: Law, examples: int = 40, **options: Any) -> Drawn:
    """Return what a law is given, example by example."""
    seen: Drawn = []
    verdict = run_law(
        law_of(lambda **inputs: seen.append(inputs), *law.parameters), examples, **options
    )
    assert verdict.ok
    return seen


def refuses_targets_above(least: float) -> Law:
    """Return a law that is false for targets above `least`."""

    def targets_are_low(target: float) -> None:
        holds(target <= least, f"at most {least}", target, target=target)

    return law_of(targets_are_low, "target")


# --- every law can be run ---------------------------------------------------------


def test_every_parameter_of_every_law_has_a_strategy() -> None:
    """Whatever a law takes, `for_parameter` finds how to draw it."""
    assert [
        (law.name, name) for law in all_laws() for name in law.parameters if name not in PARAMETERS
    ] == []


def test_every_law_is_explained_to_its_user() -> None:
    """The page about the laws names every one of them, among what is lost without it."""
    page = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    assert [law.name for law in all_laws() if f"`{law.name}`" not in page] == []


def test_the_laws_of_all_rooms_are_found() -> None:
    """Each room but the lowest and one guest have laws, in order; rooms can be selected."""
    assert ("base", *ROOMS[:-1]) == HOUSE
    assert ROOMS[-1] == "agents"
    assert list(dict.fromkeys(law.room for law in all_laws())) == list(ROOMS)
    assert {law.room for law in all_laws(["nodes", "window"])} == {"window", "nodes"}


def test_an_unknown_parameter_is_refused_with_near_names() -> None:
    """A law of somebody else's, with a parameter that means nothing here, is told what there is."""
    with pytest.raises(UnknownNameError, match="Did you mean 'target' or 'targets'"):
        for_parameter("targt")
    with pytest.raises(UnknownNameError, match="Use machine, policy"):
        run_law(law_of(lambda qqq: None, "qqq"), 3)


# --- verdicts ---------------------------------------------------------------------


def test_a_law_that_holds_is_tried_as_often_as_asked() -> None:
    """The verdict counts its examples, and has nothing against the law."""
    law = law_of(lambda text: None, "text")
    verdict = run_law(law, 17)
    assert (verdict.law, verdict.tried, verdict.ok, verdict.counterexample) == (law, 17, True, None)


def sums_agree(target: float) -> None:
    """Agree on nothing."""
    agree(["left"], {"right": 2}, target=target, place=3)


def divides(target: float) -> None:
    """Raise an error of another kind."""
    assert 1 / target > 0


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (refuses_targets_above(0.4), "0.7 is not at most 0.4; given target = 0.7"),
        (
            law_of(sums_agree, "target"),
            "['left'] is not {'right': 2}; given target = 0.0; place = 3",
        ),
        (
            law_of(divides, "target"),
            "raises ZeroDivisionError: float division by zero; given target = 0.0",
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_broken_law_is_shown_by_the_smallest_inputs(law: Law, said: str) -> None:
    """The counterexample shows the inputs, what the law adds, and both sides or an error."""
    verdict = run_law(law)
    assert not verdict.ok
    assert verdict.tried < 100
    assert str(verdict.counterexample) == said


def test_a_law_that_is_broken_only_now_and_then_is_broken() -> None:
    """A law that fails only once counts as failed."""
    calls: list[int] = []

    def now_and_then(text: str) -> None:
        calls.append(1)
        holds(len(calls) != 5, "steady", "moody")

    verdict = run_law(law_of(now_and_then, "text"))
    assert (verdict.ok, verdict.tried) == (False, 5)
    assert verdict.counterexample is not None
    assert verdict.counterexample.problem == "'moody' is not 'steady'"


def test_a_run_repeats_and_a_seed_draws_others() -> None:
    """Without a seed every run is the same; with one it is the seed's own."""
    law = law_of(print, "content", "target")
    assert recorded(law) == recorded(law)
    assert recorded(law, seed=1) == recorded(law, seed=1)
    assert recorded(law, seed=1) != recorded(law, seed=2)


def test_dice_fall_differently_from_example_to_example() -> None:
    """Random numbers differ between examples and repeat between runs."""
    thrown: list[float] = []
    law = law_of(lambda text: thrown.append(random.random()), "text")  # noqa: S311 - no secrets
    run_law(law, 30)
    run_law(law, 30)
    assert thrown[:30] == thrown[30:]
    assert len(set(thrown)) > 10


def test_progress_is_told_before_every_example() -> None:
    """Progress is reported before every example, with the law and the number tried."""
    seen: list[tuple[str, int]] = []
    run_law(
        law_of(lambda text: None, "text"),
        4,
        progress=lambda law, tried: seen.append((law.name, tried)),
    )
    assert seen == [("<lambda>", tried) for tried in range(4)]


def test_what_is_bound_is_drawn_instead() -> None:
    """A subject stands in the place of the usual inputs; the others are generated."""
    seen = recorded(
        law_of(print, "counter", "text"), bound={"counter": st.just(law_subjects.MinusOne)}
    )
    assert {drawn["counter"] for drawn in seen} == {law_subjects.MinusOne}
    assert len({drawn["text"] for drawn in seen}) > 1


def test_a_subject_whose_inputs_cannot_be_made_has_failed() -> None:
    """If inputs cannot be made for a subject, its law fails; without one an error is raised."""
    broken = st.builds(int, st.just("no number"))
    verdict = run_law(law_of(lambda target: None, "target"), bound={"target": broken})
    assert verdict.counterexample is not None
    assert verdict.counterexample.problem.startswith(
        "no inputs could be made: ValueError: invalid literal"
    )
    with pytest.raises(UnknownNameError):
        run_law(law_of(lambda target: None, "nothing_known"), 3)


# --- how values are shown ---------------------------------------------------------

CALL = Turn(Role.ASSISTANT, None, tool_calls=(ToolCall("c1", "search", "{}"),), resource_id="t2")
WINDOW = (
    ContextWindow(100, counter=FAST)
    .append(Turn(Role.USER, "hi"), ResourceClass.REQUIRED)
    .append(CALL)
)


class Shy:
    """Raise when shown."""

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            WINDOW,
            (
                "a window of 100 tokens at 2 of [t1 user 'hi' REQUIRED, t2 assistant c1=search({}) "
                "REQUIRED]"
            ),
        ),
        (Turn(Role.TOOL, "done", tool_call_id="c1", resource_id="t3"), "t3 tool to c1 'done'"),
        (
            Turn(Role.USER, "gist", sources=("t1", "t2"), resource_id="g1"),
            "g1 user 'gist' for t1, t2",
        ),
        (ContextSession(100), "a session in EMPTY whose view is a window of 100 tokens at 0 of []"),
        ((ResourceClass.REQUIRED, Role.USER), "(ResourceClass.REQUIRED, Role.USER)"),
        (({"b", "a"}, [1], (2,), {"k": b"v"}), "({'a', 'b'}, [1], (2,), {'k': b'v'})"),
        (law_subjects.moody, "tests.testing.law_subjects.moody"),
        (law_subjects.MinusOne(), "a tests.testing.law_subjects.MinusOne"),
        (Shy(), "a tests.testing.test_law_runner.Shy, whose repr raises RuntimeError"),
        (list(range(20)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, and 8 more]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_counterexample_shows_what_is_in_a_value(value: object, text: str) -> None:
    """Windows show their turns, objects no addresses, and no value fills the page."""
    assert shown(value) == text


def test_long_values_are_cut() -> None:
    """A long text is cut and says how long it is; so is whatever holds many."""
    assert shown("x" * 500) == f"'{'x' * 119}… (502 characters)"
    assert len(shown([["y" * 100] * 12] * 12)) == LONGEST


def test_a_violation_is_an_error_of_its_own() -> None:
    """Laws called by hand raise; only the runner makes verdicts of it."""
    with pytest.raises(LawViolation, match="targets_are_low"):
        refuses_targets_above(0.1).check(0.5)
