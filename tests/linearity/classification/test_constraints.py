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


PUSH = "Never push."
LIST = ["You must follow these rules:", "- be brief", "- metric units", "1. no emoji"]
LISTED = "\n".join(LIST)
TASK = "Write a function that takes a string of brackets and returns the deepest level of nesting."
CASE = "Names are in lower case."
NUMBER = "Output only the number."
QUOTED: dict[str, tuple[str, list[str]]] = {
    "those that state something, in order": (
        "Hi! Never ask. How are you?\nNever push. Bye.",
        ["Never ask.", PUSH],
    ),
    "each once, whatever its capitals and signs": (
        "Never push. NEVER push! Hello. never push",
        [PUSH],
    ),
    "a list that one of them announces": (f"{LISTED}\nThe weather is nice.\n- a later list", LIST),
    "no other list": ("- an item\nNever push.\n- an item\nShopping:\n- milk", [PUSH]),
    "no part of a quotation": ('He wrote "It works. Never touch it. Bye." and left.', []),
    "no output": ("<output>\nYou must not stop.\n</output>\nNever push.", [PUSH]),
    "no output on a line": ("<output>You must not stop.</output>", []),
    "the user's own element": ("<rules>\nNever push.\n</rules>", [PUSH]),
    "no numbered lines of a file": ("29:always import it\n330\tNever call it.", []),
    "a condition of all that follows": (f"We start a new project today. {CASE}", [CASE]),
    "none of a task": (f"{TASK} {CASE}", []),
    "a form of all answers": (f"We start a new project today. {NUMBER}", [NUMBER]),
    "none of one answer": (f"{TASK} {NUMBER}", []),
}


@pytest.mark.parametrize("name", QUOTED)
def test_which_sentences_are_quoted(name: str) -> None:
    """What is quoted of a text, and what is not."""
    content, expected = QUOTED[name]
    assert constraint_sentences(content) == tuple(expected)


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
