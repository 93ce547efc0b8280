"""Find what comes next: the open items of a plan or work list, and what somebody says he will do."""

import re
from collections.abc import Iterator

from polycontext.window.text.segments import MAX_CHARS, Span

MOST_STEPS = 2
"""How many open items of one plan go before all else: the one at work and what follows it."""

_OPEN_STATUS = r"(?:in[ _-]?progress|pending|open|to[ _-]?do|not[ _-]?(?:yet[ _-])?(?:started|begun|done)|next|active|doing|waiting|queued|ongoing|current|running)"
_OPEN_WORD = rf"(?:{_OPEN_STATUS}|still open|offen|ausstehend|in arbeit|läuft|à faire|en cours|en attente|pendiente|en curso|por hacer|待办|待处理|进行中|未完成|未开始|未着手|未対応|対応中|作業中|残り)"
_OPEN_FIELD = re.compile(
    rf'"(?:status|state|phase|progress|zustand|stand|statut|état|estado|状态|状態|進捗)"\s?:\s?"{_OPEN_WORD}"'
    r'|"(?:done|completed?|finished|erledigt|fertig|faite?|terminée?|hech[oa]|terminad[oa]|完成|已完成|完了)"\s?:\s?(?:false\b|0(?!\d))',
    re.IGNORECASE,
)
_OBJECT = re.compile(r'\{(?:[^{}"]|"[^"\\]{0,300}(?:\\.[^"\\]{0,300}){0,40}")*\}')

_BOX = re.compile(r"[-*] \[ ?\] [^\"\\\n]{1,300}")
"""An open item within a string of JSON."""

_LISTED = r"\s*(?:[-*+•|]|\d{1,3}[.)]|\d{1,3}\.\d{1,3}\b|[A-Za-z][.)]|[A-Z][.-]?\d{1,3}\b)"
"""What begins an entry of a list: a state at the end of any other line is that of a thing, not of work."""

_MARKED = re.compile(
    r"(?:[-*+•]|\d{1,3}[.)])?\s*(?:\[ ?\]|\[[~>/.]\]|[☐⬜◻▢□⏳🔲🔜➡→▶🚧🔄⌛🕐])\s*\S"
    rf"|{_LISTED}\s?(?:.{{0,120}}[(（\[【|:：–—-]\s*{_OPEN_WORD}\s*[)）\]】|]?\s*$|[(（\[【]{_OPEN_WORD}[)）\]】]\s*\S)",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"(?:[-*+•]|\d{1,3}[.)])?\s*(?:\[[xX✓✔]\]|[✅✓✔☑])|.{0,120}[(（\[【|:：–—-]\s*(?:done|finished|completed?|erledigt|fertig|fait|terminée?|hecho|listo|完成|已完成|完了|済み?)\s*[)）\]】|]?\s*$",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"(?:[#*_\s]*)(?:next(?: steps?| up)?|what(?:'s| is) (?:next|left|open)|open(?: items| points)?|remaining|left|still (?:open|to (?:do|come)|missing|left)|to[- ]?do|not (?:yet )?(?:started|begun|done)|in progress|to follow"
    r"|pending|outstanding|nächste schritte?|als nächstes|offen|noch (?:offen|nicht (?:fertig|erledigt|begonnen))|ausstehend|todo|prochaines? étapes?|reste(?: à faire)?|à faire|ensuite"
    r"|próximos? pasos?|siguientes? pasos?|pendientes?|sin empezar|queda(?: por hacer)?|falta|接下来|下一步|待办|剩余|未完成|未开始|次(?:に|の(?:ステップ|作業))|残り(?:の作業)?|今後)"
    r"[*_\s]*[:：]",
    re.IGNORECASE,
)
_INTENTION = re.compile(
    r"\b(?:next,? (?:i|we)(?:'ll| will|'m| am|'re| are)|next (?:step|up|comes?|thing|on)|(?:i|we)(?:'ll| will)(?! (?:also )?(?:be|need|have|require|assume)\b)|(?:i|we)(?:'m| am|'re| are) (?:now )?going to"
    r"|(?:after|once) (?:that|this|which),? (?:i|we)|let me (?:now )?|now (?:i|we)(?:'ll| will| want| need)|what(?:'s| is) left|what remains|still to do|remains to"
    r"|my plan is|(?:i|we) (?:plan|intend) to|then (?:i|we)(?:'ll| will)|up next|(?:now |moving )on to|still (?:need|have|want) to|before that (?:i|we)"
    r"|als nächstes|(?:danach|dann|jetzt|nun|anschließend|morgen) (?:werde|mache|kommt|prüfe|schreibe|baue|nehme|gehe|passe|lege|ist)|ich werde|(?:ich|wir) (?:mache|prüfe|schreibe|baue|nehme|gehe|passe|lege)[^.!?]{0,40} (?:als nächstes|jetzt|nun|danach)"
    r"|ensuite,? (?:je|nous|on)|(?:je vais|nous allons|on va)|prochaine étape|la suite|je (?:passe|m'occupe)|il (?:me )?reste"
    r"|a continuación|(?:voy|vamos) a|(?:el )?(?:siguiente|próximo) paso|luego (?:voy|haré|reviso)|después (?:voy|haré)|queda por|lo siguiente)\b"
    r"|接下来|下一步|然后我|我(?:会|将|要|先|再)|之后(?:我|再)|次に|次は|これから|続いて|このあと|その後|つもりです|予定です",
    re.IGNORECASE,
)
_END = re.compile(r"(?:[.!?](?=[\"')\]*_]{0,4}(?:\s|$))|[。！？])[\"')\]*_]{0,4}|\n")
_ASKED = re.compile(
    r"[?？]\s*$|\blet me know\b|\bplease (?:confirm|provide|let|tell|share|choose|send|give)\b|^(?:if|once|when|as soon as) (?:you|there|so)\b",
    re.IGNORECASE,
)


