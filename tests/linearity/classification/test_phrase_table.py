"""A table of phrases is text that anybody can write: what its signs mean, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.linearity import ResourceClass, constraint_sentences
from polycontext.linearity.classification.classifier import ClassifierByConstraints
from polycontext.linearity.classification.constraints import ConstraintRule, default_rule
from polycontext.linearity.classification.phrases import LANGUAGES, read_table, words_of

DUTCH = """
# Dutch
opener: en; alsjeblieft
asking: kun je
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


def kind(table: str, sentence: str, *, asks: bool = False) -> str:
    """Tell what a table says of a sentence."""
    return read_table(table).kind_of(sentence, asks=asks)


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
        ("Hij zegt: nooit schrijf", ""),
        ("Antwoord me in engels", "rule"),
        ("En antwoord me in engels", "rule"),
        ("Dus antwoord me in engels", ""),
        ("Antwoord in een heel lang stuk engels", ""),
        ("Vraag me alles, maar wel voor verzenden", "rule"),
        ("Vraag me alles voor vandaag", ""),
        ("Schrijf nog even in engels", ""),
        ("Nooit schrijf, nog even niet", "rule"),
        ("Max 3 personen", "rule"),
        ("Max drie personen", ""),
        ("Ik wil dit nu, me", "rule"),
        ("Ik wil dit keer, me", ""),
        ("Ik haat ui", "note"),
        ("Ik haat ui, vanaf nu", "note"),
    ],
)
def test_signs_mean_what_they_say(sentence: str, expected: str) -> None:
    """Beginnings, ends, gaps, numbers, endings, lists, other words, and what excuses a phrase."""
    assert kind(DUTCH, sentence) == expected


def test_a_question_states_only_as_a_polite_order_or_a_preference() -> None:
    """Somebody asks, orders politely, or says what they like before asking."""
    assert kind(DUTCH, "Nooit schrijf?", asks=True) == ""
    assert kind(DUTCH, "Kun je nooit schrijf?", asks=True) == "rule"
    assert kind(DUTCH, "Ik haat ui, wat dan?", asks=True) == "note"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("你的回答要短。", "rule"),
        ("短的回答。", ""),
        ("好的，那别动。", "rule"),
        ("必须。", "rule"),
        ("他说必须。", ""),
        ("别动，现在。", ""),
        ("至多3个。", "rule"),
        ("这样好。", "rule"),
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
    assert kind(table, sentence) == expected


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
    assert rule.notes("Ik haat ui. Nooit schrijf. Ik haat ui.") == ("Ik haat ui.",)
    assert not default_rule().states("Nooit schrijf.")
    assert ConstraintRule(()).sentences("Never push.") == ()


def test_every_own_table_can_be_read() -> None:
    """Six languages, a file each."""
    assert len(default_rule().tables) == len(LANGUAGES) == 6


def test_french_words_part_at_their_apostrophe() -> None:
    """English ones do not."""
    said = ["dès", "qu'", "une", "page", "n'", "est", "pas", "là", ",", "don't", "stop"]
    assert words_of("Dès qu'une page n’est pas là, don't stop") == said


@given(
    st.lists(
        st.sampled_from(
            [
                "never",
                "when",
                "you",
                "push",
                ",",
                "ask",
                "me",
                "i",
                "prefer",
                "必须",
                "keine",
                "?",
                ".",
                "every",
                "reply",
                "in",
            ]
        ),
        max_size=30,
    )
)
def test_the_quick_look_never_hides_a_constraint(said: list[str]) -> None:
    """If `may_state` rules out a text, no sentence of that text states anything."""
    content = " ".join(said)
    for table in default_rule().tables:
        assert table.may_state(words_of(content)) or table.kind_of(content) == ""


def test_a_title_ends_no_sentence() -> None:
    """The name that follows belongs to it."""
    assert constraint_sentences("Never call Dr. Weber at home.") == (
        "Never call Dr. Weber at home.",
    )


def test_the_name_of_a_speaker_is_no_part_of_a_sentence() -> None:
    """A speaker's name before a colon is not part of the sentence.

    In minutes, speakers give each other orders, so only a lasting order counts.
    """
    assert constraint_sentences("Project Manager: don't delete a slide. Never sing.") == (
        "Never sing.",
    )
    assert constraint_sentences("House Rules: no force pushes.") == (
        "House Rules: no force pushes.",
    )
    assert constraint_sentences("Project Manager: never delete a slide.") == (
        "Project Manager: never delete a slide.",
    )
