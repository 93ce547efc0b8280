"""A node's context stays within its budget, keeps its headings and loses nothing pinned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import ResourceClass
from polycontext.nodes import build_think_context
from polycontext.nodes.builders import Section, build_context
from polycontext.nodes.builders.budget import NodeBudgetError, fit
from polycontext.nodes.builders.standard_nodes import REPLY, THINK
from polycontext.nodes.prompt_text import Entry
from polycontext.polynomial import ContextSession
from polycontext.testing import FAST
from polycontext.testing.strategies import PROSE
from polycontext.window import default_counter
from tests.nodes.builders.material import lived
from tests.nodes.moments import now_of

ENTRIES = st.lists(
    st.builds(Entry, PROSE, st.just("") | PROSE, st.sampled_from(ResourceClass)), max_size=10
)
SECTIONS = st.dictionaries(st.sampled_from(Section), ENTRIES)


@given(SECTIONS, st.integers(60, 900))
def test_pinned_entries_stay_word_for_word_and_in_order(
    sections: dict[Section, list[Entry]], budget: int
) -> None:
    """PRESERVED entries are kept verbatim and in order in their section, at any budget."""
    try:
        text, _ = fit("critic", sections, "Say it.", budget, FAST)
    except NodeBudgetError:
        return
    for section, following in zip(
        Section, [*(f"## {each}" for each in list(Section)[1:]), "---"], strict=True
    ):
        body = text.split(f"## {section}\n", 1)[1].split(f"\n{following}", 1)[0]
        for entry in sections.get(section, []):
            if entry.resource_class is ResourceClass.PRESERVED:
                _, stands, body = body.partition(entry.text)
                assert stands == entry.text, "it stands behind the one before"


def test_what_may_go_goes_before_what_may_shrink() -> None:
    """DROPPABLE entries leave first; then REQUIRED ones are shortened, the first one first."""
    droppable = [
        Entry(f"droppable {n} " + "word " * 30, resource_class=ResourceClass.DROPPABLE)
        for n in range(4)
    ]
    required = [Entry(f"required {n} " + "word " * 30, short=f"short {n}") for n in range(6)]
    counter, sections = default_counter(), {Section.ENTITIES: [*droppable, *required]}
    _, whole = fit("critic", sections, "Say it.", 2000, counter)
    less, _ = fit("critic", sections, "Say it.", whole - 120, counter)
    least, _ = fit("critic", sections, "Say it.", 160, counter)
    assert "droppable" not in less
    assert "required 0" in less
    assert "earlier, cut] short 0; short 1" in least
    assert "required 5" in least


def test_a_gist_says_how_many_short_forms_it_leaves_out() -> None:
    """If the short forms do not fit either, the latest are shown and the others counted."""
    entries = [
        Entry(f"entity {n} " + "word " * 40, short=f"a rather long name for entity {n}")
        for n in range(40)
    ]
    text = fit("critic", {Section.ENTITIES: entries}, "Say it.", 140, default_counter())[0]
    assert "more); " in text
    assert "entity 39" in text
    assert "entity 1 " not in text


@pytest.mark.parametrize(
    "said",
    [
        '{"order": 7919, "paid": true}, ' * 400,
        "👩‍👩‍👧" * 900,
        "取消订单并且退款给我" * 200,
        "Please cancel order 12, " * 9,
    ],
)
@pytest.mark.parametrize("earlier", [0, 1])
def test_an_unanswered_message_stands_or_the_least_budget_is_told(said: str, earlier: int) -> None:
    """Whatever it is written in, and whether it is the first, which is preserved as well."""
    session = ContextSession(200_000)
    for _ in range(earlier):
        session.add_user_turn("Hi.")
        session.add_assistant_turn("Hello!")
    session.add_user_turn(said)
    here = now_of(session)
    with pytest.raises(NodeBudgetError) as refusal:
        build_context(REPLY, here, budget=70)
    with pytest.raises(NodeBudgetError):
        build_context(REPLY, here, budget=refusal.value.needed - 1)
    assert refusal.value.needed < 150
    for budget in (refusal.value.needed, 300, 1_000):
        context = build_context(REPLY, here, budget=budget)
        assert context.tokens <= budget
        assert "(not answered yet)" in context.text


def test_critical_additions_are_never_cut() -> None:
    """At the smallest budget Think still gets its skip list, the last outcome and the wishes."""
    here = lived()
    with pytest.raises(NodeBudgetError) as refusal:
        build_context(THINK, here, budget=1)
    text = str(build_context(THINK, here, budget=refusal.value.needed))
    assert "DO NOT re-read: recipe_3" in text
    assert "Last turn: OUTCOME-9" in text
    assert "User expressed: EXPRESSED-NOW" in text
    assert "SAID-1 " not in text


def test_how_long_an_entity_stays_active_is_the_callers_choice() -> None:
    """With nine active turns, what was read in the first of ten is still among the active."""
    here = lived()
    assert "recipe_2" not in str(build_think_context(here))
    assert "recipe_2" in str(build_think_context(here, active_turns=9))
