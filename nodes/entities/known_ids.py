"""Find known ids in a text, as whole words, in one pass.

The cost of a search does not grow with the number of ids, nor with what they have in common: words
are followed through an Aho-Corasick automaton.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from attrs import field, frozen

_WORD = re.compile(r"[^\W\u2e80-\ud7ff]+|.", re.DOTALL)
"""A word, or one other character; in Chinese, Japanese and Korean nothing divides words."""


_Steps = dict[tuple[int, str], int]


def _follow(steps: _Steps, shorter: Sequence[int], state: int, word: str) -> int:
    while state and (state, word) not in steps:
        state = shorter[state]
    return steps.get((state, word), 0)


@frozen(slots=False)
class KnownIds:
    """Ids, with the ref of each."""

    refs: Mapping[str, str] = field(repr=False)

    @cached_property
    def _automaton(self) -> tuple[_Steps, list[int], dict[int, str]]:
        """Return the states to which words lead, their suffixes' states, and the ids they end."""
        steps, ends = _Steps(), dict[int, str]()
        begun = [(0, each, _WORD.findall(each)[::-1]) for each in self.refs]
        while begun:  # one word of each, so that the states of short texts come first
            begun = [
                (steps.setdefault((state, words.pop()), len(steps) + 1), each, words)
                for state, each, words in begun
            ]
            ends |= {state: each for state, each, words in begun if not words}
            begun = [each for each in begun if each[2]]
        shorter = [0] * (len(steps) + 1)
        for (state, word), following in steps.items():
            if state:
                shorter[following] = _follow(steps, shorter, shorter[state], word)
            if shorter[following] in ends:
                ends.setdefault(following, ends[shorter[following]])
        return steps, shorter, ends

    def _ends(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield where an id ends, with the longest that ends there."""
        state, (steps, shorter, ends) = 0, self._automaton
        for word in _WORD.finditer(text):
            state = _follow(steps, shorter, state, word[0])
            if state in ends:
                yield word.end(), ends[state]

    def replaced(self, text: str) -> str:
        """Return a text with refs in place of ids, of those that overlap the last and longest."""
        parts, begin = list[str](), len(text)
        for end, found in reversed([*self._ends(text)] if self.refs else []):
            if end <= begin:
                parts += text[end:begin], self.refs[found]
                begin = end - len(found)
        return "".join([text[:begin], *reversed(parts)])
