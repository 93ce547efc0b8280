"""Detection of standing instructions in a turn, sentence by sentence.

The share of the window that such turns may preserve (see `default_classifier`) limits the effect of
a false match.
"""

import re
from collections.abc import Iterator
from enum import Enum
from functools import cache, lru_cache

from attrs import evolve, frozen

from .model import ALONE, FIRST, Model, own_model
from .phrases import joined, own_lists, read_table
from .prose import is_bullet, one_line, sentence_spans, unbulleted, unquoted, wording_of

LONGEST = 400
"""The longest sentence, in characters, that can state a rule."""
SHORT = 280
"""The longest turn, in characters, that is preserved as a whole."""
REMEMBERED, REMEMBERED_CHARS = 8_192, 1_000
"""The number of texts, and the length of each, that the cache of `_find` holds at most. A turn is
looked up when it arrives and again for its gist."""

_AROUND = " *_.…:"
"""What may stand around a sentence that is only a scope."""
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
    """Finds sentences that state a standing instruction, by a `model`."""

    model: Model

    def rules(self, content: str) -> tuple[FoundRule, ...]:
        """Return the rules that `content` states, see `find_rules`."""
        find = _find_cached if len(content) <= REMEMBERED_CHARS else _find_long
        return find(self, content)

    def sentences(self, content: str) -> tuple[str, ...]:
        """Return the sentences of these rules, each on one line."""
        return tuple(one_line(rule.text) for rule in self.rules(content))

    def states(self, content: str) -> bool:
        """Return whether `content` has a sentence that states a rule."""
        return bool(self.rules(content))

    def states_mostly(self, content: str) -> bool:
        """Return whether `content` is short and instructions make up at least half of it.

        Preferences do not count.
        """
        length = len(content.strip())
        if length > SHORT:
            return False
        rules = [rule for rule in self.rules(content) if rule.kind is RuleKind.INSTRUCTION]
        return 2 * sum(len(one_line(rule.text)) for rule in rules) >= max(1, length)

    def with_tables(self, *texts: str) -> "ConstraintRule":
        r"""Return a rule that also knows the phrases of the tables in `texts`.

        See docs/linearity.md, "A language of your own".

        Raises:
            InvalidOptionError: a text is not a valid table; the field says which line or list.

        >>> rule = default_rule().with_tables("rule: vanaf nu; nooit")
        >>> rule.states("Vanaf nu alles in het Nederlands.")
        True
        """
        added = joined([self.model.added, *map(read_table, texts)])
        return ConstraintRule(evolve(self.model, added=added))


def _find(rule: ConstraintRule, content: str) -> tuple[FoundRule, ...]:
    found: dict[str, FoundRule] = {}
    repeated: dict[str, FoundRule] = {}
    for each in _stated(rule, content):
        repeated.setdefault(each.text, each)
    for each in repeated.values():
        found.setdefault(wording_of(each.text), each)
    return tuple(found.values())


_find_cached = lru_cache(REMEMBERED)(_find)
_find_long = lru_cache(8)(_find)  # A long message is read by the session and by each node.


def _stated(rule: ConstraintRule, content: str) -> Iterator[FoundRule]:
    heading, lead = "", None
    known: dict[tuple[str, int], tuple[RuleKind | None, str]] = {}
    # Minutes report what people said to each other; a mere order in them is not for the assistant.
    heard = _SPEAKER.match(content) is not None
    for span, place in _placed(rule.model, content):
        # A scope may end with a full stop: "For the rest of this session. Always ...".
        led = span if lead is None else (lead, span[1])
        lead = None
        # A line that states an instruction may follow a line that has no full stop.
        for start, last in dict.fromkeys((led, span, *_line_spans(content, *span))):
            text = content[start:last]
            sentence = one_line(text)
            if (sentence, place) not in known:
                known[sentence, place] = _judged(rule, sentence, place, heard=heard)
            kind, scope = known[sentence, place]
            if heading and is_bullet(sentence):
                kind, scope = kind or RuleKind.INSTRUCTION, heading
            else:
                announces = kind and sentence.rstrip("*_ ").endswith((":", "："))
                heading = sentence if announces else ""
            leads = scope == sentence.strip(_AROUND) and (
                kind is None or content[last : last + 3].lstrip()[:1].islower()
            )
            if kind and not leads:
                yield FoundRule(text, start, last, kind, scope)
                break
            if leads:
                lead = start


def _placed(model: Model, content: str) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield where each sentence stands, and what its place in the text adds to its score.

    The first sentence tells what the text is about, and the one before what it has come to.
    """
    spans = [*sentence_spans(content)]
    place = model.place(FIRST if len(spans) > 1 else ALONE)
    first: int | None = None
    known: dict[str, int] = {}
    for span in spans:
        yield span, place
        if len(spans) > 1:
            text = content[span[0] : min(span[1], span[0] + LONGEST)]
            if text not in known:
                known[text] = model.weigh(unquoted(unbulleted(one_line(text)))).before
            first = known[text] if first is None else first
            place = first + known[text]


def _line_spans(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a sentence begin and end, if it has several."""
    lines = content[start:end].splitlines(keepends=True)
    for line in lines if len(lines) > 1 else ():
        body = line.strip()
        first = start + len(line) - len(line.lstrip())
        yield first, first + len(body)
        start += len(line)


@cache
def _scope() -> re.Pattern[str]:
    begins = "|".join(own_lists("scopes")["scope"])
    return re.compile(rf"\b(?:{begins})\b[^,;:.]*", re.IGNORECASE)


def _scope_of(sentence: str) -> str:
    clause = _scope().search(unbulleted(sentence))
    return clause[0].strip(" *_") if clause else ""


def _judged(
    rule: ConstraintRule, sentence: str, place: int, *, heard: bool
) -> tuple[RuleKind | None, str]:
    """Return the kind and the scope of a rule; another sentence has a scope if it is only one."""
    kind, scope = _kind(rule, sentence, place, heard=heard), _scope_of(sentence)
    return kind, scope if kind or scope == sentence.strip(_AROUND) else ""


def _kind(rule: ConstraintRule, sentence: str, place: int, *, heard: bool) -> RuleKind | None:
    if len(sentence) > LONGEST:
        return None
    said = unquoted(unbulleted(sentence))
    # A heading such as "House Rules: ..." looks like a speaker, too.
    speaker = _SPEAKER.match(said)
    for each in (said, said[speaker.end() :]) if speaker else (said,):
        kinds = rule.model.kinds_of(each, place)
        if "rule" in kinds or (kinds and not heard):
            return RuleKind.PREFERENCE if "note" in kinds else RuleKind.INSTRUCTION
    return None


@cache
def default_rule() -> ConstraintRule:
    """Return the rule for English and seven other languages (docs/linearity.md).

    Its model and tables are read on the first call.
    """
    return ConstraintRule(own_model())


def states_constraint(content: str) -> bool:
    """Return whether `content` states a standing constraint, such as "from now on" or "never".

    See docs/linearity.md, "The rule that classifies".

    Whole words count, in English and seven other languages. Code, logs and quotations do not
    count. Questions count only if they are polite orders or state a preference of the user. Takes
    time linear in the length of `content`.

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
