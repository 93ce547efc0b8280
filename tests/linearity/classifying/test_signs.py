"""Signs of many kinds add up to a constraint, and doubts take from them: one list of word classes finds what no list of phrases holds."""

import pytest

from polycontext.linearity import InvalidOptionError, constraint_sentences, states_constraint
from polycontext.linearity.classifying.phrase import tokens_of
from polycontext.linearity.classifying.phrase_table import read_table

TABLE = """
closed: the; it; i
order: < {!closed}
sign_all: every; all
sign_way: only
doubt_definite: < {!closed} {def}
doubt_now: now
def: the; it
question: do; which
hint: keep to
rule: must; ever
foreign: und
"""
LASTING = [
    "Mask account numbers.",
    "Steer clear of motorways.",
    "Varnish only dry boards.",
    "Where a spelling is disputed, quote both readings.",
    "Up to three guests per table.",
    "Nothing longer than a page.",
    "We have exactly 90 minutes, which course would fit?",
    "Could we agree that you never guess?",
    "Halte dich an die Vorlage.",
    "Tiens-toi au plan.",
    "Cíñete al plan.",
    "每次付款失败都要通知我。",
    "どの表にも単位を付けてください。",
]
PASSING = [
    "Varnish the second board again.",
    "Show me all the tables now.",
    "Every time I open the box it squeaks.",
    "The clerk said that guests must not park there.",
    "Nothing changed after the repair.",
    "We were ten at most.",
    "Streich bitte den zweiten Absatz.",
    "Personne n'a répondu au message.",
    "Nadie contestó al mensaje.",
    "我总是忘记密码。",
    "二段落目を消してください。",
]


@pytest.mark.parametrize("content", LASTING)
def test_an_order_of_any_verb_lasts_by_its_signs(content: str) -> None:
    """Plural things, scope, manner, limits and conditions make an order last, whatever its verb."""
    assert constraint_sentences(content) == (content,)


@pytest.mark.parametrize("content", PASSING)
def test_an_order_of_the_moment_and_a_tale_pass(content: str) -> None:
    """One thing, the hour, a search, the past and the words of others speak against it."""
    assert constraint_sentences(content) == ()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("paint every wall", True),
        ("i paint every wall", False),
        ("paint walls", False),
        ("paint the every wall", False),
        ("paint the wall only every day", True),
        ("paint the wall only every day now", False),
        ("keep to walls", True),
        ("keep to it now", True),
        ("paint it, keep to it now", False),
        ("paint it now, must", True),
        ("und paint every wall", False),
        ("und must", True),
    ],
)
def test_names_of_signs_outweigh_names_of_doubts(sentence: str, expected: bool) -> None:
    """A sign needs an order, a hint counts for two, a rule bears two doubts, and a foreign word leaves rules alone."""
    assert read_table(TABLE).states(sentence, tokens_of(sentence), asks=False, narrates=False) is expected


def test_a_long_text_and_a_long_sentence_need_more_signs() -> None:
    """Somebody who tells a lot says much that looks like an order."""
    table = read_table(TABLE)
    said = "paint every wall"
    assert not table.states(said, tokens_of(said), asks=False, narrates=True)
    assert not table.states(f"{said} only", tokens_of(f"{said} only"), asks=False, narrates=True)
    assert table.states(f"{said} only", tokens_of(f"{said} only"), asks=False, narrates=False)
    assert table.states(f"keep to {said}", tokens_of(f"keep to {said}"), asks=False, narrates=True)
    assert not table.states(said, tokens_of(said + " grey" * 25), asks=False, narrates=False)


@pytest.mark.parametrize(
    ("sentence", "expected"), [("paint every wall", True), ("perhaps every wall", False), ("perhaps every wall only", True)]
)
def test_what_may_be_an_order_takes_one_sign_more(sentence: str, expected: bool) -> None:
    """A word that may begin an order or not says less than one that does."""
    table = read_table("order: paint\nguess: < {!paint}\nsign_generic: every\nsign_way: only")
    assert table.states(sentence, tokens_of(sentence), asks=False, narrates=False) is expected


def test_the_name_of_a_speaker_is_no_part_of_a_sentence() -> None:
    """In minutes every sentence begins with a name; what follows it is what was said."""
    assert not states_constraint("Project Manager: where it covers everything")
    assert states_constraint("Project Manager: never delete a slide.")


def test_a_title_ends_no_sentence() -> None:
    """The name that follows belongs to it."""
    assert constraint_sentences("Never call Dr. Weber at home.") == ("Never call Dr. Weber at home.",)


def test_what_is_told_before_a_question_is_told() -> None:
    """Unless the sentence asks from its first word on."""
    table = read_table(TABLE)
    for said, expected in (("paint every wall, which colour", True), ("do paint every wall, which colour", False)):
        assert table.states(said, tokens_of(said), asks=True, narrates=False) is expected


def test_a_sign_needs_a_word_to_be_found_by() -> None:
    """An order may be any word but some; a sign may not."""
    with pytest.raises(InvalidOptionError, match="table"):
        read_table("closed: the\nsign_any: {!closed}")


def test_a_heading_is_no_command() -> None:
    """A line that begins as a command of a shell is pasted, one that begins as a heading is not."""
    assert constraint_sentences("# never push to main") == ("# never push to main",)
    assert constraint_sentences("$ never push to main") == ()


def test_a_long_quotation_is_the_words_of_others() -> None:
    """Of several sentences, in any script, right before another letter too."""
    rules = "Guests must not park. Bikes must stay outside. " * 12
    assert constraint_sentences(f'The sign reads "{rules}" and is ugly.') == ()
    assert constraint_sentences('邮件写道:"你们必须退款。你们务必道歉。"我很难过。') == ()
