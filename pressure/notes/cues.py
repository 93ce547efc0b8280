"""Cues: what announces a failure, a next step, a command, its output or the end of a talk."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from polycontext.linearity import constraint_sentences

from ..terms import is_prose

MOST_STEPS = 2
"""How many open items of a plan are kept first: the current one and the next."""

_FAILURE = re.compile(
    r"[\w.$]{0,80}(?:Error|Exception|Failure|Panic|Interrupt)\b|Caused by:|Unhandled |ERROR\b"
    r"|FAIL(?:ED)?\b|E (?=\S)|fatal:|panic:"
    r"|error(?:\[\w{1,9}\])?:|thread '[^'\n]{1,80}' panicked"
)
_FRAME = re.compile(r"File \"[^\"\n]{1,200}\", line \d|at [^\n]{1,200}[:(]\d")
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

_MARKED = re.compile(
    r"(?:[-*+•]|\d{1,3}[.)])?\s*(?:\[ ?\]|\[[~>/.]\]|[☐⬜◻▢□⏳🔲🔜➡→▶🚧🔄⌛🕐])\s*\S"
    rf"|{_LISTED}\s?(?:.{{0,120}}[(（\[【|:：–—-]\s*{_OPEN}\s*[)）\]】|]?\s*$"
    rf"|[(（\[【]{_OPEN}[)）\]】]\s*\S)",
    re.IGNORECASE,
)
_DONE = re.compile(
    rf"(?:[-*+•]|\d{{1,3}}[.)])?\s*(?:\[[xX✓✔]\]|[✅✓✔☑])"
    rf"|.{{0,120}}[(（\[【|:：–—-]\s*{_FINISHED}\s*[)）\]】|]?\s*$",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"[#*_\s]*(?:next(?: steps?| up)?|what(?:'s| is) (?:next|left|open)|open(?: items| points)?"
    r"|remaining|left|still (?:open|to (?:do|come)|missing|left)|to[- ]?do|not (?:yet )?(?:started"
    r"|begun|done)"
    r"|in progress|to follow|pending|outstanding|nächste schritte?|als nächstes|(?:noch )?offen"
    r"|ausstehend|todo|prochaines? étapes?|reste(?: à faire)?|à faire|ensuite"
    r"|(?:próximos?|siguientes?) pasos?|pendientes?|queda(?: por hacer)?|falta"
    r"|接下来|下一步|待办|剩余|未完成"
    r"|次(?:に|のステップ)|残り(?:の作業)?|今後)[*_\s]*[:：]",
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
_CHANGE = re.compile(
    r"\b(?:instead|rather|prefer|no longer|not \d|moved?|chang|switch|swap|scratch|drop|forget"
    r"|replac|place of|update|correct|postpon|shift|convert|from [^.]{1,40} to\b|statt"
    r"|verschoben|geändert|plutôt|lieu|passe|déplac|lugar|cambi|ya no)|\(was |换成|改成|改为|変更",
)
_READS = frozenset(
    re.findall(
        r"\w+",
        "get list search find read view look lookup show check fetch query count calculate think "
        "retrieve describe browse grep glob inspect load cat ls head tail less nl rg sed awk wc "
        "diff tree pwd which echo stat",
    )
)
"""Words in the names of tools and commands that change nothing."""

_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")
_WRITES = re.compile(
    r"\b(?:sed|perl)\b[^|;&\n]*\s-\w*i|(?<![\d&>=-])>>?\s?(?!/dev/|&)[\w./~$_]|\|\s*tee\b"
)
"""A command that writes a file, whatever its first word is, where quoted text is ``_``."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")

