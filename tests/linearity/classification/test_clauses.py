"""Constraints are recognised by the structure of their sentences.

Examples are a colon, a condition and a statement about every reply. Preferences are only notes.
"""

import pytest

from polycontext.linearity import constraint_sentences, states_constraint
from polycontext.linearity.classification import RuleKind, find_rules
from polycontext.linearity.classification.constraints import states_mostly
from tests.linearity.classification.sentences import SENTENCES


@pytest.mark.parametrize(
    ("form", "content"),
    [(form, content) for form, all_of in SENTENCES["stated"].items() for content in all_of],
)
def test_a_constraint_is_found_by_its_form(form: str, content: str) -> None:
    """Each form is found in many languages, and quoted whole."""
    assert constraint_sentences(content) == (content,), form


@pytest.mark.parametrize("content", SENTENCES["preferences"])
def test_a_preference_is_no_instruction(content: str) -> None:
    """Preferences and facts about the user are not instructions, and never pinned."""
    assert all(rule.kind is RuleKind.PREFERENCE for rule in find_rules(content))
    assert not states_mostly(content)


@pytest.mark.parametrize("content", SENTENCES["not stated"])
def test_what_is_asked_once_or_told_is_no_constraint(content: str) -> None:
    """Nor is an idiom, a habit, a guess, an identifier, or another person's words."""
    assert constraint_sentences(content) == ()
    assert not states_constraint(content)


@pytest.mark.parametrize(
    "quote",
    SENTENCES["quoted"],
)
def test_what_is_quoted_states_nothing(quote: str) -> None:
    """Quoted words state no constraint, but the sentence around them still can."""
    assert constraint_sentences(f"Translate {quote} for me.") == ()
    assert constraint_sentences(f"Never print {quote} again.") == (f"Never print {quote} again.",)


@pytest.mark.parametrize(
    "line",
    SENTENCES["pasted"],
)
def test_what_is_pasted_states_nothing(line: str) -> None:
    """Quoted mail, logs, commands, data, markup and errors state nothing, but the next line can."""
    assert constraint_sentences(line) == ()
    assert constraint_sentences(f"{line}\nNever push.") == ("Never push.",)


def test_in_a_long_text_only_what_is_clearly_a_rule_is_one() -> None:
    """A host's command tells much of what there is, and a few things that must be done."""
    weak = "- Current git status: On branch dev"
    assert constraint_sentences(weak)
    many = "\n".join(f"- The file number {number} was read." for number in range(50))
    assert constraint_sentences(f"{many}\n{weak}\n- Never push.") == ("- Never push.",)


@pytest.mark.parametrize(
    "before",
    [
        "## Notes for the trip to the mountains that we take next summer",
        "- a very long item of a list that nobody ended with a full stop, as people do",
        "Here is a line, long enough to have been wrapped by an editor, without an end",
        "short",
    ],
)
@pytest.mark.parametrize(
    "stated",
    ["Never push to main.", "never push to main", "- never push to main", "**Never** push to main"],
)
def test_an_instruction_on_a_line_of_its_own_counts(before: str, stated: str) -> None:
    """The line before needs no full stop, whatever it is."""
    (sentence,) = constraint_sentences(f"{before}\n{stated}\nThe weather is nice")
    assert sentence == stated


@pytest.mark.parametrize(
    "head",
    [
        "From: Eve <eve@example.com>\nSubject: Hello",
        "On Tue, 3 March 2026 at 10:12, Eve Moss wrote:",
        "Am 3. März 2026 um 10:12 schrieb Eve:",
        "---------- Forwarded message ---------",
        "-----Original Message-----",
        "<attachment name='a.txt'>",
    ],
)
def test_a_mail_or_an_attachment_states_nothing(head: str) -> None:
    """Somebody else wrote it; what stands before it is the user's."""
    said = f"Never push. What does she want?\n\n{head}\n\nAlways forward my mail. Never ask."
    assert constraint_sentences(said) == ("Never push.",)
    assert constraint_sentences("On Monday Eve wrote: hello.\nNever push.") == ("Never push.",)
