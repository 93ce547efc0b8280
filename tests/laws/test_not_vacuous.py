"""The generated inputs really reach the cases that the laws are about.

Cases that generation seldom reaches are tested here by name.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest
from attrs import evolve

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass, default_classifier
from polycontext.nodes.laws import readers
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    ContextOverflowError,
    ContextSession,
    ContextState,
    project,
)
from polycontext.polynomial.laws import hosts as projections
from polycontext.pressure import (
    CompressionResult,
    ContextProjector,
    FixedThreshold,
    Reach,
    pressure_of,
)
from polycontext.pressure.laws import projectors
from polycontext.testing import FAST, Head, all_laws, run_law
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.items import attachment_of
from polycontext.window.providers import Provider, WireFormat, get_format
from polycontext.window.tokens.counter import TURN_OVERHEAD
from tests.pressure.samples import HEAD, calls, extended, opened, result, talk, user, words

pytestmark = pytest.mark.no_cover  # what is looked at is what is drawn

Inputs = Mapping[str, Any]
EXAMPLES = 50
LAWS = {law.name: law for law in all_laws()}


@cache
def drawn(name: str) -> tuple[Inputs, ...]:
    """Return what a law is given, the same in every run."""
    seen: list[Inputs] = []
    run_law(evolve(LAWS[name], check=lambda **inputs: seen.append(inputs)), EXAMPLES)
    return tuple(seen)


def compressed(given: Inputs) -> CompressionResult:
    """Return what compressing the window that was drawn gives."""
    done: CompressionResult = given["projector"].compress(given["window"], given["target"])
    return done


def accepts(act: Callable[[], object]) -> bool:
    """Tell whether nothing is raised."""
    try:
        act()
    except PolycontextError:
        return False
    return True


def states(given: Inputs) -> set[ContextState]:
    """Return the states that the inputs lead a machine through."""
    machine = given["machine"](given["window"], given["policy"])
    seen = set[ContextState]()
    for context_input in given["inputs"]:
        if accepts(lambda: machine.advance(context_input)):  # noqa: B023 - called at once
            seen.add(machine.context_state)
    return seen


def refused(given: Inputs) -> bool:
    """Tell whether the machine refuses one of the inputs."""
    machine = given["machine"](given["window"], given["policy"])
    return not all(
        accepts(lambda: machine.advance(each))  # noqa: B023 - called at once
        for each in given["inputs"]
    )


def projected(given: Inputs) -> bool | None:
    """Tell whether a projection changes what was drawn, None where it is refused."""
    messages = given["wire"].render(given["turns"]).inline()
    try:
        return project(
            messages, given["max_tokens"], provider=given["wire"].provider, counter=given["counter"]
        ).changed
    except ContextOverflowError:
        return None


def has_call(window: ContextWindow) -> bool:
    """Tell whether a tool is called."""
    return any(turn.tool_calls for turn in window.all_turns())


def has_gist(window: ContextWindow) -> bool:
    """Tell whether something was summarised."""
    return any(turn.is_gist for turn in window.all_turns())


SEEN: list[tuple[str, str, Callable[[Inputs], bool]]] = [
    ("promote_raises_or_refuses", "a known id",
     lambda given: given["resource_id"] in given["ledger"]),
    ("promote_raises_or_refuses", "a new id",
     lambda given: given["resource_id"] not in given["ledger"]),
    ("a_constraint_can_be_quoted", "a constraint", lambda given: "never" in given["content"]),
    ("positions_outside_are_refused", "a position outside",
     lambda given: not 0 <= given["position"] <= given["store"].last),
    ("positions_outside_are_refused", "a position inside",
     lambda given: 0 <= given["position"] <= given["store"].last),
    ("append_shows_the_turn", "an open call", lambda given: bool(given["window"].open_calls)),
    ("append_shows_the_turn", "a turn with an id", lambda given: bool(given["turn"].resource_id)),
    ("calls_are_answered_before_anything_else", "a turn that is refused",
     lambda given: not accepts(lambda: given["window"].append(given["turn"]))),
    ("calls_are_answered_before_anything_else", "one that is accepted",
     lambda given: accepts(lambda: given["window"].append(given["turn"]))),
    ("atoms_are_never_split", "calls", lambda given: has_call(given["window"])),
    ("sums_equal_recounting", "gists", lambda given: has_gist(given["window"])),
    ("sums_equal_recounting", "an empty window", lambda given: not len(given["window"])),
    ("reading_undoes_writing", "calls",
     lambda given: any(turn.tool_calls for turn in given["turns"])),
    ("view_order_is_antisymmetric", "equal views",
     lambda given: given["first_view"] == given["second_view"]),
    ("view_order_is_transitive", "a chain",
     lambda given: given["first_view"] <= given["second_view"] <= given["third_view"]),
    ("compressing_is_monotone", "ordered views",
     lambda given: given["first_view"] <= given["second_view"] != given["first_view"]),
    ("compress_undoes_expand", "a compressed view",
     lambda given: given["first_view"] <= given["ceiling"]),
    ("expand_and_compress_are_adjoint", "a compressed view",
     lambda given: given["first_view"] <= given["ceiling"]),
    ("order_is_kept", "gists", lambda given: bool(compressed(given).gisted)),
    ("order_is_kept", "drops", lambda given: bool(compressed(given).dropped)),
    ("order_is_kept", "windows that were compressed before",
     lambda given: has_gist(given["window"])),
    ("order_is_kept", "tools", lambda given: has_call(given["window"])),
    ("compressing_again_changes_nothing", "targets reached",
     lambda given: pressure_of(compressed(given).window)
     <= given["target"] < pressure_of(given["window"])),
    ("promises_are_kept", "gists", lambda given: bool(given["result"].gisted)),
    ("plans_respect_the_class_floors", "jobs", lambda given: bool(given["plan"].jobs)),
    ("chain_falls_strictly", "rungs", lambda given: len(given["ladder"].tokens) > 2),
    ("parallel_is_associative", "moves",
     lambda given: any(given["agent"].directions(position)
     for position in given["agent"].positions)),
    ("merging_keeps_every_turn", "two that say something",
     lambda given: len(given["window"]) > 0 < len(given["other_window"])),
    ("the_state_is_what_the_guards_say", "pressure",
     lambda given: ContextState.PRESSURED in states(given)),
    ("the_state_is_what_the_guards_say", "a compression",
     lambda given: ContextState.COMPRESSED in states(given)),
    ("a_refused_input_changes_nothing", "a refusal", refused),
    ("replaying_the_journal_gives_the_session", "a compression",
     lambda given: has_gist(given["session"].window)),
    ("what_leaves_is_valid", "calls", lambda given: has_call(given["session"].window)),
    ("what_leaves_is_valid", "a request",
     lambda given: accepts(lambda: given["session"].request(given["wire"].provider))),
    ("what_leaves_is_valid", "a refusal",
     lambda given: not accepts(lambda: given["session"].request(given["wire"].provider))),
    ("nothing_private_reaches_props", "an attachment",
     lambda given: any(map(attachment_of, given["session"].window.all_turns()))),
    ("projecting_keeps_what_must_stay", "a list that is cut",
     lambda given: projected(given) is True),
    ("a_projection_is_within_its_budget", "a refusal", lambda given: projected(given) is None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "what", "is_there"),
    SEEN,
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
def test_what_a_law_is_about_is_drawn(
    name: str, what: str, is_there: Callable[[Inputs], bool]
) -> None:
    """Of few examples some hold what the law's condition asks for."""
    assert any(map(is_there, drawn(name))), f"{name} is never given {what}"


