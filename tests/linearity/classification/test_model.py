"""The model sums the weights of features: words, and sequences of words and of shapes."""

from polycontext.linearity.classification.model import (
    own_model,
)
from polycontext.linearity.classification.vocabulary import own_data


def test_the_weights_of_the_library_are_small() -> None:
    """All of them take at most 120 kB, in which they are compressed."""
    names = ("rules", "preferences", "endings", "replacements")
    assert sum(len(own_data("weights", f"{name}.bin")) for name in names) <= 120_000
    assert all(-128 < weight < 128 for weight in own_model().rules.values())
