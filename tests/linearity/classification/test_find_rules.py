"""A found rule is a place in the text, with its kind and its scope."""

from collections.abc import Iterator

import pytest

from polycontext.linearity.classification import RuleKind, constraints, find_rules
from polycontext.polynomial import ContextSession

WRAPPED = "When you have finished the work on the parser you must\r\n  never commit untested code."


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Hi! You must not delete files. Bye.", "You must not delete files."),
        ("```\nNever push.\n```\nOk.\n  Never push.", "Never push."),
        (f"Hi.\n{WRAPPED}\nBye.", WRAPPED),
        ("> Never push.\n\n- Never push.\n", "- Never push."),
    ],
)
def test_a_rule_is_a_place_in_the_text(content: str, expected: str) -> None:
    """It is the last occurrence here: the earlier ones are code or a quotation."""
    (rule,) = find_rules(content)
    assert rule.text == content[rule.start : rule.end] == expected
    assert rule.start == content.rindex(expected)
    assert rule.kind is RuleKind.INSTRUCTION


@pytest.mark.parametrize(
    ("content", "scope"),
    [
        ("Never push.", ""),
        ("From now on, never push.", "From now on"),
        ("Never push until I say otherwise.", "until I say otherwise"),
        ("Always run the tests before you push, please.", "before you push"),
    ],
)
def test_a_rule_has_the_scope_that_its_sentence_states(content: str, scope: str) -> None:
    """A clause of time or a condition, without what follows it."""
    (rule,) = find_rules(content)
    assert rule.scope == scope


def test_an_item_of_a_list_has_its_heading_as_scope() -> None:
    """The heading is a rule of its own."""
    heading, item = find_rules("You must follow these rules:\n- be brief\n")
    assert (heading.scope, item.text, item.scope) == ("", "- be brief", heading.text)


@pytest.mark.parametrize(
    "heading", ["- Never touch:", "1. You must never touch:", "   - Never touch:"]
)
def test_a_heading_in_a_list_announces_the_items_below_it(heading: str) -> None:
    """The items of its own list are not under it; bullets under a number need no indentation."""
    item = "    - the roof" if heading[0] in " -" else "- the roof"
    below = "1. the doors" if heading[0] == "1" else "- the doors"
    rules = find_rules(f"{heading}\n{item}\n{below}\n{item}s\n")
    assert [rule.text for rule in rules] == [heading.strip(), "- the roof"]


@pytest.mark.parametrize("gap", [" ", "\n"])
def test_a_scope_that_ends_with_a_full_stop_belongs_to_the_rule_after_it(gap: str) -> None:
    """People do not always write a comma."""
    said = f"For the rest of this session.{gap}always search the web before you answer, please."
    (rule,) = find_rules(f"Hello. {said} Thanks!")
    assert rule.text == said
    assert rule.scope == "For the rest of this session"


def test_a_long_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write asks for the rules of a message several times, however long it is."""
    read = list[str]()

    def counted(content: str) -> Iterator[constraints.FoundRule]:
        read.append(content)
        return stated(content)

    stated = constraints._stated
    monkeypatch.setattr(constraints, "_stated", counted)
    text = "Read these rows.\n" + "one,two,three\n" * 500
    assert find_rules(text) == find_rules(text) == ()
    session = ContextSession(3_000)
    session.add_user_turn("Begin.")
    session.add_assistant_turn("Yes?")
    session.add_user_turn(text * 4, oversize="truncate")
    assert read.count(text) == read.count(text * 4) == 1
