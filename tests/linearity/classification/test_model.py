"""The model sums the weights of features: words, and sequences of words and of shapes."""

import pytest

from polycontext.linearity.classification.model import (
    Model,
    Words,
    key_of,
    own_model,
)
from polycontext.linearity.classification.vocabulary import own_data

WORDS = Words(
    frozenset({"never", "the"}), frozenset({"push", "frag*"}), frozenset({"never", "please"})
)


def own(sentence: str) -> set[int]:
    """Return the features of a sentence itself."""
    return WORDS.features(sentence)


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


def test_what_stands_before_a_sentence_weighs_too() -> None:
    """Its words count otherwise than those of the sentence."""
    before = WORDS.features_before("never")
    assert not before & own("never")
    model = Model(WORDS, dict.fromkeys(before, 1) | {key_of("@"): -2, key_of("@first"): 3})
    assert (model.weigh("never"), model.weigh_before("never")) == (-2, len(before))
    assert [model.place(name) for name in ("@first", "@heard")] == [3, 0]


def test_a_sentence_in_another_language_is_known_by_its_words() -> None:
    """A fifth of them is enough, and so is a script without spaces."""
    words = Words(frozenset(), frozenset(), frozenset(), frozenset({"und"}))
    foreign = key_of("@foreign")
    said = ("du und ich", "a und b c d e f", "禁止")
    assert [foreign in words.features(each) for each in said] == [True, False, True]


def test_the_weights_of_the_library_are_small() -> None:
    """All of them take at most 120 kB, in which they are compressed."""
    names = ("rules", "preferences", "endings", "replacements")
    assert sum(len(own_data("weights", f"{name}.bin")) for name in names) <= 120_000
    assert all(-128 < weight < 128 for weight in own_model().rules.values())
