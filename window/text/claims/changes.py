"""Changes: sentences that say something is no longer as it was, and the earlier short sentence that they speak of."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import frozen

from polycontext.window.text.claims.change_cues import HEARSAY, MARKS, MOVES, OLD, PAIRED, PAIRS, STOP, STRONG, WAS, WORDS
from polycontext.window.text.claims.statements import MOST_SAID, sentences
from polycontext.window.text.segments import Span

MOST_SENTENCES = 2_000
"""How many of the latest sentences are remembered: a talk of ten thousand turns corrects what was said of late."""

MOST_SENTENCE_CHARS = 180
"""How long a sentence is at most that a later sentence may put right."""

MOST_CHANGES = 40
"""How many sentences of one text may change something: more than that is a document about changes."""

_MOST_SHARING = 6
"""A word that more sentences than this share tells none of them."""

_FEWEST_SHARED, _LEAST_SHARED = 2, 0.25
_OLD_WORDS = 5
_TERM = re.compile(r"[^\W_]+(?:[-._/:@][^\W_]+)*|[\u3040-\u30ff]+|[\u4e00-\u9fff]+")
_CLAUSE = re.compile(r"[:;,–—]\s|\s-\s")
_LETTERS = re.compile(r"[^\W\d_]+")
_LIKELY_TALK = re.compile(r"\s*(?:[-*•]\s|[\w ]{1,40}: |i (?:will|can|would|was|want|am)\b|to \w+ )", re.IGNORECASE)
_FEWEST_CHARS = 8
_LEADING = 1
_MANY_WORDS = 12
_LEAST_SUBJECT = 0.6
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@frozen
class Sentence:
    """Hold a short sentence that somebody said."""

    line: int
    span: Span
    text: str


@frozen
class Worded:
    """Hold a sentence with its words."""

    sentence: Sentence
    words: Mapping[str, Span]
    """Its words without those that every text has, in order, each with the place in its text where it stands first."""
    before: Mapping[str, str]
    """The word that stands right before each."""


@frozen
class Change:
    """Hold a sentence that changes something: its words, those of the old value where it names that, and those before its cue."""

    span: Span
    words: Mapping[str, Span]
    before: Mapping[str, str]
    old: tuple[str, ...]
    subject: frozenset[str]
    """The words before the cue."""


def sentences_of(line: int, text: str) -> Iterator[Sentence]:
    """Yield the short sentences of `text`, which stands on a line of this number; a long text is a document and says nothing of this talk."""
    if len(text) > MOST_SAID:
        return
    for start, end in _spans(text):
        if _FEWEST_CHARS <= end - start <= MOST_SENTENCE_CHARS and not text[start:end].rstrip().endswith(("?", "？")):
            yield Sentence(line, (start, end), text[start:end])


def changes(text: str) -> Iterator[Change]:
    """Yield the sentences of `text` that say of something that it is no longer so; questions and what others said change nothing."""
    if len(text) > MOST_SAID or not _may_change(text):
        return
    asked = 0
    for start, end in _spans(text):
        row = text[start:end]
        if not _FEWEST_CHARS <= end - start <= 2 * MOST_SENTENCE_CHARS or not _may_change(row) or HEARSAY.search(row):
            continue
        asked += 1
        if asked > MOST_CHANGES:
            return
        old = OLD.search(row)
        cue = old or STRONG.search(row)
        if cue is None:
            continue
        words, before = _words_of(text, start, end)
        named = next((group for group in old.groups() if group), "") if old else ""
        gone = tuple(_words_of(named, 0, len(named))[0])[:_OLD_WORDS]
        clause = start + max((match.end() for match in _CLAUSE.finditer(row, 0, cue.start() + 1)), default=0)
        subject = frozenset(word for word, (place, _) in words.items() if clause <= place < start + cue.end() and word not in WORDS)
        if gone or subject or cue.start() <= _LEADING:
            yield Change((start, end), words, before, gone, subject)


def _may_change(text: str) -> bool:
    """Tell whether any cue may stand in `text`; most sentences are ruled out here, at little cost."""
    words = frozenset(_LETTERS.findall(text.lower()))
    if not WORDS.isdisjoint(words) or ("from" in words and any(word.startswith(MOVES) for word in words)):
        return True
    if not PAIRED.isdisjoint(words) and PAIRS.search(text):
        return True
    return not text.isascii() and any(mark in text for mark in MARKS)


class Sentences:
    """Hold sentences by their words, so that those that share some with a sentence are found without asking all."""

    def __init__(self, known: Iterable[Sentence]) -> None:
        self.all = list(known)
        self._index: dict[str, list[Worded]] = {}
        self._indexed = 0

    def _entered(self) -> dict[str, list[Worded]]:
        """Return the sentences by their words; those taken in since the last time are entered first."""
        for sentence in self.all[max(self._indexed, len(self.all) - MOST_SENTENCES) :]:
            worded = Worded(sentence, *_words_of(sentence.text, 0, len(sentence.text)))
            for word in worded.words:
                self._index.setdefault(word, []).append(worded)
        self._indexed = len(self.all)
        return self._index

    def outdated(self, change: Change) -> Iterator[tuple[Sentence, Span]]:
        """Yield the sentences that `change` puts out of date and where: the old value that it names, or all of the sentence."""
        index = self._entered()
        rare = {word: held for word in change.words if len(held := index.get(word, ())) <= _MOST_SHARING}
        about = Counter(id(each) for word, held in rare.items() if word not in change.old for each in held)
        best = max(about.values(), default=0)
        for sentence in {id(each): each for held in rare.values() for each in held if about[id(each)] == best and best}.values():
            if change.old:
                named = [word for word in change.old if word in sentence.words and word in rare]
                if best < _FEWEST_SHARED and len(sentence.words) > _MANY_WORDS:
                    continue
                if named and named[0] == change.old[0] and 2 * len(named) >= len(change.old) and (span := _run(sentence, named)):
                    yield sentence.sentence, span
            elif _speaks_of(change, sentence, best):
                yield sentence.sentence, sentence.sentence.span


def _speaks_of(change: Change, sentence: Worded, count: int) -> bool:
    """Tell whether a change that names no old value is about this sentence: enough shared words, none behind another modifier, no other number."""
    if _LIKELY_TALK.match(sentence.sentence.text) or sentence.words.keys() >= change.words.keys():
        return False
    if change.subject:
        held = sum(1 for word in change.subject if word in sentence.words)
        if held < _LEAST_SUBJECT * len(change.subject) or any(_is_numbered(word) and word not in sentence.words for word in change.subject):
            return False
    if count < _FEWEST_SHARED - (len(change.subject) == 1) or count < _LEAST_SHARED * min(len(sentence.words), len(change.words)):
        return False
    return not any(_modified(word, change, sentence) for word in change.words if word in sentence.words)


def _modified(word: str, change: Change, sentence: Worded) -> bool:
    """Tell whether a shared word stands behind two different words in the two sentences: the unit tests, the integration tests."""
    one, other = change.before.get(word, ""), sentence.before.get(word, "")
    return bool(one and other) and one != other and one not in sentence.words and other not in change.words


def _is_numbered(word: str) -> bool:
    return any(map(str.isdigit, word))


def _run(sentence: Worded, held: Collection[str]) -> Span | None:
    """Return where the words of an old value stand in the sentence, from the first one on; None where they are told as old already."""
    places = sorted(sentence.words[word] for word in held)
    start, end = sentence.words[next(iter(held))]
    if WAS.search(sentence.sentence.text[:start]):
        return None
    for first, last in places:
        if first >= end and first - end <= 3:  # noqa: PLR2004
            end = last
    return sentence.sentence.span[0] + start, sentence.sentence.span[0] + end


def _spans(text: str) -> Iterator[Span]:
    at = 0
    for row in text.split("\n"):
        yield from sentences(text, at, at + len(row))
        at += len(row) + 1


def _words_of(text: str, start: int, end: int) -> tuple[dict[str, Span], dict[str, str]]:
    """Return the words that tell a sentence, stemmed a little, with their places, and the word before each."""
    words: dict[str, Span] = {}
    before: dict[str, str] = {}
    last = ""
    for match in _TERM.finditer(text, start, end):
        raw = match[0].lower()
        if _UNSPACED.match(raw):
            for place in range(len(raw) - 1):
                words.setdefault(raw[place : place + 2], (match.start() + place, match.start() + place + 2))
            last = ""
        elif raw in STOP or (len(raw) == 1 and not raw.isdigit()):
            last = ""
        else:
            word = raw[:-1] if len(raw) > 3 and raw.endswith("s") and not raw.endswith("ss") else raw  # noqa: PLR2004
            words.setdefault(word, match.span())
            before.setdefault(word, last)
            last = word
    return words, before