_WRAPPER = re.compile(
    r"<(?:returncode|exit_code)>[^<]*</\w+>|</?(?:output|stdout|stderr|observation|result)\w*>"
)
_REFUSAL = re.compile(
    r"^\W*(?:no|nope|nein|non|stop|halt|wait|hold on|warte|attends|espera|para)\b"
    r"|\b(?:stop|wrong|cancel|don't|do not|not (?:yet|now)|never mind|undo|rather not|instead"
    r"|nicht|falsch|pas|faux|no lo|mal)\b|不要|别|不对|停|やめ|待って|違",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?\w+>")
_VERDICT = re.compile(r"(?:OK|PASS|FAIL|BUILD)\b|Ran \d+ tests?")
_RESULTS = re.compile(r"\d(?<!\w\w)\d* (?:passed|failed|errors?|tests? (?:passed|failed|in))\b")
_FENCE = re.compile(r"```(?:bash|console|sh|shell|zsh)")
_SENTENCE = re.compile(r"\s*[^\W\d_a-z](?:\S* ){5,}\S+[.:!?](?:\n|\Z)")
_OUTPUT = re.compile(r"\s*(?:<\w+>|(?:exit code|observation|output|stdout)\b)", re.IGNORECASE)
_COMMAND = re.compile(r"(?:cd [^&;\n]{1,200}(?:&&|;|\n))?\s*(\w+)(?: (show|diff|grep)\b)?")
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


def failing(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indices of error lines and of the stack frame nearest to each.

    The frame is the last one before the error, with its line of code, or the first right after it.
    """
    frame, error = -1, -2
    for place, line in enumerate(lines):
        if _FRAME.match(line):
            if place == error + 1:
                yield place
            frame = place
        elif says_failure(line):
            yield place
            if frame >= 0:
                yield from (frame, frame + 1)
            frame, error = -1, place


def says_change(text: str) -> bool:
    """Return whether a statement has a word of change, which may correct an earlier one.

    >>> says_change("Take the morning train instead."), says_change("The train leaves at nine.")
    (True, False)
    """
    return not is_question(text) and _CHANGE.search(text.lower()) is not None


def is_question(text: str) -> bool:
    """Return whether a sentence ends as questions do."""
    return text.endswith(("?", "？"))


def may_change(name: str, command: str = "") -> bool:
    """Return whether a call can change something; a `command` tells more than the tool's name.

    >>> may_change("cancel_order"), may_change("getOrder"), may_change("bash", "cd a && ls")
    (True, False, False)
    """
    begun = _COMMAND.match(command) if command else None
    if begun and _WRITES.search(_QUOTED.sub("_", command.partition("\n")[0])):
        return True
    words = [*filter(None, begun.groups())] if begun else _WORD.findall(name)
    return _READS.isdisjoint(map(str.lower, words))


def command_at(lines: Sequence[str]) -> int:
    """Return the index of the first line of the last shell command in a text, or -1.

    Agents without tools write commands as blocks of code; the next message is the output.

    >>> command_at(["I look.", "```bash", "ls src", "```"]), command_at(["ls src"])
    (2, -1)
    """
    return max(
        (place + 1 for place, line in enumerate(lines) if _FENCE.fullmatch(line)), default=-1
    )


def is_output(text: str) -> bool:
    r"""Return whether the answer to a command begins as its output does, and not with a sentence.

    >>> is_output("<returncode>1</returncode>"), is_output("a.py\n" * 200)
    (True, True)
    >>> is_output("Please give one command at a time, not two.\n\n" + "a.py\n" * 200)
    False
    """
    if _OUTPUT.match(text):
        return True
    return not (is_prose(text) or _SENTENCE.match(text) or constraint_sentences(text))


def size_of(text: str) -> tuple[int, int]:
    r"""Return the lines of an output without its tags, and its letters.

    >>> size_of("<returncode>0</returncode>\n<output>\n\na\nb\n</output>")
    (3, 4)
    """
    lines = [line for line in text.strip("\n").split("\n") if not _WRAPPER.fullmatch(line)]
    return len(lines), len("\n".join(lines))


def refuses(sentence: str) -> bool:
    """Return whether a sentence tells somebody not to go on as announced.

    >>> refuses("No, stop."), refuses("Good, how many are there?")
    (True, False)
    """
    return _REFUSAL.search(sentence) is not None or says_change(sentence)


def is_tag(line: str) -> bool:
    """Return whether a line is nothing but a tag around others."""
    return _TAG.fullmatch(line) is not None


def says_verdict(line: str) -> bool:
    """Return whether a line of output says how a run of tests or a build ended.

    >>> says_verdict("== 3 failed, 9 passed in 0.3s =="), says_verdict("collected 12 items")
    (True, False)
    """
    return _VERDICT.match(line) is not None or _RESULTS.search(line) is not None


def is_closer(sentence: str) -> bool:
    """Return whether a sentence is thanks or an offer of more help, and nothing else.

    >>> is_closer("Is there anything else?"), is_closer("Thanks, my booking is QX1.")
    (True, False)
    """
    return bool(_BRIEF.fullmatch(sentence) and _CLOSER.search(sentence.lower()))


def planned(lines: Sequence[Sequence[str]]) -> set[str]:
    """Return the sentences of the first open items of a plan in `lines`, lists of sentences.

    >>> sorted(planned([["Fixed."], ["1. [x] Find it"], ["2. [ ] Test it"], ["3. [ ] Write it"]]))
    ['2. [ ] Test it', '3. [ ] Write it']
    """
    return {*chain.from_iterable(islice(_open_items(lines), MOST_STEPS))}


def intended(lines: Sequence[Sequence[str]]) -> set[str]:
    """Return the last sentence in `lines` that states what its speaker will do next.

    >>> intended([["It works.", "Next I'll tidy up.", "Shall I?"]])
    {"Next I'll tidy up."}
    """
    said = reversed([*chain.from_iterable(lines)])
    return {*islice(filter(is_intention, said), 1)}


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


def is_intention(sentence: str) -> bool:
    """Return whether a sentence states what its speaker will do next."""
    return _INTENTION.search(sentence.lower()) is not None and not _ASKED.search(sentence)


def _open_items(lines: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    listed = False
    for sentences in lines:
        line = " ".join(sentences)
        headed = _HEADING.match(line)
        if headed and not line[headed.end() :].strip():
            listed = True
        elif (listed or _MARKED.match(line)) and not _DONE.match(line):
            yield sentences
        else:
            listed = False
            if headed or len(sentences) > 1:
                yield from ([said] for said in sentences if _HEADING.match(said))
