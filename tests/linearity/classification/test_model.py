"""The model sums the weights of features: words, and sequences of words and of shapes."""

import zlib

import pytest

from polycontext.linearity.classification.model import (
    LEAST,
    Model,
    Words,
    key_of,
    own_model,
    read_weights,
    sequences,
)
from polycontext.linearity.classification.vocabulary import own_data

WORDS = Words(
    frozenset({"never", "the"}), frozenset({"push", "frag*"}), frozenset({"never", "please"})
)


def own(sentence: str) -> set[int]:
    """Return the features of a sentence itself."""
    return WORDS.features(sentence)


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


def test_words_weigh_together() -> None:
    """Preferences have weights of their own."""
    model = Model(WORDS, {key_of("@"): -4, key_of("^never"): 5}, {key_of("$it"): 1})
    assert [model.weigh(said) for said in ("Never push.", "Push.")] == [1, -4]
    assert [model.prefers(said) for said in ("Never push.", "I hate it.")] == [False, True]


def test_shapes_count_where_they_can_make_up_for_the_words() -> None:
    """Otherwise they are not looked at, which is faster."""
    order = {sequences(["never", "V"], 2)[-1]: 9}
    for words, score in ((LEAST, LEAST + 9), (LEAST - 1, LEAST - 1)):
        assert Model(WORDS, {**order, key_of("@"): words}).weigh("Never push.") == score


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


def test_weights_are_read_by_their_hashes() -> None:
    """Steps between the hashes come first, their low bytes and their high ones, then weights."""
    data = zlib.compress(bytes([7, 255, 0, 255, 3, 129]))
    assert read_weights(data) == {7: 3, 7 + 65_535: -127}


def test_the_weights_of_the_library_are_small() -> None:
    """All of them take at most 120 kB, in which they are compressed."""
    names = ("rules", "preferences", "endings", "replacements")
    assert sum(len(own_data("weights", f"{name}.bin")) for name in names) <= 120_000
    assert all(-128 < weight < 128 for weight in own_model().rules.values())
