"""Standing constraints are found in many languages and quoted sentence by sentence."""

import pytest

from polycontext.linearity import constraint_sentences, states_constraint
from tests.house import gated


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_code_states_no_constraint(fence: str) -> None:
    """A comment in pasted code is not an order of the user; prose around it is."""
    code = f"{fence}python\n# never call this, you must always retry\n{fence}"
    assert not states_constraint(code)
    assert constraint_sentences(f"Look:\n{code}\nNever call it twice.") == ("Never call it twice.",)
    assert not states_constraint("Traceback:\n    raise ValueError('must be int')")


@pytest.mark.parametrize("times", [1, 4, 40])
@pytest.mark.parametrize("rule", ["Answers should be short.", "Please reply in French only."])
def test_a_rule_in_a_long_text_is_found(rule: str, times: int) -> None:
    """A letter that asks for something in its middle is no document."""
    story = "The north hall was painted in spring. Ann measured the pressure on Monday. " * times
    assert constraint_sentences(f"{story}{rule} {story}") == (rule,)


def test_only_the_stating_sentences_are_quoted() -> None:
    """Of a long turn the gist gets the rules, in order, each once."""
    content = (
        "Hi there! You must not delete files. How are you?\nNever push. You must not delete files. "
        "Bye."
    )
    assert constraint_sentences(content) == ("You must not delete files.", "Never push.")


def test_a_list_that_a_constraint_announces_belongs_to_it() -> None:
    """Rules are often given as list items; what follows the list is not part of it."""
    content = (
        "You must follow these rules:\n- be brief\n- metric units\n1. no emoji\nThe weather is "
        "nice.\n- a later list"
    )
    assert constraint_sentences(content) == (
        "You must follow these rules:",
        "- be brief",
        "- metric units",
        "1. no emoji",
    )


def test_a_list_that_no_constraint_announces_is_left_out() -> None:
    """List items count as rules only after a rule that ends with a colon."""
    content = "- an item\nNever push.\n- an item\nShopping:\n- milk"
    assert constraint_sentences(content) == ("Never push.",)


def test_a_wrapped_constraint_is_quoted_whole() -> None:
    """A sentence over two lines of hard-wrapped text is one sentence."""
    content = (
        "When you have finished the work on the parser you must\nnever commit before the tests "
        "pass."
    )
    assert constraint_sentences(content) == (content.replace("\n", " "),)


@pytest.mark.parametrize(
    "unit",
    gated(
        [
            "never mind ",
            "please ",
            "must? ",
            "```\n",
            "`",
            "'",
            ". ",
            "-a",
            "do not know ",
            "- x\n",
            "你好",
            "。",
            "1. ",
            "\n",
            " e.g. ",
        ],
        "你好",
    ),
)
def test_hostile_repetition_is_read_in_one_pass(unit: str) -> None:
    """A megabyte of repeated text is read in one pass, without backtracking."""
    content = unit * (1_000_000 // len(unit))
    assert not states_constraint(content)
    assert states_constraint(f"Never push.\n{content}")


TASK = "Write a function that takes a string of brackets and returns the deepest level of nesting."


@pytest.mark.parametrize("rule", ["Names are in lower case.", "Output only the number."])
def test_what_stands_before_a_sentence_counts(rule: str) -> None:
    """A condition of a task binds that task; the same words in a conversation bind all of it."""
    assert constraint_sentences(f"We start a new project today. {rule}") == (rule,)
    assert constraint_sentences(f"{TASK} {rule}") == ()
