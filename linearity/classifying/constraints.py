"""Find the rules in a turn that stand for the rest of the conversation, by the words with which people state them.

The words are data, a table for each language (`linearity/classifying/tables`): what is looked for are phrases and how they stand in a
sentence, nothing is understood. The share of the window that such turns may preserve (see `default_classifier`) is what bounds a misreading.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from attrs import frozen

from polycontext.linearity.classifying.prose import is_bullet, parts, sentences, unbulleted, unquoted, words

if TYPE_CHECKING:
    from polycontext.linearity.classifying.phrase_table import Table

LONGEST = 2_000
"""How many characters a sentence may have: what is longer is no sentence of somebody who states a rule."""
A_TALE = 6
"""How many sentences of a turn make it a tale, in which liking something is no wish."""
SHORT = 280
"""How many characters a turn may have that is preserved whole whatever part of it states a constraint."""
GOOD_PART = 3
"""One part in so many of a longer turn must state constraints for the turn to be one."""
REMEMBERED, REMEMBERED_CHARS = 8_192, 1_000
"""How many texts of how many characters at most are remembered with what they state: a turn is asked of when it comes in, and again for its gist."""


_SPEAKER = re.compile(r"\A(?:[A-Z][\w.]* ){1,2}[A-Z]\w*: ")
"""A name before what somebody says, as minutes of a meeting have it."""


@frozen
class ConstraintRule:
    """Find the sentences that state a standing constraint, by `tables` of phrases, one for each language."""

    tables: "tuple[Table, ...]"

    def sentences(self, content: str) -> tuple[str, ...]:
        """Return the sentences that state one, in order and once each; items of a list they announce follow them."""
        return (_remembered if len(content) <= REMEMBERED_CHARS else _sentences)(self.tables, content)

    def states(self, content: str) -> bool:
        """Tell whether `content` has such a sentence."""
        return bool(self.sentences(content))

    def states_mostly(self, content: str) -> bool:
        """Tell whether such sentences make a good part of `content`: a third of its characters, or any of them where it is short."""
        length = len(content.strip())
        if length <= SHORT:
            return self.states(content)
        return GOOD_PART * sum(map(len, self.sentences(content))) >= length

    def with_tables(self, *texts: str) -> "ConstraintRule":
        r"""Return the rule that knows the phrases of these tables too (docs/linearity.md, "A language of your own").

        Raises:
            InvalidOptionError: a text is no table; the field says which line or list.

        >>> rule = default_rule().with_tables("rule: vanaf nu; nooit")
        >>> rule.states("Vanaf nu alles in het Nederlands.")
        True
        """
        from polycontext.linearity.classifying.phrase_table import read_table  # noqa: PLC0415 - for those who bring tables

        return ConstraintRule((*self.tables, *map(read_table, texts)))


def _sentences(tables: "tuple[Table, ...]", content: str) -> tuple[str, ...]:
    said = {part for word in set(words(content)) for part in parts(word)}
    may_state = [table for table in tables if table.may_state(content, said)]
    return tuple(_once(_stating(may_state, content))) if may_state else ()


_remembered = lru_cache(REMEMBERED)(_sentences)


def _stating(tables: "list[Table]", content: str) -> Iterator[str]:
    announced = False
    spoken = list(sentences(content))
    narrates = len(spoken) >= A_TALE
    known: dict[str, bool] = {}
    for sentence in spoken:
        listed = announced and is_bullet(sentence)
        if (stated := known.get(sentence)) is None:
            stated = known[sentence] = _states(tables, sentence, narrates=narrates)
        if stated := stated or listed:
            yield sentence
        announced = listed or (stated and sentence.endswith((":", "：")))


def _states(tables: "list[Table]", sentence: str, *, narrates: bool) -> bool:
    if len(sentence) > LONGEST:
        return False
    asks = sentence.rstrip("\"'”’»)]").endswith(("?", "？"))
    from polycontext.linearity.classifying.phrase import tokens_of  # noqa: PLC0415 - it is there, as its tables are

    said = unquoted(_SPEAKER.sub("", unbulleted(sentence), count=1))
    tokens = tokens_of(said)
    return any(table.states(said, tokens, asks=asks, narrates=narrates) for table in tables)


@cache
def default_rule() -> ConstraintRule:
    """Return the rule for English, German, French, Spanish, Chinese and Japanese; its tables are read when it is first asked for."""
    from polycontext.linearity.classifying.phrase_table import own_tables  # noqa: PLC0415 - the first user turn states the task: no rule is asked

    return ConstraintRule(tuple(own_tables()))


def states_constraint(content: str) -> bool:
    """Tell whether `content` states a standing constraint: "from now on", "never", "must" and their like (docs/linearity.md, "The rule that classifies").

    Whole words count, in English, German, French, Spanish, Chinese and Japanese; code, logs and the words of
    others do not, questions only when they are polite orders or say what the user likes. Linear in the length of `content`.

    Law: ``states_constraint(c) == bool(constraint_sentences(c))``.

    >>> states_constraint("From now on, answer in French.")
    True
    >>> states_constraint("Never mind, it works.")
    False
    """
    return default_rule().states(content)


def constraint_sentences(content: str) -> tuple[str, ...]:
    """Return the sentences that state a standing constraint, in order and once each; items of a list they announce follow them.

    >>> constraint_sentences("Hi! You must not delete files. How are you? Never push.")
    ('You must not delete files.', 'Never push.')
    """
    return default_rule().sentences(content)


def _once(stated: Iterable[str]) -> Iterable[str]:
    """Return each sentence once, whatever its capitals, signs and spaces."""
    known: dict[str, str] = {}
    for sentence in stated:
        known.setdefault("".join(filter(str.isalnum, sentence.casefold())), sentence)
    return known.values()
