"""Detection of standing instructions in a turn, sentence by sentence.

The share of the window that such turns may preserve (see `default_classifier`) limits the effect of
a false match.
"""

import re
from collections.abc import Iterator
from enum import Enum
from functools import cache, lru_cache

from attrs import frozen

from .phrases import Table, own_tables, read_table, words_of
from .prose import is_bullet, one_line, sentence_spans, unbulleted, unquoted

LONGEST = 400
"""The longest sentence, in characters, that can state a rule."""
SHORT = 280
"""The longest turn, in characters, that is preserved as a whole."""
REMEMBERED, REMEMBERED_CHARS = 8_192, 1_000
"""The number of texts, and the length of each, that the cache of `_find` holds at most. A turn is
looked up when it arrives and again for its gist."""

_SPEAKER = re.compile(r"\A(?:[A-Z][\w.]* ){1,2}[A-Z]\w*: ")
"""A speaker's name before a statement, as in the minutes of a meeting."""


class RuleKind(Enum):
    """How much a rule demands."""

    INSTRUCTION = "instruction"
    PREFERENCE = "preference"
    """What somebody would rather have; ranked below instructions."""


@frozen
class FoundRule:
    """A rule that a text states, and where it stands in that text.

    `text` is ``content[start:end]``: the whole sentence, or the item of a list, as it was written.
    `scope` is the part of the text that says when the rule holds ("from now on", "When you add a
    file"), or the line that announces its list. It is empty if the rule holds always.
    """

    text: str
    start: int
    end: int
    kind: RuleKind
    scope: str = ""


def find_rules(content: str) -> tuple[FoundRule, ...]:
    """Return the rules that `content` states, in order; a rule that is repeated counts once.

    Code, logs, quotations and quoted mail state nothing. If a rule announces a list, each item of
    the list is a rule. Takes time linear in the length of `content`.

    >>> [rule.text for rule in find_rules("Hi! Never push. How are you?")]
    ['Never push.']
    """
    return default_rule().rules(content)


@frozen
class ConstraintRule:
    """Finds sentences that state a standing instruction, by `tables` of phrases for languages."""

    tables: tuple[Table, ...]

    def rules(self, content: str) -> tuple[FoundRule, ...]:
        """Return the rules that `content` states, see `find_rules`."""
        return self._find(content)[0]

    def sentences(self, content: str) -> tuple[str, ...]:
        """Return the sentences of these rules, each on one line."""
        return tuple(one_line(rule.text) for rule in self.rules(content))

    def notes(self, content: str) -> tuple[str, ...]:
        """Return the sentences that state a preference of the user or a fact about them.

        They are in order and without repeats.
        """
        return self._find(content)[1]

    def states(self, content: str) -> bool:
        """Return whether `content` has a sentence that states an instruction."""
        return bool(self.rules(content))

    def states_mostly(self, content: str) -> bool:
        """Return whether `content` is short and such sentences make up at least half of it."""
        length = len(content.strip())
        return length <= SHORT and 2 * sum(map(len, self.sentences(content))) >= max(1, length)

    def with_tables(self, *texts: str) -> "ConstraintRule":
        r"""Return a rule that also knows the phrases of the tables in `texts`.

        See docs/linearity.md, "A language of your own".

        Raises:
            InvalidOptionError: a text is not a valid table; the field says which line or list.

        >>> rule = default_rule().with_tables("rule: vanaf nu; nooit")
        >>> rule.states("Vanaf nu alles in het Nederlands.")
        True
        """
        return ConstraintRule((*self.tables, *map(read_table, texts)))

    def _find(self, content: str) -> "_Found":
        find = _find_cached if len(content) <= REMEMBERED_CHARS else _find
        return find(self.tables, content)


_Found = tuple[tuple[FoundRule, ...], tuple[str, ...]]


def _find(tables: tuple[Table, ...], content: str) -> _Found:
    words = set(words_of(content))
    may_state = [table for table in tables if table.may_state(words)]
    rules: dict[str, FoundRule] = {}
    notes: dict[str, str] = {}
    for kind, start, end, scope in _kinds(may_state, content) if may_state else ():
        text = content[start:end]
        # Repeats are found regardless of case, punctuation and spaces.
        key = "".join(filter(str.isalnum, text.casefold()))
        if kind == "rule":
            rules.setdefault(key, FoundRule(text, start, end, RuleKind.INSTRUCTION, scope))
        else:
            notes.setdefault(key, one_line(text))
    return tuple(rules.values()), tuple(notes.values())


