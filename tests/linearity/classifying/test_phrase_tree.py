"""At every word the longest phrase that fits is taken, and the words after it are looked at next."""

from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity.classifying.prose import PhraseTree, phrases

WORDS = st.sampled_from("abc")
MEANINGS = st.dictionaries(st.lists(WORDS, min_size=1, max_size=3).map(tuple), st.booleans(), max_size=6)


def plain_meanings(known: dict[tuple[str, ...], bool], said: list[str]) -> list[bool | None]:
    """Find phrases by trying all of them, longest first."""
    found: list[bool | None] = []
    while said:
        phrase = next((p for p in sorted(known, key=len, reverse=True) if tuple(said[: len(p)]) == p), None)
        found.append(None if phrase is None else known[phrase])
        said = said[len(phrase or "x") :]
    return found


@given(MEANINGS, st.lists(WORDS, max_size=12))
def test_the_tree_finds_what_trying_every_phrase_finds(known: dict[tuple[str, ...], bool], said: list[str]) -> None:
    """The tree is a faster way of trying all phrases, longest first."""
    assert list(PhraseTree.grown(known).meanings(said)) == plain_meanings(known, said)


def test_a_list_of_phrases_may_break_lines_anywhere_between_them() -> None:
    """Semicolons and line ends separate phrases, blank ones are none."""
    assert list(phrases("\n  from now on; never\n must not;\n")) == [("from", "now", "on"), ("never",), ("must", "not")]
