"""Statements: a sentence or a line of a log whose numbers, codes and states are its values and whose other words are its key."""

import re
from collections.abc import Iterator, Sequence

from polycontext.window.text.claims.claim import Asked, Claim, Key, Trust, Value, is_plain, is_state
from polycontext.window.text.claims.wording import HEADER, LABELS, LEVELS, LINKS, SCOPE_KEYS, STATES, table
from polycontext.window.text.segments import Span

LONGEST = 240
"""How many characters a sentence has at most that claims one thing."""

MOST_SAID = 6_000
"""A text said of more characters is a document: it states too much to be told apart."""

_SENTENCE_END = re.compile(r"(?<=[^\d\s][.!?])[\"')\]]{0,3}\s+|[。！？]")
_STAMP = re.compile(r"\[?(?:\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2} {1,2}\d{1,2} )?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?\s+")
_TOKEN = re.compile(r"(?:[^\s()\[\]\"“”«»,;!?，。；！？]|(?<=\d),(?=\d))+")
_EDGES = ".:'`…"
_NUMBER = re.compile(r"[-+~<>≤≥≈]?[$€£¥]?\d[\d.,:/'’x–-]*(?:%|°[CF]?|[A-Za-zµ]{1,4}\d{0,2}[a-z]{0,2}|[€$£¥])?", re.ASCII)
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
_EXACT = re.compile(r"\d[,'’]\d{3}|[%€$£¥°]|\d(?:[a-z]|[KMGT]i?B?\b)")
_OPENS = ("(", "[", ",", ";", "=")
_TELLS = ("is", "are", "now", "to", "called", "ist", "lautet", "heißt", "est", "es")
_VERB = re.compile(r"(?:ed|ing|ound|eft|ent)$")
_CODE = re.compile(r"(?=[^\s\d]*\d)(?=[^A-Za-z]*[A-Za-z])[\w.:-]{2,30}")
_ASSIGNED = re.compile(r"(?P<key>[\w.-]{1,40})=(?P<value>\"[^\"]{0,80}\"|[^\s,;]{1,80})")
_LABELLED = re.compile(r"(?P<label>[^:\n]{3,80}?)\s?(?:[:：]| -> | → |\.{3,40})\s(?P<value>\S.*)")
_BARE_SETTING = re.compile(r"[\w-]{1,40}\s?[:=]\s?\S{1,80}")
_SPECIFIC = re.compile(r"[\w»'\"]\d|\d|[\w]-[\w]|['\"`«/_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_RATIO = ("/", "共")
_MOST_STATE_WORDS = 4
_BULLET = re.compile(r"[-*•‣+|>#]|\d{1,3}[.)] |\*\*")
_DIGIT = re.compile(r"\d")
_TOLD = re.compile(r"\d|[=:：→]|->|\.\.\.")
_CODED = re.compile(r"[|<>{}=\\`]|\s--?\w")
_GENERIC = table(
    "error warning info note total result results status count exit code output found time value message summary reason elapsed duration"
)
_ALSO = re.compile(
    r"\b(?:also|another|additional|additionally|too|as well|second|other|extra|auch|weitere[rsn]?|noch|aussi|autre|también|otro|otra)\b|也|还|另|また|もう",
    re.IGNORECASE,
)
_ASKING = re.compile(r"[?？]|[\"“„«「『][^\"”“»」』]{12,}[\"”“»」』]")


def statements(text: str, rows: Sequence[Span], asked: Asked, *, said: bool) -> Iterator[Claim]:
    """Yield what the sentences of somebody, or the lines of a tool's result, claim."""
    if said and len(text) > MOST_SAID:
        return
    above: Key = (_header(text[slice(*rows[0])]),) if len(rows) > 1 else ()
    for start, end in (span for row in rows for span in sentences(text, *row)) if said else rows:
        row = text[start:end]
        if end - start <= LONGEST:
            claim = _stated(row, start) if said else _logged(row, start, Asked((*asked.exact, *above)), alone=len(rows) == 1)
            if claim:
                yield claim
        if HEADER.fullmatch(row):
            above = (*above[:1], row)


def _header(row: str) -> str:
    """Return what the first line of a text says but for its values: a line under another is about another thing."""
    stamp = _STAMP.match(row)
    row = row[stamp.end() :] if stamp else row
    return _masked(row, said=False) or row


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the spans of the sentences of one line of `text`."""
    for match in _SENTENCE_END.finditer(text, start, end):
        yield start, match.end()
        start = match.end()
    if start < end:
        yield start, end


def _stated(row: str, start: int) -> Claim | None:
    if _DIGIT.search(row) is None or _CODED.search(row) or _BULLET.match(row) or _ALSO.search(row) or _ASKING.search(row):
        return None
    masked = _masked(row, said=True)
    if masked is None or len(_WORD.findall(masked)) < 2:  # noqa: PLR2004
        return None
    return Claim(("said", masked), {"": Value(row.strip(), start, start + len(row))}, Trust.SAID)


def _logged(row: str, start: int, asked: Asked, *, alone: bool) -> Claim | None:
    if _TOLD.search(row) is None and row.rpartition(" ")[2].lower() not in STATES:
        return None
    end = start + len(row)
    stamp = _STAMP.match(row)
    place = stamp.end() if stamp else 0
    if (found := _LABELLED.fullmatch(row, place)) and _names(found["label"], alone=alone):
        label, value = found["label"], found["value"]
        if _masked(label, said=False) is None and _begins_plain(value) and label.lower() not in LEVELS:
            return Claim(("label", label, *asked.exact), {"": Value(value, start, end)})
    pairs = list(_ASSIGNED.finditer(row, place)) if "=" in row else []
    if pairs:
        return _assigned(row, start, place, pairs, asked)
    masked = None if _BARE_SETTING.fullmatch(row, place) else _masked(row[place:], said=False)
    if masked is None or (len(_WORD.findall(masked)) < (3 if alone else 6) and not _SPECIFIC.search(masked)):
        return None
    return Claim(("line", masked, *asked.exact), {"": Value(row[place:], start, end)}, Trust.TOLD)


def _names(label: str, *, alone: bool) -> bool:
    """Tell whether a label names one thing: by a number or sign in it, or, where it is all there is, by any word but the commonest."""
    return _SPECIFIC.search(label) is not None or (alone and not _GENERIC.issuperset(label.lower().split()))


def _assigned(row: str, start: int, place: int, pairs: Sequence[re.Match[str]], asked: Asked) -> Claim | None:
    """Return what a line of ``key=value`` claims: what stands before them names it, or the first of them."""
    before = " ".join(word for word in row[place : pairs[0].start()].split() if word.strip("[]:").lower() not in LEVELS)
    scope = [(pair["key"], pair["value"]) for pair in pairs if SCOPE_KEYS.search(pair["key"])]
    names = bool(_WORD.search(before))
    if not names and (len(pairs) < 2 or is_plain(pairs[0]["value"])):  # noqa: PLR2004
        return None
    first = () if names else ((pairs[0]["key"], pairs[0]["value"]),)
    fields = {pair["key"]: Value(pair["value"], start + pair.start(), start + pair.end()) for pair in pairs}
    return Claim(("pairs", before, *first, *scope, *asked.exact), fields, Trust.PLAIN) if len(fields) == len(pairs) else None


def _begins_plain(value: str) -> bool:
    return value[0].isdigit() or (is_state(value) and value.count(" ") < _MOST_STATE_WORDS)


def _masked(row: str, *, said: bool) -> str | None:
    """Return `row` with its values masked; None where it has none."""
    tokens = list(_TOKEN.finditer(row))
    pieces: list[str] = []
    at = 0
    for place, match in enumerate(tokens):
        word = match[0].strip(_EDGES)
        if word and _is_value(word, tokens, place, row, said=said):
            pieces += row[at : match.start()], "\0"
            at = match.end()
    return "".join([*pieces, row[at:]]).strip() if pieces else None


def _is_value(word: str, tokens: Sequence[re.Match[str]], place: int, row: str, *, said: bool) -> bool:  # noqa: PLR0911 - one rule a line
    """Tell whether a word is a value of its line rather than a name: a state, a number that counts or measures, a code behind a link."""
    # What a line begins with is what it is about: "On 3 May ...".
    if place == 0 or (said and place == 1 and tokens[0][0].lower() in LINKS):
        return False
    match = tokens[place]
    before, behind = tokens[place - 1][0], tokens[place + 1][0] if place + 1 < len(tokens) else ""
    linked = before.lower() in LINKS or before.endswith((":", "=", ">", "："))
    if not any(map(str.isdigit, word)):
        ends = not behind and not before[-1].isdigit()
        return not said and (linked or ends) and word.lower() in STATES
    if before.strip(_EDGES).lower() in LABELS or row[match.start() - 1] == "#":
        return False
    if _NUMBER.fullmatch(word) is None:
        tells = before.lower() in _TELLS or before.endswith((":", "=", ">", "："))
        return tells and _CODE.fullmatch(word) is not None
    listed = row[: match.start()].rstrip()[-1:] in _OPENS
    if linked or (listed and behind) or _EXACT.search(word) is not None or _DATE.fullmatch(word) is not None:
        return True
    if behind in _RATIO or behind.startswith(("/", "%")):
        return True
    return bool(behind) and behind[0].isalpha() and _counts(before, tokens[place - 2][0] if place > 1 else "", said=said)


def _counts(before: str, earlier: str, *, said: bool) -> bool:
    """Tell whether a whole number behind `before` counts what follows: behind a noun it is a name ("pump 2 runs")."""
    if _VERB.search(before) is not None or before.lower() in STATES:
        return True
    return said and bool(earlier) and earlier.lower() not in LINKS and before[0].islower()
