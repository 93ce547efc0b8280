"""The model sums the weights of features: sequences of words, of shapes, and kinds of phrases."""

import zlib

import pytest

from polycontext.linearity.classification.model import (
    FIRST,
    STATED,
    Model,
    Words,
    key_of,
    own_model,
    read_weights,
)
from polycontext.linearity.classification.phrases import own_data, read_table

TABLE = read_table("verb: push\nrule: ^ never {verb}\nnote: i hate")
WORDS = Words(
    frozenset({"never", "the"}), frozenset({"push", "frag*"}), frozenset({"never", "please"})
)


def own(sentence: str) -> set[int]:
    """Return the features of a sentence itself."""
    return WORDS.features(sentence)[0]


def shared(sentence: str, other: str) -> int:
    """Return how many features two sentences share."""
    return len(own(sentence) & own(other))


def test_sentences_share_their_words_in_sequence() -> None:
    """With where they begin and how they end; numbers and quotations are alike."""
    assert own("Never push 3?") == own("never push 4?")
    assert shared("Never push it.", "Never push it!") > shared("Never push it.", "Push it never.")
    assert own("NEVER push") != own("Never push")


def test_unknown_words_are_alike_by_their_endings() -> None:
    """So a sentence resembles another of the same form; characters stand for themselves."""
    assert shared("the cats sleeping", "the dogs barking") > shared("the cats sleeping", "cat dog")
    shapes = [WORDS.shape(word) for word in ("the", "cats", "cat", "写", ",", "#")]
    assert shapes == ["the", "~s", "~", "写", ",", "#"]


@pytest.mark.parametrize(
    ("sentence", "orders"),
    [
        ("Push it.", True),
        ("So, push it.", True),
        ("Please push it.", True),
        ("Fragt es.", True),
        ("I push it.", False),
        ("Go home.", False),
    ],
)
def test_a_verb_orders_where_a_clause_begins(sentence: str, *, orders: bool) -> None:
    """Elsewhere it is a word as any other."""
    without = Words(WORDS.common, frozenset(), WORDS.before)
    assert (WORDS.features(sentence) != without.features(sentence)) is orders


@pytest.mark.parametrize(
    ("weights", "sentence", "states"),
    [
        ({"@rule": 5, "@": -4}, "Never push.", True),
        ({"@rule": 5, "@": -6}, "Never push.", False),
        ({"@rule": 5, "@": -4}, "Push.", False),
        ({"@": 1}, "Push.", True),
        ({"@?rule": -9, "@": 5}, "Never push?", False),
        ({"@rule": 5, "@note": -2, "@": -4}, "I hate it, never push.", False),
    ],
)
def test_words_and_phrases_weigh_together(
    weights: dict[str, int], sentence: str, *, states: bool
) -> None:
    """A sum above zero states a rule; phrases are left out only if they cannot help."""
    model = Model(WORDS, {key_of(name): weight for name, weight in weights.items()}, table=TABLE)
    assert (STATED in model.kinds_of(sentence)) is states


def test_preferences_are_told_by_weights_of_their_own_or_by_phrases() -> None:
    """Either makes a rule a preference."""
    rules = {key_of("@"): 1}
    assert "note" in Model(WORDS, rules, table=TABLE).kinds_of("I hate it.")
    assert "note" not in Model(WORDS, rules, table=TABLE).kinds_of("I loathe it.")
    assert "note" in Model(WORDS, rules, rules, TABLE).kinds_of("I loathe it.")


def test_what_stands_before_a_sentence_weighs_too() -> None:
    """Its words count otherwise than those of the sentence, and only behind it."""
    _, before = WORDS.features("never")
    assert not before & own("never")
    model = Model(WORDS, dict.fromkeys(before, 1) | {key_of("@"): -2, key_of("@first"): 3})
    weight = model.weigh("never")
    assert (weight.own, weight.before) == (-2, len(before))
    assert not model.kinds_of("Push.")
    assert STATED in model.kinds_of("Push.", weight.before)
    assert STATED in model.kinds_of("Push.", model.place(FIRST))


def test_a_sentence_in_another_language_is_known_by_its_words() -> None:
    """A fifth of them is enough, and so is a script without spaces."""
    words = Words(frozenset(), frozenset(), frozenset(), frozenset({"und"}))
    foreign = key_of("@foreign")
    said = ("du und ich", "a und b c d e f", "禁止")
    assert [foreign in words.features(each)[0] for each in said] == [True, False, True]


def test_weights_are_read_by_their_hashes() -> None:
    """Steps between the hashes come first, their low bytes and their high ones, then weights."""
    data = zlib.compress(bytes([7, 255, 0, 255, 3, 129]))
    assert read_weights(data) == {7: 3, 7 + 65_535: -127}


def test_the_weights_of_the_library_are_small() -> None:
    """All of them take at most 120 kB, in which they are compressed."""
    names = ("rules", "preferences", "endings", "replacements")
    assert sum(len(own_data("weights", f"{name}.bin")) for name in names) <= 120_000
    assert all(-128 < weight < 128 for weight in own_model().rules.values())
