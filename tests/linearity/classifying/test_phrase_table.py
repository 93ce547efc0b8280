"""A table of phrases is text that anybody can write: what its signs mean, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import InvalidOptionError, ResourceClass
from polycontext.linearity.classifying.classifier import ClassifierByConstraints
from polycontext.linearity.classifying.constraints import ConstraintRule, default_rule
from polycontext.linearity.classifying.phrase import tokens_of
from polycontext.linearity.classifying.phrase_table import OWN, own_tables, read_table

DUTCH = """
# Dutch
opener: en; alsjeblieft
asking: kun je
polite: alsjeblieft
verb: antwoord; schrijf;
    vraag
tongue: Nederlands; engels
common: ik; je; in; het; me; voor
rule: nooit; vanaf nu
idiom: nooit gedacht
hint: ^ {verb} ~ in {tongue}; ^ {verb} … voor *en; < max #; dit {!keer} $
wish: ^ ik haat
tale: gisteren
task: nog even
report: hij zegt
self: ik
address: je; me
"""


def states(table: str, sentence: str, *, asks: bool = False, narrates: bool = False) -> bool:
    """Tell what a table says of a sentence."""
    return read_table(table).states(sentence, tokens_of(sentence), asks=asks, narrates=narrates)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Nooit meer doen", True),
        ("Ik had het nooit gedacht", False),
        ("Hij zegt nooit iets", False),
        ("Antwoord me in engels", True),
        ("En antwoord me in engels", True),
        ("Dus antwoord me in engels", False),
        ("Vraag me alles, maar wel voor verzenden", True),
        ("Vraag me alles voor vandaag", False),
        ("Schrijf nog even in het engels", False),
        ("Antwoord me gisteren in engels", False),
        ("Antwoord in een heel lang stuk engels", False),
        ("Max 3 in het boek", True),
        ("Max drie in het boek", False),
        ("Nou max 3 in het boek", False),
        ("Ik wil dit nu, me", True),
        ("Ik wil dit keer, me", False),
        ("Schrijf engels", False),
        ("Ik haat ui", True),
    ],
)
def test_signs_mean_what_they_say(sentence: str, expected: bool) -> None:
    """Beginnings, ends, gaps, numbers, endings, lists, other words and what excuses a phrase."""
    assert states(DUTCH.replace("Nederlands", "nederlands"), sentence) is expected


def test_a_hint_needs_a_word_that_tells_the_language() -> None:
    """Words that other languages share are no proof; a rule needs none."""
    assert not states("common: ik\nhint: max #\nrule: nooit", "max 3 people")
    assert states("common: ik\nhint: max #\nrule: nooit", "ik wil max 3")
    assert states("common: ik\nhint: max #\nrule: nooit", "nooit")


def test_a_question_states_only_as_a_polite_order_or_a_wish() -> None:
    """Somebody asks, or orders politely, or says what he likes before asking."""
    assert not states(DUTCH, "Nooit meer?", asks=True)
    assert states(DUTCH, "Kun je nooit roepen?", asks=True)
    assert states(DUTCH, "Nooit meer, alsjeblieft?", asks=True)
    assert states(DUTCH, "Ik haat ui, wat dan?", asks=True)


def test_a_story_states_nothing_by_a_hint_of_its_teller() -> None:
    """In a long text a wish is none, and a hint with `self` and without `address` neither; a rule stands."""
    assert not states(DUTCH, "Ik haat ui", narrates=True)
    assert not states(DUTCH, "Ik zei: antwoord in engels", narrates=True)
    assert states(DUTCH, "Ik zei: antwoord je in engels", narrates=True)
    assert states(DUTCH, "Ik zeg nooit", narrates=True)


def test_a_language_without_spaces_is_read_by_substrings() -> None:
    """Runs follow each other, `^` and `$` stand at the edges of a clause, openers aside."""
    table = "spaces: no\nopener: 那\nthing: 回答; 文件\nhint: {thing} … 短; ^别; 好$\nrule: 必须\nidiom: 不必须\ncommon: 的\npolite: 请"
    assert states(table, "你的回答要短。")
    assert not states(table, "短的回答。")
    assert states(table, "好的，那别动。")
    assert not states(table, "那，特别的。")
    assert states(table, "必须好的。")
    assert not states(table, "必须。")
    asked = f"{table}\nquestion: 吗$"
    assert states(asked, "必须好的。")
    assert not states(asked, "必须好的吗。")
    assert states(asked, "请必须好的吗。")
    assert not states(table, "不必须。")
    assert not states(table, "必须的吗？", asks=True)
    assert states(table, "请必须的吗？", asks=True)
    assert not states(table, "must", asks=False)


@pytest.mark.parametrize(
    "table", ["no colon here", "two words: x", " begins with a space: x", "rule: {nobody}", "rule: ^ ~ $", "spaces: no\nrule: {nobody}"]
)
def test_what_is_no_table_is_refused(table: str) -> None:
    """The error names the line, the list or the phrase."""
    with pytest.raises(InvalidOptionError, match="table"):
        read_table(table)


def test_a_rule_of_your_own_classifies() -> None:
    """More tables make another rule, and it gives a classifier; the default one stays what it was."""
    rule = default_rule().with_tables(DUTCH)
    classify = ClassifierByConstraints(rule)
    assert classify("user", "Nooit vergeten.", {}) is ResourceClass.PRESERVED
    assert classify("user", "Never push.", {}) is ResourceClass.PRESERVED
    assert classify("assistant", "Nooit vergeten.", {}) is ResourceClass.REQUIRED
    assert not default_rule().states("Nooit vergeten.")
    assert ConstraintRule(()).sentences("Never push.") == ()


def test_every_own_table_can_be_read() -> None:
    """Six languages, a file each."""
    assert len(list(own_tables())) == len(OWN) == 6


def test_french_words_part_at_their_apostrophe() -> None:
    """English ones do not."""
    assert tokens_of("Dès qu'une page n'est pas là, don't stop") == [
        "dès",
        "qu'",
        "une",
        "page",
        "n'",
        "est",
        "pas",
        "là",
        ",",
        "don't",
        "stop",
    ]


@given(
    st.lists(
        st.sampled_from(
            ["never", "when", "you", "push", ",", "ask", "me", "i", "prefer", "必须", "keine", "?", ".", "every", "reply", "in"]
        ),
        max_size=30,
    )
)
def test_the_quick_look_never_hides_a_constraint(said: list[str]) -> None:
    """What `may_state` rules out for a text holds for every sentence of it."""
    content = " ".join(said)
    rule = default_rule()
    looked = [table for table in rule.tables if table.may_state(content, {part for word in content.split() for part in [word]})]
    stated = [table for table in rule.tables if table.states(content, tokens_of(content), asks=False, narrates=False)]
    assert [table for table in stated if table not in looked] == []