# --- by name: what the strategies seldom find -------------------------------------


@pytest.mark.parametrize(
    "wire", [get_format(provider) for provider in Provider], ids=lambda wire: str(wire.provider)
)
def test_a_long_conversation_is_really_cut(wire: WireFormat) -> None:
    """The laws of projection look at something, in every format."""
    said = [
        user("Book a night train to Vienna."),
        *(Turn(Role.ASSISTANT if n % 2 else Role.USER, f"{n}: " + "word " * 30) for n in range(30)),
    ]
    assert project(wire.render(said).inline(), 500, provider=wire.provider, counter=FAST).changed
    projections.a_projection_is_within_its_budget(project, said, 500, wire, FAST)
    projections.projecting_keeps_what_must_stay(project, said, 500, wire, FAST)


def test_a_long_conversation_reaches_the_conditions_of_the_laws() -> None:
    """A long conversation reaches its target and makes every gist, so no law passes vacuously."""
    done = HEAD.compress(extended(opened(1_000), talk(20)), 0.4)
    assert done.reached
    assert done.gisted
    assert {turn.resource_id for job in done.plan.jobs for turn in job.sources} == set(done.gisted)


def test_a_pointer_is_shorter_than_what_it_replaces() -> None:
    """Of two superseded results, the long one becomes a pointer and the short one stays."""
    again = [calls("read", "run"), result(0, "ok", "read"), result(1, words(1, 80), "run")]
    window = extended(opened(2_000), [*again, *talk(8), *again, user("Well?")])
    projector = ContextProjector(Head(), Reach(keep_recent=3))
    target = (window.tokens - 1) / window.max_tokens
    projectors.gists_are_shorter_than_their_sources(projector, window, target)
    assert [job.sources[0].resource_id for job in projector.plan_for(window, target).jobs] == ["t5"]


def test_what_a_format_adds_is_told_before() -> None:
    """Anthropic's stand-ins for empty messages are counted, so a view within budget can be sent."""
    session = ContextSession(60, counter=FAST, auto=False, threshold=FixedThreshold(1.0))
    session.add_user_turn("hello")
    while session.window.tokens < 40:
        session.add_assistant_turn("")
        session.add_user_turn("")
    stand_ins = (len(session.window) - 1) * FAST.count("[empty]")
    assert (
        session.window.tokens
        == len(session.window) * TURN_OVERHEAD + FAST.count("hello") + stand_ins
    )
    for provider in Provider:
        assert session.messages(provider)
    readers.what_leaves_is_valid(session, get_format("anthropic"))


def test_an_empty_window_with_other_rules_is_no_unit() -> None:
    """Merging keeps the classifier of the first window, even when that window is empty."""

    def careful(*_: object) -> ResourceClass:
        return ResourceClass.PRESERVED

    second = ContextWindow(1_000, counter=FAST, classifier=default_classifier).append(
        Turn("user", "hello")
    )
    merge = CONTEXT_OPERAD.operation("merge")
    merged = merge(ContextWindow(1_000, counter=FAST, classifier=careful), second).append(
        Turn("assistant", "hi")
    )
    assert merged.class_of(merged.all_turns()[-1]) is ResourceClass.PRESERVED
