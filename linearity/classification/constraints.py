"""Find the rules in a turn that stand for the rest of the conversation, by the words with which people state them.

The words are data, a table for each language (`linearity/classification/tables`): what is looked for are phrases and how they stand in a
sentence, nothing is understood. The share of the window that such turns may preserve (see `default_classifier`) is what bounds a misreading.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from attrs import frozen

from .prose import is_bullet, sentences, unbulleted, unquoted

if TYPE_CHECKING:
    from .phrase_table import Table

LONGEST = 400
"""How many characters a sentence may have: nobody states a rule in more."""
SHORT = 280
"""How many characters a turn may have that is preserved whole."""
REMEMBERED, REMEMBERED_CHARS = 8_192, 1_000
"""How many texts of how many characters at most are remembered with what they state: a turn is asked of when it comes in, and again for its gist."""

_WRAPPED = "\v"
"""What stands for the end of a wrapped line: no text has it within a line."""
_SPEAKER = re.compile(r"\A(?:[A-Z][\w.]* ){1,2}[A-Z]\w*: ")
"""A name before what somebody says, as minutes of a meeting have it."""


@frozen
class ConstraintRule:
    """Find the sentences that state a standing instruction, by `tables` of phrases, one for each language."""

    tables: "tuple[Table, ...]"

    def sentences(self, content: str) -> tuple[str, ...]:
        """Return the sentences that state one, in order and once each; items of a list they announce follow them."""
        return self._stated(content)[0]

    def notes(self, content: str) -> tuple[str, ...]:
        """Return the sentences that state a preference of the user or a fact about them, in order and once each."""
        return self._stated(content)[1]

    def states(self, content: str) -> bool:
        """Tell whether `content` has a sentence that states an instruction."""
        return bool(self.sentences(content))

    def states_mostly(self, content: str) -> bool:
        """Tell whether `content` is short and such sentences make half of it or more."""
        length = len(content.strip())
        return length <= SHORT and 2 * sum(map(len, self.sentences(content))) >= max(1, length)

    def with_tables(self, *texts: str) -> "ConstraintRule":
        r"""Return the rule that knows the phrases of these tables too (docs/linearity.md, "A language of your own").

        Raises:
            InvalidOptionError: a text is no table; the field says which line or list.

        >>> rule = default_rule().with_tables("rule: vanaf nu; nooit")
        >>> rule.states("Vanaf nu alles in het Nederlands.")
        True
        """
        from .phrase_table import read_table  # noqa: PLC0415 - for those who bring tables

        return ConstraintRule((*self.tables, *map(read_table, texts)))

    def _stated(self, content: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (_remembered if len(content) <= REMEMBERED_CHARS else _stated)(self.tables, content)


def _stated(tables: "tuple[Table, ...]", content: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from .phrase_table import words_of  # noqa: PLC0415 - it is there, as its tables are

    words = set(words_of(content))
    may_state = [table for table in tables if table.may_state(content, words)]
    found: dict[str, dict[str, str]] = {"rule": {}, "note": {}}
    for kind, sentence in _kinds(may_state, content) if may_state else ():
        # Said again is said once, whatever its capitals, signs and spaces.
        found[kind].setdefault("".join(filter(str.isalnum, sentence.casefold())), sentence)
    return tuple(found["rule"].values()), tuple(found["note"].values())


_remembered = lru_cache(REMEMBERED)(_stated)


def _kinds(tables: "list[Table]", content: str) -> Iterator[tuple[str, str]]:
    announced = False
    known: dict[str, str] = {}
    # Minutes tell what people said to each other: there a mere order is none to the assistant.
    weighs = _SPEAKER.match(content) is None
    for wrapped in sentences(content, _WRAPPED):
        whole = wrapped.replace(_WRAPPED, " ")
        # A line that states an instruction by itself may stand behind a line without a full stop.
        for sentence in dict.fromkeys((whole, *(wrapped.split(_WRAPPED) if whole != wrapped else ()))):
            listed = announced and is_bullet(sentence)
            if (kind := known.get(sentence)) is None:
                kind = known[sentence] = _kind(tables, sentence, weighs=weighs)
            if kind := "rule" if listed else kind:
                yield kind, sentence
            announced = listed or (kind == "rule" and sentence.rstrip("*_ ").endswith((":", "：")))
            if kind == "rule":
                break


def _kind(tables: "list[Table]", sentence: str, *, weighs: bool) -> str:
    if len(sentence) > LONGEST:
        return ""
    asks = sentence.rstrip("\"'”’»)]*_").endswith(("?", "？"))
    said = unquoted(unbulleted(sentence))
    # "House Rules: ..." looks like a speaker, too.
    heard = dict.fromkeys((said, _SPEAKER.sub("", said)))
    return max((table.kind_of(each, asks=asks, weighs=weighs) for table in tables for each in heard), default="")


@cache
def default_rule() -> ConstraintRule:
    """Return the rule for English, German, French, Spanish, Chinese and Japanese; its tables are read when it is first asked for."""
    from .phrase_table import own_tables  # noqa: PLC0415 - the first user turn states the task: no rule is asked

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