def open_items(text: str) -> list[Span]:
    r"""Return where a plan in `text` has its first open items.

    >>> text = "Fixed.\n1. [x] Find the crash\n2. [ ] Add a test\n3. [ ] Write it down"
    >>> [text[start:end] for start, end in open_items(text)]
    ['2. [ ] Add a test', '3. [ ] Write it down']
    """
    return [*_first(_open_items(text))]


def intention(text: str) -> Span | None:
    """Return where `text` says last what its speaker will do.

    >>> text = "It works. Next I'll tidy up. Shall I?"
    >>> text[slice(*intention(text))]
    "Next I'll tidy up."
    """
    backwards = reversed([*_sentences(text)])
    said = (span for span in backwards if _INTENTION.search(text, *span) and not _ASKED.search(text[slice(*span)]))
    return next(((start, min(end, start + MAX_CHARS)) for start, end in said), None)


def open_entries(arguments: str) -> list[Span]:
    r"""Return where the arguments of a call list work that is not done: records that say so, the first few.

    >>> text = '{"todos": [{"content": "Sort", "status": "completed"}, {"content": "Count", "status": "pending"}]}'
    >>> [text[start:end] for start, end in open_entries(text)]
    ['{"content": "Count", "status": "pending"}']
    """
    found = (match for match in _OBJECT.finditer(arguments)) if '"' in arguments else ()
    entries = [*_first(match.span() for match in found if _OPEN_FIELD.search(match[0]))]
    return entries or [*_first(match.span() for match in _BOX.finditer(arguments))]


def _first(spans: Iterator[Span]) -> Iterator[Span]:
    for _, (start, end) in zip(range(MOST_STEPS), spans, strict=False):
        yield start, min(end, start + MAX_CHARS)


def _open_items(text: str) -> Iterator[Span]:
    start, listed = 0, False
    for line in text.splitlines(keepends=True):
        body, end = line.strip(), start + len(line.rstrip())
        headed = _HEADING.match(line)
        if _MARKED.match(line) and not _DONE.match(line):
            yield start, end
        elif headed and not line[headed.end() :].strip():
            listed = True
        elif listed and body and not _DONE.match(line):
            yield start, end
        else:
            listed = listed and not body
            if ":" in line or "：" in line:
                yield from ((start + first, start + last) for first, last in _sentences(line) if _HEADING.match(line, first))
        start += len(line)


def _sentences(text: str) -> Iterator[Span]:
    at = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        said = text[at:end]
        if said.strip():
            yield end - len(said.lstrip()), at + len(said.rstrip())
        at = end
