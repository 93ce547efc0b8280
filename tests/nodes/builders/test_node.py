"""An invalid node declaration is refused when it is made, and shorthand forms are accepted."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.nodes import ConversationContext, Now
from polycontext.nodes.builders import Addition, Node, NodeContext, Section, build_context
from polycontext.nodes.builders.standard_nodes import NODES
from polycontext.nodes.history import exchange_of
from polycontext.nodes.memory.current_exchange import CurrentTurn, close_exchange
from polycontext.polynomial import ContextSession
from polycontext.window import Turn
from tests.nodes.builders.material import lived

BAD: Any = ["be kind"]


def build(node: Node, turn: CurrentTurn | None = None) -> NodeContext:
    """Build what a node reads at the beginning of a conversation."""
    return build_context(node, Now(ContextSession(1000).output, turn=turn or CurrentTurn(1)))


@pytest.mark.parametrize(
    ("declare", "problem"),
    [
        (
            lambda: Node("critic", "Judge.", conversation={"recnt"}),
            "unknown 'recnt'. Use recent, summary",
        ),
        (
            lambda: Node("critic", "Judge.", reasoning={"step"}),
            "unknown 'step'. Use earlier, steps",
        ),
        (
            lambda: Node("critic", "Judge.", "all"),
            "^mode = 'all'. Use full, refs_and_labels, labels_only, reply, do_not_read, ",
        ),
        (lambda: Node("critic", "Judge.", additions=BAD), "additions: str is not a Addition"),
        (
            lambda: Node("critic", "Judge.", budget=0),
            "budget: 0 is not a valid number. Use a whole number from 1",
        ),
        (
            lambda: Addition("kind", "Entities", lambda _: ()),
            "section: unknown 'Entities'. Use Entity Context",
        ),
    ],
)
def test_what_is_no_declaration_is_refused_at_once(
    declare: Callable[[], Any], problem: str
) -> None:
    """Not when the first context is built, turns later."""
    with pytest.raises((InvalidDataError, InvalidOptionError), match=problem):
        declare()


def test_an_addition_may_write_one_text_and_blank_ones_are_left_out() -> None:
    """A text is one entry, not one a letter; where nothing is said no heading stands."""
    one = Addition("kind", Section.ENTITIES, lambda _: "Be kind.")
    none = Addition("mute", Section.CONVERSATION, lambda _: ("", " "))
    text = str(build(Node("critic", "Judge.", additions=(one, none))))
    assert "## Entity Context\n### Critical\nBe kind.\n\n" in text
    assert "## Conversation History\n(nothing yet)\n" in text


@pytest.mark.parametrize("name", NODES)
def test_long_words_of_a_model_take_no_room_that_others_need(name: str) -> None:
    """Very long outcomes, notes and reasons are shortened so that no node exceeds its budget."""
    here, long = lived(), "The soup needs leeks. " * 3000
    turn = here.turn.step("read", "recipes", "Find", outcome=long, note=long).block(long)
    assert build_context(NODES[name], evolve(here, turn=turn)).tokens <= NODES[name].budget
    conversation = close_exchange(here.conversation, turn, exchange_of(here.asked, "Found it."))
    after = evolve(here, conversation=conversation, turn=CurrentTurn(11), asked=())
    assert build_context(NODES[name], after).tokens <= NODES[name].budget


def test_a_node_reads_the_question_from_the_machines_output() -> None:
    """What is asked is in the output; passing it again only overrides it."""
    session = ContextSession(1000)
    session.add_user_turn("Which hall?")
    session.add_assistant_turn("Hall C.")
    session.add_user_turn("For how many?")
    session.add_user_turn("For 40 drums, I mean.")
    now = Now(session.output, ConversationContext(), CurrentTurn(2))
    text = build_context(NODES["understand"], now).text
    assert "For how many?" in text
    assert "For 40 drums, I mean." in text
    given = (Turn("user", "Something else."),)
    other = build_context(NODES["understand"], evolve(now, asked=given)).text
    assert "Something else." in other
    assert "40 drums" not in other
    session.add_assistant_turn("Hall D.")
    assert Now(session.output).asked == ()