_find_cached = lru_cache(REMEMBERED)(_find)


def _kinds(tables: list[Table], content: str) -> Iterator[tuple[str, int, int, str]]:
    heading = ""
    known: dict[str, str] = {}
    # Minutes report what people said to each other; a mere order in them is not for the assistant.
    weighs = _SPEAKER.match(content) is None
    for span in sentence_spans(content):
        # A line that states an instruction may follow a line that has no full stop.
        for start, end in dict.fromkeys((span, *_line_spans(content, *span))):
            sentence = one_line(content[start:end])
            is_item = bool(heading) and is_bullet(sentence)
            if (kind := known.get(sentence)) is None:
                kind = known[sentence] = _kind(tables, sentence, weighs=weighs)
            if kind := "rule" if is_item else kind:
                yield kind, start, end, heading if is_item else _scope_of(sentence)
            if not is_item:
                announces = kind == "rule" and sentence.rstrip("*_ ").endswith((":", "："))
                heading = sentence if announces else ""
            if kind == "rule":
                break


def _line_spans(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for line in content[start:end].splitlines(keepends=True):
        body = line.strip()
        first = start + len(line) - len(line.lstrip())
        yield first, first + len(body)
        start += len(line)


_SCOPE = re.compile(
    r"\b(?:for the (?:rest|remainder|duration) of|from (?:now|here|today)|until|unless"
    r"|when(?:ever)?|if|before|after|while|as long as|during|throughout|in (?:this|our)"
    r"|(?:every|each) time"
    r"|ab (?:jetzt|sofort|heute)|von (?:jetzt|nun) an|für den rest|wenn|sobald|bevor|solange|falls"
    r"|désormais|dorénavant|quand|lorsqu|avant|chaque fois|jusqu|à partir|tant que|pour le reste"
    r"|a partir de|en adelante|cuando|antes|mientras|hasta|cada vez|si|durante)\b[^,;:.]*",
    re.IGNORECASE,
)
"""A clause that says when a rule holds, as far as its end."""


def _scope_of(sentence: str) -> str:
    said = unbulleted(sentence)
    clause = _SCOPE.match(said) or _SCOPE.search(said)
    return clause[0].strip(" *_") if clause else ""


def _kind(tables: list[Table], sentence: str, *, weighs: bool) -> str:
    if len(sentence) > LONGEST:
        return ""
    asks = sentence.rstrip("\"'”’»)]*_").endswith(("?", "？"))
    said = unquoted(unbulleted(sentence))
    # A heading such as "House Rules: ..." looks like a speaker, too.
    heard = dict.fromkeys((said, _SPEAKER.sub("", said)))
    return max(
        (table.kind_of(each, asks=asks, weighs=weighs) for table in tables for each in heard),
        default="",
    )


@cache
def default_rule() -> ConstraintRule:
    """Return the rule for English, German, French, Spanish, Chinese and Japanese.

    Its tables are read on the first call.
    """
    return ConstraintRule(tuple(own_tables()))


def states_constraint(content: str) -> bool:
    """Return whether `content` states a standing constraint, such as "from now on" or "never".

    See docs/linearity.md, "The rule that classifies".

    Whole words count, in English, German, French, Spanish, Chinese and Japanese. Code, logs and
    quotations do not count. Questions count only if they are polite orders or state a preference of
    the user. Takes time linear in the length of `content`.

    Law: ``states_constraint(c) == bool(constraint_sentences(c))``.

    >>> states_constraint("From now on, answer in French.")
    True
    >>> states_constraint("Never mind, it works.")
    False
    """
    return default_rule().states(content)


def constraint_sentences(content: str) -> tuple[str, ...]:
    """Return the sentences that state a standing constraint, in order and without repeats.

    If such a sentence announces a list, the items of the list follow it.

    >>> constraint_sentences("Hi! You must not delete files. How are you? Never push.")
    ('You must not delete files.', 'Never push.')
    """
    return default_rule().sentences(content)
