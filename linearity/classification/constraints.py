"""Detection of standing instructions in a turn, sentence by sentence.

The share of the window that such turns may preserve (see `default_classifier`) limits the effect of
a false match.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache, lru_cache

from attrs import frozen

from .model import ALONE, FIRST, HEARD, STEP, STORY, own_model
from .prose import is_bullet, one_line, sentence_spans, unbulleted, unquoted, wording_of
from .vocabulary import own_lists

LONGEST = 400
"""The longest sentence, in characters, that can state a rule."""
SHORT = 280
"""The longest turn, in characters, that is preserved as a whole."""
REMEMBERED, REMEMBERED_CHARS = 4_096, 1_000
"""How many texts, of which length, and how many sentences are remembered. A turn is looked up when
it arrives and again, sentence by sentence, for its gist."""
MOST_OF_PLACE = 40
"""The most that what stands before adds to a score, so that it is read for few sentences."""
_AROUND = " *_.…:"
"""What may stand around a sentence that is only a scope."""
SPEAKER = re.compile(
    r"\A(?:[A-Z][\w.-]* (?:(?:d[aeiu]|del|van|von|der) )?){1,2}"
    r"(?!Rules?:|Guidelines?:|Instructions?:|Policy:)[A-Z][\w-]*: "
)
"""A speaker's name before a statement, as in the minutes of a meeting, and no heading."""

LONG_SENTENCES, CLEARER, CLEAR = 12, 1, 28
"""From how many sentences on a text may be pasted, by a host or from a document, and the least
score by itself that a rule has there: so much for each sentence of the text, at most so much."""
STORY_SENTENCES, NARRATED = 4, 0.75
"""The fewest sentences of a story, and how many words such as "I" and "my" each has on average."""
_STEP = re.compile(r"\d+[.)] ")
_SYMPTOM = re.compile(
    r"\W{0,9}(?:when(?:ever)?|if|(?:each|every) time) (?:i|we) "
    r"(?!.*\b(?:please|must|should|never|do not|don'?t|make sure|you)\b).{1,200}?"
    r"\b(?:it|i|we|(?:the|my|this|that) [\w-]{1,40}(?: [\w-]{1,40})?) (?:now |still |always )?"
    r"(?:reports?|gives?|shows?|throws?|returns?|fails?|crash(?:es|ed)?|sees?|breaks?|hangs?)\b",
    re.IGNORECASE,
)
"""A report of what goes wrong, which is put like a rule: "When I click it, the page shows an
error"."""

_ROW_OR_PATHS = re.compile(
    r"\|.*\|$|[^\t]*\S\t+\S|(?:[^\s/]*+/(?:\\ |\S)*+(?:\s++|$))++\Z", re.DOTALL
)
"""A row of a table, or nothing but paths."""
_ONCE = re.compile(
    r"\W{0,9}(?:please )?(?:git [a-z]+(?: and (?:git )?push)?"
    r"|(?:[^.?!]{1,40} and )?(?:suggest|propose|write|give|generate|create)\b"
    r"(?!.*\b(?:always|every|each|after|before)\b).{0,40}\bcommit messages?)\W*\Z",
    re.IGNORECASE,
)
"""A command, or a request for a commit message: what is asked for once."""
_FIELD = re.compile(
    r"\W{0,9}(?:verify|targets?|trigger|lines|(?:target |expected )?(?:outcome|result)"
    r"|root cause|(?:change )?summary|proposed changes?|acceptance criteria)"
    r"\W{0,4}: ?\W{0,4}\S",
    re.IGNORECASE,
)
"""A field of a plan: "Verify: the page scrolls"."""
_PRESENTS = re.compile(
    r"(?!.*\b(?:rules?|guidelines|constraints|conventions|instructions|règles|consignes|regeln"
    r"|vorgaben|reglas|normas|regole|always|never|must)\b)(?:[^.:!?]{0,40}, )?(?:here(?:['’]s"
    r"| is| are)|voici|hier (?:ist|sind)|aquí (?:está|tienes)|ecco)\b",
    re.IGNORECASE,
)
"""The head of a list of what somebody did or proposes: "Here are the changes:"."""
_REPLACED = re.compile(
    r"(?:\b(?:inst\w{3,6} of|an?statt|au lieu de|en (?:vez|lugar) de|replace)"
    r"|\b(?:change|replace) (?:this|the|that)(?: \w+)?) ?:\Z",
    re.IGNORECASE,
)
"""What stands before the words that somebody wants to have replaced."""
_NO_RULES = _SYMPTOM, _ROW_OR_PATHS, _ONCE, _FIELD, _PRESENTS


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
    return (_find_cached if len(content) <= REMEMBERED_CHARS else _find_long)(content)


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
    return bool(find_rules(content))


def states_mostly(content: str) -> bool:
    """Return whether `content` is short and instructions make up at least half of it.

    Preferences do not count.
    """
    length = len(content.strip())
    if length > SHORT:
        return False
    rules = [rule for rule in find_rules(content) if rule.kind is RuleKind.INSTRUCTION]
    return 2 * sum(len(one_line(rule.text)) for rule in rules) >= max(1, length)


def constraint_sentences(content: str) -> tuple[str, ...]:
    """Return the sentences that state a standing constraint, in order and without repeats.

    If such a sentence announces a list, the items of the list follow it.

    >>> constraint_sentences("Hi! You must not delete files. How are you? Never push.")
    ('You must not delete files.', 'Never push.')
    """
    return tuple(one_line(rule.text) for rule in find_rules(content))


