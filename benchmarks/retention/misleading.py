"""Find what misleads or delays a reader of a summary, independently of the summariser.

Joins across list items or lines of code, edits that were undone, open items that were done later,
and lines that carry nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import median

from attrs import frozen

from benchmarks.retention.entries import MARK, SPEAKER, content_of
from benchmarks.retention.recall import flat
from benchmarks.retention.recordings import Message

OPEN = frozenset({"Open:", "Next:"})
"""The headings of what is still to be done."""
_HEADING = re.compile(r"[A-Z][\w' ]{2,40}:")
_ITEM = re.compile(r"\s*(?:(?:[-*+•▪◦]|\d{1,4}[.)]|\[[ xX-]\])\s|#{1,6}\s|\||>\s|\d+[→:│|]\s?)")
_CODE = re.compile(
    r"\s{2,}\S|\t|.*[{};=\\,(]\s*$|.*(?:[=!<>]=|=>|->|::|\(\)|</?\w+[^<>]*>)|[\w.\[\]]+ = \S"
    r"|.*\w\(\S.*\)$"
)
_SPAN = re.compile(r"`[^`\n]+`")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_OUTPUT = re.compile(r"<returncode>|<output>|\(Current directory: |^bash-\$", re.MULTILINE)
_LEAST = 12
"""The characters that tell one line from others."""

_CHANGE = re.compile(r"\bsed -i|>>? ?[\w./-]+|<<'?\"?EOF|\b(?:str_replace|create|insert|edit)\b")
_BACK = re.compile(
    r"git (?:checkout(?: HEAD)?(?: --)? (?!-)|restore (?!--staged))(?P<file>[\w.*/-]+)"
    r"|git (?:reset --hard|stash\b(?! (?:pop|apply|list|show)))"
)
_COMMIT = re.compile(r"^(?:> )?Commit (?P<hash>[0-9a-f]{7,40}) (?P<title>.+?)\s*$", re.MULTILINE)
_REMOVED = re.compile(r"^(?:> )?Removed: (?P<hash>[0-9a-f]{7,40})\b", re.MULTILINE)
_UNDONE = re.compile(
    r"\b(?:undo|undone|undid|reverte?d?s?|removed|put back|taken back|discarded)\b", re.IGNORECASE
)
_REPLACED = re.compile(r"^=======\n(.*?)^>>>>>>> REPLACE", re.MULTILINE | re.DOTALL)

_ANNOUNCED = re.compile(
    r"(?:(?:ok|okay|now|next|first|then|so|great|perfect|good)[,.!:]*\s+)*"
    r"(?:i(?:'|’)?ll|i will|i am going to|i need to|i should|let(?:'|’)?s|let me|we(?:'|’)?ll)\b",
    re.IGNORECASE,
)
_TODO = re.compile(
    r"[-*\s]*(?:\d+[.)]\s*)?(?:\[(?P<box>.{1,2})\]|(?P<sign>[✅☑✔☐⬜⏳✗☒]))\s*(?P<text>\S.*)"
)
_DONE = frozenset("xX✅☑✔☒")
_COVERED = 0.6
_WORD = re.compile(r"[^\W_]{4,}")
_FAILS = re.compile(r"error|exception|fail|denied|cannot|not found|warn|refused", re.IGNORECASE)

_NOISE = re.compile(
    r"""\W*$                                                      # punctuation alone
    | (?:EOF|pass|end|fi|done|else:?|try:|return|output|None|true|false)\W*$
    | \W*\d+(?:[.:,/]\d+)*\s?(?:m?s|%|[kMG]i?B|tokens?)\W*$        # a duration or a size alone
    | .*[│█▏▎▍▌▋▊▉░▒▓]{2,} | .*\d+%\s?(?:\||\[|$) | [.sFxE]{6,}\W*(?:\[\s*\d+%\])?$
    | [-=_~*.#+]{3,}\s*\S*\s*[-=_~*.#+]{3,}$
    | .*\b(?:Requirement\ already\ satisfied|Downloading\ |Collecting\ \w|Using\ cached|Fetched\ \d)
    | (?:✓|✔|√|\(pass\)|ok\ \d)\s | .*(?:::\S+|\.\.\.)\ (?:PASSED|ok)\W*(?:\[\s*\d+%\])?$
    | File\ "[^"]*",\ line\ \d+ | at\ \S+\ \(?.*:\d+:\d+\)?$ | Traceback\ \(most\ recent
    | \((?:Open\ file|Current\ directory):.* | bash-\$$ | \(\d+\ more\ lines\ (?:above|below)\)$
    | (?:>\ )?(?:Tokens:\ [\d.,k]+\ sent|You\ can\ use\ /undo|Repo-map:|Aider\ v\d)
    | total\ \d+$ | [d-][rwx-]{9}[.@+]?\s | [a-z_][\w-]*:[x*!]?:\d+:\d+: | \#include\b
    | (?:Cloning|Destroying|Creating)\ test\ database
    | (?:\W*(?:\{\w+\}|[uh]h+|u[hm]+|m+(?:-?h+m+)?|hm+|yeah|okay|oops|wow)\b\W*)+$        # fillers
    | \d+\s+\d+\s+\d+\s.*--:--:-- | %\ Total\b | Dload\b | </?[\w-]+>$""",
    re.VERBOSE,
)


@frozen
class Line:
    """A line of a source, flattened, with its message, place, and whether it stands for itself.

    List items and lines of code or output stand for themselves; lines of a paragraph do not.
    """

    text: str
    message: int
    place: int
    alone: bool


def lines_of(messages: Sequence[Message]) -> list[Line]:
    r"""Return the lines of messages that are neither empty nor JSON.

    >>> said = "`load()` reads a file.\nreader = load(path)"
    >>> [line.alone for line in lines_of([{"role": "assistant", "content": said}])]
    [False, True]
    """
    return [
        line
        for number, message in enumerate(messages)
        for line in _lines(content_of(message), number, output=message["role"] == "tool")
    ]


@lru_cache(2_000)
def _lines(said: str, message: int, *, output: bool) -> tuple[Line, ...]:
    if said.lstrip()[:1] in "{[" and '":' in said:
        return ()
    found, fenced, output = list[Line](), False, output or bool(_OUTPUT.search(said))
    for place, line in enumerate(said.splitlines()):
        if _FENCE.match(line):
            fenced = not fenced
        elif text := flat(line):
            alone = (
                output or fenced or bool(_ITEM.match(line) or _CODE.match(_SPAN.sub("code", line)))
            )
            found.append(Line(text, message, place, alone))
    return tuple(found)


def joins(said: str, lines: Sequence[Line]) -> Iterator[tuple[str, bool]]:
    r"""Yield each line of a summary that joins texts, and whether it does so across lines.

    Texts of one paragraph may be joined; an item or a line of code or output may not be joined with
    anything.

    >>> lines = lines_of([{"role": "user", "content": "- ask Ada about it\n- tell Ben of the end"}])
    >>> [crosses for _, crosses in joins("ask Ada … of the end", lines)]
    [True]
    """
    for line in said.split("\n"):
        text = line.strip()
        runs = [run for each in MARK.split(flat(text)) if len(run := each.strip(" -*")) > 1]
        if not runs or any(text in each.text for each in lines):
            continue
        homes = [[each for each in lines if run in each.text] for run in runs]
        if len(runs) > 1:
            yield (
                text,
                any(
                    bool(left and right) and not _are_together(left, right)
                    for left, right in pairwise(homes)
                ),
            )
        elif not homes[0] and (parts := [*_parts(runs[0], lines)]):
            yield text, any(part.alone for part in parts)


def _are_together(left: Sequence[Line], right: Sequence[Line]) -> bool:
    return any(one == other or not (one.alone or other.alone) for one in left for other in right)


def _parts(run: str, lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the consecutive lines of a source whose break stands inside a run."""
    for one, other in pairwise(lines):
        seam = f"{one.text[-_LEAST:]} {other.text[:_LEAST]}"
        if one.message == other.message and seam in run:
            yield from (one, other)


@frozen
class Undone:
    """Edits that were taken back: the lines that only they have, and the names of their commit."""

    lines: frozenset[str]
    names: tuple[str, ...]
    sign: str

    def stands_in(self, summary: str, view: str) -> str | None:
        """Return what a summary tells as if it still stood, or None.

        A line that says itself that it was undone does not, nor does anything in a view that shows
        what took it back.
        """
        if self.sign in flat(view):
            return None
        for line in summary.split("\n"):
            text = flat(line)
            if not _UNDONE.search(text) and (
                any(name in text for name in self.names) or any(each in text for each in self.lines)
            ):
                return text
        return None


def undone(messages: Sequence[Message]) -> Iterator[Undone]:
    """Yield the edits that a conversation took back: with git, or with the `/undo` of aider."""
    acts = [_act(message) for message in messages]
    for number, act in enumerate(acts):
        for back in _BACK.finditer(act):
            file = (back["file"] or "").strip("./*") if "file" in back.groupdict() else ""
            made = {
                place: _code_lines(earlier)
                for place, earlier in enumerate(acts[:number])
                if _CHANGE.search(earlier) and file.rpartition("/")[2] in earlier
            }
            yield from _taken_back(messages, made, (), flat(back[0]))
        for removed in _REMOVED.finditer(content_of(messages[number])):
            for place, message in enumerate(messages[: number + 1]):
                for commit in _COMMIT.finditer(content_of(message)):
                    if commit["hash"] == removed["hash"]:
                        text = "\n".join(_REPLACED.findall(content_of(message)))
                        names = (commit["hash"], flat(commit["title"]))
                        yield from _taken_back(
                            messages, {place: _code_lines(text)}, names, flat(removed[0])
                        )


def _taken_back(
    messages: Sequence[Message],
    made: dict[int, frozenset[str]],
    names: tuple[str, ...],
    sign: str,
) -> Iterator[Undone]:
    """Yield the edits `made` by message, without lines that stand in any other message as well."""
    others = "\n".join(
        flat(_said(message)) for place, message in enumerate(messages) if place not in made
    )
    lines = frozenset(each for told in made.values() for each in told if each not in others)
    if lines or names:
        yield Undone(lines, names, sign)


def _act(message: Message) -> str:
    """Return the calls of an assistant's message, and the code in its text."""
    calls = (call["function"]["arguments"] for call in message.get("tool_calls") or ())
    return (
        "\n".join([content_of(message), *(each.replace("\\n", "\n") for each in calls)])
        if message["role"] == "assistant"
        else ""
    )


def _said(message: Message) -> str:
    return content_of(message) + " ".join(
        call["function"]["arguments"] for call in message.get("tool_calls") or ()
    )


def _code_lines(text: str) -> frozenset[str]:
    return frozenset(
        line
        for line in map(flat, text.splitlines())
        if len(line) >= _LEAST and (_CODE.match(line) or _CHANGE.search(line))
    )


def open_items(body: str) -> Iterator[str]:
    """Yield the items of a summary under a heading of what is open, without their speaker."""
    is_open = False
    for line in body.split("\n"):
        if _HEADING.fullmatch(line):
            is_open = line in OPEN
        elif is_open and line.strip():
            yield SPEAKER.sub("", line.strip(), count=1)


def is_stale(item: str, messages: Sequence[Message]) -> bool:
    """Return whether an item that is told as open says nothing, or was done or answered later.

    An entry of a list of tasks is done if its last state is; a question of the assistant is
    answered by a later message of the user; what the assistant announces is done if the message
    then does something, or if what it says and does from there on covers the words.
    """
    item = flat(MARK.sub(" ", item))
    if not _WORD.search(item):
        return True
    if task := _TODO.match(item):
        return _last_state(flat(task["text"]), messages) in _DONE
    at = max((n for n, each in enumerate(messages) if item in flat(content_of(each))), default=-1)
    return (
        at >= 0
        and messages[at]["role"] == "assistant"
        and _is_settled(item, messages[at], messages[at + 1 :])
    )


def _is_settled(item: str, message: Message, later: Sequence[Message]) -> bool:
    """Return whether what the assistant asks or announces was answered or done."""
    if item.endswith("?"):
        return any(each["role"] == "user" and not _is_output(each) for each in later)
    if not _ANNOUNCED.match(item):
        return False
    behind = flat(content_of(message)).partition(item)[2]
    did = [behind, *(_said(each) for each in later if each["role"] == "assistant")]
    words = {*map(str.lower, _WORD.findall(item))}
    covered = words & {word.lower() for text in did for word in _WORD.findall(text)}
    return (
        "```" in behind or bool(message.get("tool_calls")) or len(covered) >= _COVERED * len(words)
    )


def _is_output(message: Message) -> bool:
    return bool(_OUTPUT.search(content_of(message)))


def _last_state(task: str, messages: Iterable[Message]) -> str:
    state = ""
    for message in messages:
        for line in content_of(message).splitlines():
            told = _TODO.match(line)
            if told and flat(told["text"]) == task:
                state = (told["box"] or told["sign"]).strip()
    return state


def noise_of(body: str, messages: Sequence[Message]) -> Iterator[str]:
    """Yield the lines of a summary that carry nothing, and lines of code that nothing refers to.

    The latter stand alone between omissions, tell no failure, and most of their words occur in no
    prose and no call.
    """
    spoken = [line.text for line in lines_of(messages) if not line.alone]
    called = [_said(message)[len(content_of(message)) :] for message in messages]
    words = {word.lower() for text in (*spoken, *called) for word in _WORD.findall(text)}
    told = [line for line in body.split("\n") if line.strip()]
    for number, line in enumerate(told):
        alone = _begins_cut(line, told[number - 1 : number]) and (
            number + 1 == len(told) or _begins_cut(told[number + 1], [line])
        )
        text = SPEAKER.sub("", MARK.sub(" ", line.strip()), count=1)
        if is_noise(line) or (
            alone
            and _CODE.match(flat(text))
            and not _FAILS.search(text)
            and median(word.lower() in words for word in _WORD.findall(text) or ("",)) < 1
        ):
            yield line


def _begins_cut(line: str, before: Sequence[str]) -> bool:
    """Return whether a line begins behind an omission: its own mark, or one on the line before."""
    begun = SPEAKER.sub("", line.strip(), count=1)
    marked = MARK.match(begun)
    return bool(marked and marked.end() < len(begun)) or any(
        MARK.fullmatch(each.strip()) for each in before
    )


def is_noise(line: str) -> bool:
    """Return whether a line of a summary carries nothing; a mark of an omission is none.

    >>> [is_noise(line) for line in ("… 07ms]", "[… 12 lines]", "2 failed in 3s", "  });")]
    [True, False, False, True]
    """
    text = SPEAKER.sub("", line.strip(), count=1)
    left = flat(MARK.sub(" ", text))
    return bool(left) and bool(_NOISE.match(left)) and not MARK.fullmatch(text)
