"""Phrases as runs of whole words, found in one pass: at every word the longest phrase that fits."""

from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field


@define
class PhraseTree:
    """Stand at a word of some phrases: the words that lead on, and what the phrase that ends here means (None: no phrase ends here)."""

    meaning: bool | None = None
    _next: "dict[str, PhraseTree]" = field(factory=dict, init=False)

    @classmethod
    def grown(cls, meanings: Mapping[tuple[str, ...], bool]) -> "PhraseTree":
        """Return the tree that knows these phrases and what each of them means."""
        root = cls()
        for phrase, meaning in meanings.items():
            root._branch(phrase).meaning = meaning
        return root

    def longest(self, said: Sequence[str], place: int) -> tuple[int, bool | None]:
        """Return how many words the longest phrase at `place` has and what it means; one word and None where there is no phrase.

        >>> tree = PhraseTree.grown({("never",): True, ("never", "mind"): False})
        >>> tree.longest(["well", "never", "mind"], 1), tree.longest(["well", "never"], 0)
        ((2, False), (1, None))
        """
        width, meaning, node = 1, None, self
        for end in range(place, len(said)):
            longer = node._next.get(said[end])
            if longer is None:
                break
            node = longer
            if node.meaning is not None:
                width, meaning = end + 1 - place, node.meaning
        return width, meaning

    def meanings(self, said: Sequence[str]) -> Iterator[bool | None]:
        """Iterate over the phrases in `said` from left to right, by their meanings; None for a word in no phrase."""
        place = 0
        while place < len(said):
            width, meaning = self.longest(said, place)
            yield meaning
            place += width

    def _branch(self, phrase: Sequence[str]) -> "PhraseTree":
        node = self
        for word in phrase:
            node = node._next.setdefault(word, PhraseTree())
        return node


def phrases(text: str) -> Iterator[tuple[str, ...]]:
    """Iterate over the phrases of a list kept as text, a semicolon or a new line after each.

    >>> list(phrases("from now on; never"))
    [('from', 'now', 'on'), ('never',)]
    """
    for phrase in text.replace("\n", ";").split(";"):
        if phrase.strip():
            yield tuple(phrase.split())