def wording(sentence: str) -> str:
    """Return what the model reads of a sentence: no quotation, list marker or name of a speaker."""
    return SPEAKER.sub("", unquoted(unbulleted(sentence)))


def _find(content: str) -> tuple[FoundRule, ...]:
    found: dict[str, FoundRule] = {}
    for each in _stated(content):
        found.setdefault(wording_of(each.text), each)
    return tuple(found.values())


_find_cached = lru_cache(REMEMBERED)(_find)
_find_long = lru_cache(8)(_find)  # A long message is read by the session and by each node.


def _stated(content: str) -> Iterator[FoundRule]:
    heading, depth, lead = "", -1, None
    spans = [*sentence_spans(content)]
    for number, span in enumerate(spans):
        before = spans[number - 1]
        if number and content.endswith(":", *before) and _REPLACED.search(content, *before):
            continue
        # A scope may end with a full stop: "For the rest of this session. Always ...".
        led = span if lead is None else (lead, span[1])
        lead = None
        # A line that states an instruction may follow a line that has no full stop.
        for start, last in dict.fromkeys((led, span, *_line_spans(content, *span))):
            text = content[start:last]
            sentence = one_line(text)
            is_none = len(sentence) > LONGEST or any(each.match(sentence) for each in _NO_RULES)
            score, leads = (-MOST_OF_PLACE, False) if is_none else _read(sentence)
            if len(spans) >= LONG_SENTENCES and score < min(CLEAR, CLEARER * len(spans)):
                score = -MOST_OF_PLACE
            is_rule = score > -MOST_OF_PLACE and (
                score + _place(content, spans, number, sentence) > 0
            )
            kind = _kind(sentence) if is_rule else None
            scope = _clause(_scope().search(unbulleted(sentence))) if kind else ""
            own_depth = _depth(content, start) if is_bullet(sentence) else -1
            if heading and own_depth > depth:
                kind, scope = kind or RuleKind.INSTRUCTION, heading
            else:
                announces = kind and sentence.rstrip("*_ ").endswith((":", "："))
                heading, depth = sentence if announces else "", own_depth
            if kind and not (leads and content[last : last + 3].lstrip()[:1].islower()):
                yield FoundRule(text, start, last, kind, scope)
                break
            if leads:
                lead = start


def _depth(content: str, start: int) -> int:
    """Return how far an item of a list is indented, a numbered one half a column less."""
    column = start - content.rfind("\n", 0, start) - 1
    return 2 * column + (not content[start].isdigit())


def _line_spans(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a sentence begin and end, if it has several."""
    lines = content[start:end].splitlines(keepends=True)
    for line in lines if len(lines) > 1 else ():
        body = line.strip()
        first = start + len(line) - len(line.lstrip())
        yield first, first + len(body)
        start += len(line)


@cache
def _words(name: str, then: str = "") -> re.Pattern[str]:
    words = "|".join(own_lists("scopes")[name])
    return re.compile(rf"\b(?:{words})\b{then}", re.IGNORECASE)


def _scope() -> re.Pattern[str]:
    return _words("scope", "[^,;:.]*")


def _clause(scope: re.Match[str] | None) -> str:
    return scope[0].strip(" *_") if scope else ""


@lru_cache(REMEMBERED)
def _read(sentence: str) -> tuple[int, bool]:
    """Return the score of a sentence by itself, and whether it is only a scope."""
    is_scope = _clause(_scope().match(unbulleted(sentence))) == sentence.strip(_AROUND)
    return own_model().weigh(wording(sentence)), is_scope


@lru_cache(8)
def turn_features(content: str, sentence_count: int) -> tuple[str, ...]:
    """Return the features that a text gives to each of its sentences.

    Minutes report what people said to each other, and a story what somebody does; neither is for
    the assistant.
    """
    is_story = (
        sentence_count >= STORY_SENTENCES
        and len(_words("narrator").findall(content)) >= sentence_count * NARRATED
        and not _words("address").search(content)
    )
    is_heard = SPEAKER.match(content) is not None
    return tuple(name for name, is_so in ((HEARD, is_heard), (STORY, is_story)) if is_so)


def step_features(sentence: str) -> list[str]:
    """Return the feature of an item of a numbered list, if the sentence is one."""
    return [STEP] if _STEP.match(sentence) else []


def _place(content: str, spans: Sequence[tuple[int, int]], number: int, sentence: str) -> int:
    """Return what the place of a sentence in its text adds to its score.

    The first sentence tells what the text is about, and the one before what it has come to.
    """
    names = [*turn_features(content, len(spans)), *step_features(sentence)]
    own = sum(map(own_model().place, names))
    if not number:
        return own + own_model().place(FIRST if len(spans) > 1 else ALONE)
    before = (
        content[start : min(end, start + LONGEST)] for start, end in (spans[0], spans[number - 1])
    )
    return own + min(sum(_before(one_line(text)) for text in before), MOST_OF_PLACE)


@lru_cache(REMEMBERED)
def _before(sentence: str) -> int:
    return own_model().weigh_before(wording(sentence))


def _kind(sentence: str) -> RuleKind:
    prefers = own_model().prefers(wording(sentence))
    return RuleKind.PREFERENCE if prefers else RuleKind.INSTRUCTION
