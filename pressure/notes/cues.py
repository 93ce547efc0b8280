"""Cues: what announces a failure, a next step, a command, its output or the end of a talk."""

import re

MOST_STEPS = 2
"""How many open items of a plan are kept first: the current one and the next."""

_FAILURE = re.compile(
    r"[\w.$]{0,80}(?:Error|Exception|Failure|Panic|Interrupt)\b|Caused by:|Unhandled |ERROR\b"
    r"|FAIL(?:ED)?\b|E (?=\S)|fatal:|panic:"
    r"|error(?:\[\w{1,9}\])?:|thread '[^'\n]{1,80}' panicked"
)
_OPEN = (
    r"(?:in[ _-]?progress|pending|(?:still )?open|to[ _-]?do|not[ _-]?(?:yet[ _-])?(?:started"
    r"|begun|done)|next|active|doing|waiting|queued|ongoing|current|running"
    r"|offen|ausstehend|in arbeit|läuft|à faire|en cours|en attente|pendiente|en curso|por hacer"
    r"|待办|待处理|进行中|未完成|未开始|未着手|対応中|作業中)"
)
_FINISHED = (
    r"(?:done|finished|completed?|erledigt|fertig|faite?|terminée?"
    r"|hech[oa]|listo|完成|已完成|完了|済み?)"
)
_PAIR = re.compile(
    rf"\b(?:status|state|phase|progress|zustand|statut|état|estado|状态|状態|進捗)\"? {_OPEN}(?!\w)"
    rf"|\b{_FINISHED}\"? (?:false\b|0(?!\d))",
    re.IGNORECASE,
)
_LISTED = r"\s*(?:[-*+•|]|\d{1,3}[.)]|\d{1,3}\.\d{1,3}\b|[A-Za-z][.)]|[A-Z][.-]?\d{1,3}\b)"
"""The beginning of a list entry. A state at the end of any other line describes a thing, not a
task."""

_PAIR_DONE = re.compile(rf"\b(?:status|state|phase|progress)\"? {_FINISHED}(?!\w)", re.IGNORECASE)
_MARKED = re.compile(
    r"(?:[-*+•]|\d{1,3}[.)])?\s*(?:\[ ?\]|\[[~>/.]\]|[☐⬜◻▢□⏳🔲🔜➡▶🚧🔄⌛🕐])\s*\S"
    rf"|{_LISTED}\s?(?:.{{0,120}}[(（\[【|:：–—-]\s*{_OPEN}\s*[)）\]】|]?\s*$"
    rf"|[(（\[【]{_OPEN}[)）\]】]\s*\S)",
    re.IGNORECASE,
)
_DONE = re.compile(
    rf"(?:[-*+•]|\d{{1,3}}[.)])?\s*(?:\[[xX✓✔]\]|[✅✓✔☑])"
    rf"|.{{0,120}}[(（\[【|:：–—-]\s*{_FINISHED}\s*[)）\]】|]?\s*$",
    re.IGNORECASE,
)
_INTENTION = re.compile(
    # Few words begin with one of these letters and go on like this.
    r"\b(?=[abdeijlmnopqrsvw])"
    r"(?:next (?:step|up|comes?|thing|on)|(?:i|we)(?:'ll| will)(?! (?:also )?(?:be"
    r"|need|have|require|assume)\b)|(?:i|we)(?:'m| am|'re| are) (?:now )?going to"
    r"|(?:after|once) (?:that|this|which),? (?:i|we)|let me|now (?:i|we)(?: want| need)|what(?:'s"
    r"| is) left|what remains|still to do|remains to|my plan is|(?:i|we) (?:plan|intend) to"
    r"|(?:now |moving )on to|still (?:need|have|want) to|before that (?:i|we)|als nächstes"
    r"|(?:danach|dann|jetzt|nun|morgen) (?:werde|mache|kommt|prüfe|schreibe|baue|nehme|gehe)"
    r"|(?:ich|wir) werden?"
    r"|ensuite,? (?:je|nous|on)|(?:je vais|nous allons|on va)|prochaine étape|la suite|je passe"
    r"|il (?:me )?reste"
    r"|a continuación|(?:voy|vamos) a|(?:siguiente|próximo) paso|(?:luego|después) (?:voy|haré"
    r"|reviso)|queda por|lo siguiente)\b"
    r"|接下来|下一步|然后我|我(?:会|将|要|先|再)|之后(?:我|再)|次[には]|これから|続いて|このあと|その後|つもりです|予定です"
)
_CLOSER = re.compile(
    r"\b(?:feel free|happy to (?:help|assist)|(?:any|some)thing else|(?:further|more|additional)"
    r" (?:assistance|help|questions)|any other (?:questions|requests)|have a (?:great|nice|good"
    r"|lovely|wonderful|safe|pleasant))\b|^\W*(?:thank(?:s| you)|you(?:'re| are) (?:very )?welcome"
    r"|no (?:worries|problem)|good ?bye|take care|gern geschehen|vielen dank|danke|de rien|merci"
    r"|de nada|gracias)\b[^,.;:!?]*\W*$",
)
_BRIEF = re.compile(r"\D{0,120}")

_ASKED = re.compile(
    r"[?？]\s*$|\blet me know\b|\bplease (?:confirm|provide|let|tell|share|choose|send|give)\b"
    r"|^(?:if|once|when|as soon as) (?:you|there|so)\b",
    re.IGNORECASE,
)


def says_failure(text: str) -> bool:
    """Return whether a line begins as error messages do.

    >>> says_failure("ZeroDivisionError: division by zero"), says_failure("No error was found.")
    (True, False)
    """
    return _FAILURE.match(text) is not None


def is_question(text: str) -> bool:
    """Return whether a sentence ends as questions do."""
    return text.endswith(("?", "？"))


def is_closer(sentence: str) -> bool:
    """Return whether a sentence is thanks or an offer of more help, and nothing else.

    >>> is_closer("Is there anything else?"), is_closer("Thanks, my booking is QX1.")
    (True, False)
    """
    return bool(_BRIEF.fullmatch(sentence) and _CLOSER.search(sentence.lower()))


def is_open(note: str) -> bool:
    """Return whether a pair or line of a call's arguments is work that is not done.

    >>> (
    ...     is_open("{content Count, status pending}"),
    ...     is_open("- [ ] Count"),
    ...     is_open("{content Sort, status completed}"),
    ... )
    (True, True, False)
    """
    return _PAIR.search(note) is not None or (
        _MARKED.match(note) is not None and not _DONE.match(note)
    )


def is_done(note: str) -> bool:
    """Return whether a point of a plan is marked as done.

    >>> is_done("- [x] Count"), is_done("- [ ] Count"), is_done("{content Sort, status completed}")
    (True, False, True)
    """
    return _DONE.match(note) is not None or _PAIR_DONE.search(note) is not None


def is_intention(sentence: str) -> bool:
    """Return whether a sentence states what its speaker will do next."""
    return _INTENTION.search(sentence.lower()) is not None and not _ASKED.search(sentence)
