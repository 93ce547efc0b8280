"""A table of phrases is text that anybody can write: what its signs mean, and what is refused."""

import pytest

from polycontext.base import InvalidOptionError
from polycontext.linearity import ResourceClass, constraint_sentences
from polycontext.linearity.classification.classifier import ClassifierByConstraints
from polycontext.linearity.classification.constraints import ConstraintRule, default_rule
from polycontext.linearity.classification.model import Model, own_model
from polycontext.linearity.classification.phrases import (
    LANGUAGES,
    own_lists,
    read_table,
    words_of,
)

DUTCH = """
# Dutch
opener: en; alsjeblieft; kun je
joining: maar
verb: antwoord; schrijf;
    vraag
tongue: nederlands; engels
rule: ^ nooit {verb}; < vanaf nu
order: ^ {verb} ~ in {tongue}; ^ {verb} … voor *en; < max #; dit {!keer} $
once: nog even
note: ^ ik haat
told: hij zegt
"""


def kinds(table: str, sentence: str) -> str:
    """Return the kinds of phrases that a table finds in a sentence."""
    return " ".join(sorted(read_table(table).kinds_of(words_of(sentence))))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Nooit schrijf ik", "rule"),
        ("Ik zal nooit schrijf", ""),
        ("Ja, maar nooit schrijf", "rule"),
        ("Ja maar nooit schrijf", "rule"),
        ("Ja en nooit schrijf", ""),
        ("Vanaf nu dus", "rule"),
        ("Nou, vanaf nu dus", ""),
        ("Hij zegt: nooit schrijf", "rule told"),
        ("Antwoord me in engels", "order"),
        ("En antwoord me in engels", "order"),
        ("Dus antwoord me in engels", ""),
        ("Antwoord in een heel lang stuk engels", ""),
        ("Vraag me alles, maar wel voor verzenden", "order"),
        ("Vraag me alles voor vandaag", ""),
        ("Schrijf nog even in engels", "once order"),
        ("Nooit schrijf, nog even niet", "once rule"),
        ("Max 3 personen", "order"),
        ("Max drie personen", ""),
        ("Ik wil dit nu, me", "order"),
        ("Ik wil dit keer, me", ""),
        ("Ik haat ui", "note"),
        ("Ik haat ui, vanaf nu", "note"),
    ],
)
def test_signs_mean_what_they_say(sentence: str, expected: str) -> None:
    """Beginnings, ends, gaps, numbers, endings, lists, other words, and what excuses a phrase."""
    assert kinds(DUTCH, sentence) == expected


def test_a_polite_question_opens_a_clause() -> None:
    """What asks for something may stand before an order."""
    assert kinds(DUTCH, "Kun je nooit schrijf?") == "rule"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("你的回答要短。", "order"),
        ("短的回答。", ""),
        ("好的，那别动。", "order"),
        ("必须。", "rule"),
        ("他说必须。", "rule told"),
        ("别动，现在。", "once order"),
        ("至多3个。", "order"),
        ("这样好。", "order"),
        ("好这样。", ""),
        ("must", ""),
    ],
)
def test_a_script_without_spaces_is_read_by_its_characters(sentence: str, expected: str) -> None:
    """Signs stand for the same."""
    table = (
        "opener: 那\nthing: 回答; 文件\norder: {thing} … 短; ^别; 好$; "
        "至多#\nrule: 必须\ntold: 他说\nonce: 现在"
    )
    assert kinds(table, sentence) == expected


@pytest.mark.parametrize(
    "table",
    [
        "no colon here",
        "two words: x",
        " begins with a space: x",
        "rule: {nobody}",
        "rule: ^ ~ $",
        "rule: ^ *en",
        "verb: schrijf*\nrule: {verb}",
    ],
)
def test_what_is_no_table_is_refused(table: str) -> None:
    """The error names the line, the list or the phrase."""
    with pytest.raises(InvalidOptionError, match="table"):
        read_table(table)


def test_a_rule_of_your_own_classifies() -> None:
    """Adding tables makes a new rule with its own classifier, and the default rule stays."""
    rule = default_rule().with_tables(DUTCH)
    classify = ClassifierByConstraints(rule)
    assert classify("user", "Nooit schrijf.", {}) is ResourceClass.PRESERVED
    assert classify("user", "Never push.", {}) is ResourceClass.PRESERVED
    assert classify("assistant", "Nooit schrijf.", {}) is ResourceClass.REQUIRED
    assert not default_rule().states("Nooit schrijf.")
    assert ConstraintRule(Model(own_model().words, {})).sentences("Never push.") == ()


def test_every_own_table_can_be_read() -> None:
    """Six languages, a file each."""
    assert all(own_lists(language)["rule"] for language in LANGUAGES)
    assert default_rule().model.table.phrases


def test_french_words_part_at_their_apostrophe() -> None:
    """English ones do not."""
    said = ["dès", "qu'", "une", "page", "n'", "est", "pas", "là", ",", "don't", "stop"]
    assert words_of("Dès qu'une page n’est pas là, don't stop") == said


def test_a_title_ends_no_sentence() -> None:
    """The name that follows belongs to it."""
    assert constraint_sentences("Never call Dr. Weber at home.") == (
        "Never call Dr. Weber at home.",
    )


def test_the_name_of_a_speaker_is_no_part_of_a_sentence() -> None:
    """A speaker's name before a colon is not part of the sentence.

    In minutes, speakers give each other orders, so only a lasting order counts.
    """
    assert constraint_sentences("Project Manager: don't delete a slide.") == ()
    assert constraint_sentences("House Rules: no force pushes.") == (
        "House Rules: no force pushes.",
    )
    assert constraint_sentences("Project Manager: never delete a slide.") == (
        "Project Manager: never delete a slide.",
    )
