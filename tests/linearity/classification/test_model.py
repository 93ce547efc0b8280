"""The model sums the weights of features, and asks the tables only if they could tip the scale."""

import pytest

from polycontext.linearity.classification.model import (
    Model,
    own_model,
    phrase_mark,
    read_weights,
    word_features,
)
from polycontext.linearity.classification.phrases import read_table, words_of

TABLE = read_table("verb: push; ask\nrule: ^ never {verb}\nonce: now")


def features(sentence: str) -> set[str]:
    """Return the features that the words of a sentence give."""
    return word_features(sentence, words_of(sentence), Model({}, TABLE).is_verb)


def test_a_sentence_has_its_words_in_sequence_as_features() -> None:
    """With where it begins and how it ends; numbers and quotations are alike."""
    assert {"<", "< never", "< never push", "push #", "# ?"} <= features("Never push 3?")
    assert {"写", "写 代 码 前"} <= features("写代码前")


@pytest.mark.parametrize(
    ("sentence", "orders"),
    [
        ("Push it.", True),
        ("When done, push it.", True),
        ("I push it.", False),
        ("Go home.", False),
    ],
)
def test_a_verb_orders_where_a_clause_begins(sentence: str, *, orders: bool) -> None:
    """Elsewhere it reports something."""
    assert ("V" in features(sentence)) is orders


@pytest.mark.parametrize(
    ("weights", "sentence", "states"),
    [
        ({"@rule": 5, "@bias": -4}, "Never push.", True),
        ({"@rule": 5, "@bias": -6}, "Never push.", False),
        ({"@rule": 5, "@once": -3, "@bias": -4}, "Never push now.", False),
        ({"@rule": 5, "@bias": -4}, "Push.", False),
        ({"push": 1}, "Push.", True),
        ({"@?rule": -9, "push": 1}, "Never push?", False),
    ],
)
def test_words_and_phrases_weigh_together(
    weights: dict[str, int], sentence: str, *, states: bool
) -> None:
    """A sum above zero states an instruction."""
    assert bool(Model(weights, TABLE).kinds_of(sentence)) is states


def test_the_weights_of_the_library_are_small_and_complete() -> None:
    """They have a bias, the kinds of phrases and places of verbs."""
    weights = own_model().weights
    assert {"@bias", "@rule", "@order"} <= weights.keys()
    assert any("V" in feature.split() for feature in weights)
    assert all(-128 < weight < 128 for weight in weights.values())
    assert read_weights("2\ta b\tc\n") == {"a b": 2, "c": 2}
    assert phrase_mark("Why?") == "@?"
