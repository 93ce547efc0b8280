"""Where a text says what matters whatever its subject: what failed, what was decided, what is listed, and what is to hold from now on."""

import re
from collections.abc import Iterator, Sequence

from attrs import Factory, define

from polycontext.linearity import constraint_sentences
from polycontext.linearity.classifying.constraints import default_rule
from polycontext.window.text.segments import Span

_MISSES_ALLOWED = 3

FAILURE_CHARS = 300
"""How far before its error line the last frame of a stack trace may start, and how long an error line is at most."""

_FRAME = r"File \"[^\"\n]{1,200}\", line \d|at [^\n]{1,200}[:(]\d"
_ERROR = (
    r"[\w.$]{0,80}(?:Error|Exception|Failure|Panic|Interrupt)\b|Caused by:|Unhandled |ERROR\b|FAIL(?:ED)?\b|E (?=\S)|fatal:|panic:"
    r"|error(?:\[\w{1,9}\])?:|thread '[^'\n]{1,80}' panicked"
)
_TRACE = re.compile(rf"^(?:(?P<frame>{_FRAME})|(?P<error>{_ERROR}))", re.MULTILINE)
_DECISION = re.compile(
    r"\b(?:decid(?:ed?|ing)|decisions?|agreed|agree on|chosen?|chose|conclu(?:ded?|sions?)|settled? (?:on|for)|(?:go|going|went) (?:with|for)"
    r"|instead of|confirmed|turns? out|root cause)\b|决定|決定|결정",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:remind me|(?:do|can|could) you (?:still )?(?:remember|recall)"
    r"|(?:what|which|who|whose|when|where|why|how)\b[^.?!\n]{0,60}?\b(?:(?:did|had|have) (?:i|we|you)\b"
    r"|(?:i|we|you) (?:said|say|told|tell|mention(?:ed)?|agreed?|decided?|chose|discuss(?:ed)?)\b|(?:was|were)\b)"
    r"|(?:did|have) (?:i|we|you) (?:already |ever )?(?:say|said|tell|told|mention(?:ed)?|agreed?|decided?|discuss(?:ed)?)\b"
    r"|(?:earlier|previously|last time|back then|at the (?:start|beginning))\b)",
    re.IGNORECASE,
)
_LIST = re.compile(r'(?:"[^"\n]{1,40}"\s?:\s?)?\[(?:"[\w./@:-]{1,60}",?\s?){2,60}\]')
_DIGIT = re.compile(r"\d")
_ASKING = re.compile(r"[?\uff1f]|\bremind me\b", re.IGNORECASE)


@define
class Failures:
    """Hold the error lines of a text and, for each that has one, the frame nearest to it; both ascending."""

    errors: list[Span] = Factory(list)
    frames: list[Span] = Factory(list)


def failures(text: str) -> Failures:
    r"""Find where `text` (lines without margins) says what failed.

    The nearest frame is the last one before the error line (Python) or the first one right after it (Java, JavaScript).

    >>> text = 'File "a.py", line 1, in f\nFile "b.py", line 7, in g\nreturn 1 / 0\nZeroDivisionError: division by zero\nok'
    >>> found = failures(text)
    >>> [text[start:end] for start, end in found.errors + found.frames]
    ['ZeroDivisionError: division by zero', 'File "b.py", line 7, in g\nreturn 1 / 0\n']
    """
    found = Failures()
    frame = failed = -FAILURE_CHARS
    for match in _TRACE.finditer(text):
        start, end = match.start(), _line_end(text, match.start())
        if match["error"]:
            if start - frame < FAILURE_CHARS:
                found.frames.append((frame, start))
            found.errors.append((start, end))
            frame, failed = -FAILURE_CHARS, end
        elif start == failed + 1:
            found.frames.append((start, end))
        else:
            frame = start
    return found


def decision_spans(text: str) -> list[Span]:
    """Return where `text` uses the words with which a matter is settled.

    >>> decision_spans("We agreed on Postgres.")
    [(3, 9)]
    """
    return [match.span() for match in _DECISION.finditer(text)]


def work_lists(text: str) -> list[Span]:
    """Return where `text` lists ids: what is still to be gone through, most of the time.

    >>> text = '{"orders": ["W1", "W2"], "kind": ["a", "b"]}'
    >>> [text[start:end] for start, end in work_lists(text)]
    ['"orders": ["W1", "W2"]']
    """
    found = (match for match in _LIST.finditer(text)) if "[" in text else ()
    return [match.span() for match in found if _DIGIT.search(match[0])]


def asks_about_the_past(text: str) -> bool:
    """Tell whether `text` asks what was said, done or decided before, in the words with which that is asked in English.

    >>> asks_about_the_past("Which seat did we agree on?"), asks_about_the_past("Can you book it?")
    (True, False)
    """
    return _ASKING.search(text) is not None and _PAST.search(text) is not None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start, start + FAILURE_CHARS)
    return end if end >= 0 else min(len(text), start + FAILURE_CHARS)


def standing_spans(text: str, body: str) -> tuple[Span, ...]:
    """Return where in `body`, which is `text` with its white space normalised, a sentence states a standing instruction.

    >>> body = "Hi. Never delete files. Go on."
    >>> [body[start:end] for start, end in standing_spans(body, body)]
    ['Never delete files.']
    """
    return tuple(_spans_of(constraint_sentences(text), body))


def preference_spans(body: str) -> list[Span]:
    """Return where a sentence of `body` states a preference of the user or a fact about them.

    >>> preference_spans("Hi. I'm allergic to nuts.")
    [(4, 25)]
    """
    return list(_spans_of(default_rule().notes(body), body))


def _spans_of(sentences: Sequence[str], body: str) -> Iterator[Span]:
    flat = body.replace("\n", " ")
    at = misses = 0
    for sentence in sentences:
        wanted = " ".join(sentence.split())
        start = flat.find(wanted, at)
        if start >= 0:
            at = start + len(wanted)
            yield start, at
        elif (misses := misses + 1) == _MISSES_ALLOWED:
            break
