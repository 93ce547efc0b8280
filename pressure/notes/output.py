"""Outputs: what a program printed, without the lines that carry nothing.

Lines of one kind, such as progress, passes, stack frames and listings, are collapsed into a count.
What is left are whole lines, with the counts as a line of its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import NamedTuple

from .items import MARK, left_out
from .pieces import one_line, whole_letter, without_escapes

LONGEST_LINE, MOST_LINES = 260, 60
"""The most characters of a line that is not clipped, and the most lines of an outcome."""

_LOOKED_AT, _KEY = 300, 160
"""How many characters decide what a line is, and how many make it the same as another."""

_LIKE, _LISTED, _PASSES, _OUTPUTS = 3, 6, 2, 2
"""How many lines of a pattern, entries of a listing and passes are kept, and in how many outputs
a line may stand before it is left out."""

_LEAST_LISTING, _FEW, _BRIEF = 9, 12, 60
"""The entries that make a listing, the lines that need no shorter variant than one line, and the
characters of lines that stand on one."""

_NO_LINES: Mapping[str, int] = MappingProxyType({})

_DIGITS = re.compile(r"\d+")
_TIMING = re.compile(r"\s*[(\[]?(?<![\w.])\d[\d.,]{0,9}\s?m?s(?:ec)?[)\]]$")
_MARKED = re.compile(r"\s*(?:[✗✘×✓✔√]|\((?:pass|fail)\)|ok\b|not ok\b|--- )")
_RULERS = ("===", "---", "***", "###", "~~~", "___")
_TAIL = 40
_AROUND = " |`📁📄"
_TOLD = ("error", "failing", "total", "failure")
_TROUBLE = {"error", "failing", "failure"}
_STATUS = re.compile(
    r"<(?:returncode|exit_code)>\s*(-?\d+)"
    r"|\b(?:exit(?:ed with)?|return) (?:code|status)\W{1,3}(-?\d+)",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"""\s*+(?:
    (?P<nothing>
        [\W_]*+$|</?[\w-]++>$|<(?:returncode|exit_code)>[^<]*</\w+>$
        |\((?:Open\ file|Current\ directory|Interactive\ session)\b.*\)$
        |bash-?[\d.]*[$\#]$|[\w.-]{1,40}+@[\w.-]++[:\ ]\S*\s?[$\#%]$
        |During\ handling\ of\ the\ above\ exception,\ another\ exception\ occurred:$
        |\?\s+\S+\s+\[no\ test\ files\]$|total\ \d+$|(?:real|user|sys)\s+\d+m[\d.,]+s$
        |(?:platform\ \w+\ --|rootdir:|configfile:|plugins:|cachedir:|collected\ \d|collecting\ \.)
        |Traceback\ \(most\ recent\ call\ last\):$|\^C$|test\ session\ starts$|FAILURES$|ERRORS$
        |>\ (?:Run\ (?:with\ --|gradlew\ help)|Get\ more\ help)|\*\ (?:Try|Get\ more\ help)\b
        |npm\ (?:error|ERR!)\s+A\ complete\ log|run\ `npm\ fund`|found\ 0\ vulnerabilities$
        |\d+\ packages?\ (?:are|is)\ looking\ for\ funding
        |short\ test\ summary\ info$|warnings\ summary$|Captured\ \w+\ (?:call|setup|teardown)$
    )|(?P<passed>
        ===\ (?:RUN|PAUSE|CONT|NAME)\b
        |[✓✔√]\s?\S|\(pass\)|---\ PASS|PASS(?:ED)?\b|ok\ +\d+\b|ok\s+[\w./-]+\s+(?:\d|\(cached)
    )|(?P<progress_line>
        Requirement\ already\ satisfied|Collecting\ [\w.\[\]-]+(?:[<>=!~(\ ].*)?$|Using\ cached
        |(?:Downloading|Downloaded|Compiling|Unpacking|Setting\ up)\ [\w.:/+-]+|(?:Get|Hit|Ign):\d
        |Installing\ (?:build|collected)|Preparing\ metadata|Reading\ package|npm\ (?:warn|notice)
        |(?:Enumerating|Counting|Compressing|Writing|Receiving|Resolving)\ (?:objects|deltas)
        |remote:\ (?:Enum|Count|Compr|Total)|>\ Task\ :\S+(?:\ (?:UP-TO|NO-|FROM-|SKIP)\S+)?$
        |[.sxEF]{6,}(?:\s+\[\s*\d+%\])?$
    ))""",
    re.IGNORECASE | re.VERBOSE,
)
_BAR = re.compile(r"[█▏▎▍▌▋▊▉░▒▓━╸]{2}|\d%\s?[|\[\]]|[|\]]\s*\d{1,3}%")
_PASSED_END = re.compile(
    r"(?:\.\.\.\s?(?:ok|passed|skipped)|\sPASSED)\s*(?:\[\s*\d+%\])?$", re.IGNORECASE
)
_LISTING = re.compile(r"\s*[-dlbcps][rwxsStT-]{9}\b")

_FRAME = re.compile(
    r"\s*File \"[^\"\n]{1,280}\", line \d|\s+at [^(\n]{1,200}\(|\s+at \S{1,200}:\d"
    r"|\s+(?:from )?\S{1,200}:\d+:in\b|\s+\d{1,3}: +(?:0x|\w+::)|\s+\.\.\. \d+ more$"
)
_FOREIGN = re.compile(
    r"site-packages|dist-packages|/lib/python|node_modules|node:|<frozen |/rustc/|/usr/l"
    r"|\bjava[.x]|\bjdk\.|\bsun\.|\borg\.junit|\.\.\. \d+ more"
)
_CASE = re.compile(r"_{3,} .{1,200} _{3,}$")

_FAILURES = re.findall(
    r"[^|\n]+",
    "error|exception|failed|failure|fails|failing|fatal|cannot|can't|couldn't|could not|not found|"
    "no such|denied|undefined|unexpected|unable to|refused|timed out|timeout|traceback|panic|"
    "segfault|segmentation fault|conflict|rejected|invalid|missing|aborted|killed|unknown|"
    "fehler|fehlgeschlagen|nicht gefunden|erreur|échec|échoué|introuvable|fallo|falló|no se p|"
    "errore|fallito|impossibile|falha|erro |mislukt|błąd|ошибк|сбой|не удалось|не найден|"
    "错误|失败|錯誤|失敗|エラー|오류|실패|خطأ",
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no|without|zero) (?:\w{1,20} )?(?:errors?|fail\w*|exceptions?|conflicts?|missing)"
    r"|\b(?:errors?|fail\w*|exceptions?)\W{1,3}0\b|(?<![\w/-])[\w/-]{1,80}(?:error|fail)\w*(?:[/_]\w+|\.\w{2,4}\b)"
)
_ERROR = re.compile(
    r"(?:[\w.$]{0,80}(?:Error|Exception|Failure|Panic|Interrupt)\b|Caused by:|Unhandled |fatal:"
    r"|panic:|(?:ERROR|error)\b(?:\[\w{1,9}\])?:?|thread '[^'\n]{1,80}' panicked|E {2,}\w*Error)"
)
_FAILING = re.compile(
    r"\s*(?:[✗✘×❌]|--- FAIL|FAIL(?:ED)?\b(?! ?\()|ERROR\b(?= \S+::)|not ok\b|\(fail\))"
)
_TOTAL = re.compile(
    r"\b\d+ (?:tests?|pass(?:ed|ing)?|fail(?:ed|ing|ures?)?|errors?|skipped|examples?|warnings?"
    r"|problems?|files? changed|assertions?)\b|^\s*(?:OK|FAILED|BUILD \w+|Tests?:|Success)\b"
)


def line_key(line: str) -> str:
    """Return what a line shares with others that differ only in numbers.

    >>> line_key("step 12 of 90") == line_key("step 7 of 90 ")
    True
    """
    return _DIGITS.sub("#", line[:_LOOKED_AT]).strip()[:_KEY]


def says_failure(line: str) -> bool:
    """Return whether a line reports that something failed, in one of many languages.

    >>> says_failure("✗ saves the order"), says_failure("make: *** missing separator.")
    (True, True)
    >>> says_failure("12 passed, 0 failed"), says_failure("src/error_pages.py")
    (False, False)
    """
    return _fails(line, _FAILURES)


def telling_lines(text: str, seen: Mapping[str, int] = _NO_LINES) -> list[str]:
    r"""Return the lines of an output that tell something, and marks that count the others.

    `seen` states in how many outputs the line with a `line_key` stands; one in more than two is
    left out, unless it reports a failure or a total. Takes time linear in the length of `text`.

    >>> telling_lines("$ \n✓ a\n✓ b\n✓ c\n✗ saves\nwait\nwait\nwait")
    ['✗ saves', 'wait (×3)', '[… 3 passed]']
    """
    lines, mark = _read(text, seen)
    return [*(line.text for line in lines), *mark]


def outcome(text: str, seen: Mapping[str, int] = _NO_LINES) -> tuple[str, ...]:
    r"""Return what came of a command that printed `text`, in variants from long to short.

    The longest has at most `MOST_LINES` lines. The shortest is one line: the exit code, the error,
    what failed and the totals.

    >>> outcome("")
    ('ok, no output',)
    >>> outcome("Error: no key\n1 failed, 8 passed in 0.2s\n<returncode>1</returncode>")[-1]
    'exit 1; Error: no key; 1 failed, 8 passed in 0.2s'
    """
    found = _STATUS.search(text)
    code = next(filter(None, found.groups()), "0") if found else "0"
    state = [] if code == "0" else [f"exit {code}"]
    lines, mark = _read(text, seen)
    if not lines:
        return ("; ".join((*state, *mark)) or "ok, no output",)
    kinds = {line.kind for line in lines}
    if not state and "total" in kinds and not kinds & _TROUBLE:
        # Of what went well, the totals are enough.
        return ("; ".join(_shortest(lines)),)
    blocks = [
        "\n".join((*state, *_most(lines, limit), *mark))
        for limit in (MOST_LINES, _FEW)
        if limit == _FEW or len(lines) > _FEW
    ]
    return tuple(dict.fromkeys((*blocks, "; ".join((*state, *_shortest(lines))))))


class _Line(NamedTuple):
    text: str
    kind: str = ""


def _read(text: str, seen: Mapping[str, int]) -> tuple[list[_Line], list[str]]:
    """Return the telling lines, and the mark that counts the others."""
    left = Counter[str]()
    lowered = text.lower()
    failures = [word for word in _FAILURES if word in lowered]
    printed = _without_frames([*_printed(text)], left)
    kinds = {line: _kind_of(line, failures) for line in dict.fromkeys(printed)}
    passes = sum(kinds[line] == "passed" for line in printed)
    lines = [_Line(line, kinds[line]) for line in printed if kinds[line] != "nothing"]
    dropped = {"progress line", *(["passed"] if passes > _PASSES else [])}
    left.update(line.kind for line in lines if line.kind in dropped)
    lines = [line for line in lines if line.kind not in dropped]
    if seen:
        new = [line for line in lines if line.kind or seen.get(line_key(line.text), 0) <= _OUTPUTS]
        left["recurring line"] += len(lines) - len(new) if new else 0
        lines = new or lines
    kept = [*_without_listings(_without_like_ones(lines, left), left)]
    counts = [
        f"{number:,} {kind}{'' if number == 1 or kind == 'passed' else 's'}"
        for kind, number in left.items()
        if number
    ]
    return kept, [f"[… {', '.join(counts)}]"] if counts else []


def _printed(text: str) -> Iterator[str]:
    """Yield the lines that a terminal shows in the end, without blank ones, rulers and timings."""
    for raw in without_escapes(text).split("\n"):
        line = raw.rstrip()
        if "\r" in line:
            line = line.rsplit("\r", 1)[1]
        if not line:
            continue
        if line[-1] in ")]":
            line = _TIMING.sub("", line) if _MARKED.match(line) else line
        elif line[-3:] in _RULERS and line[:3] == line[-3:]:
            line = line.strip(line[-1]).strip() if not _CASE.match(line) else line
        if line:
            yield line


def _without_frames(lines: Sequence[str], left: Counter[str]) -> list[str]:
    """Return `lines` with one frame of each stack: the nearest to the error in one's own code."""
    kept, place = list[str](), 0
    while place < len(lines):
        line = lines[place]
        if _FRAME.match(line):
            frames, place = _frames(lines, place)
            left["stack frame"] += len(frames) - 1
            # Python prints the innermost call last.
            inner = frames[::-1] if line.lstrip().startswith("File ") else frames
            kept += next((each for each in inner if not any(map(_FOREIGN.search, each))), inner[0])
        elif _CASE.match(line):
            kept.append(line.strip("_ "))
            place = _case_end(lines, place + 1, kept, left)
        else:
            kept.append(line)
            place += 1
    return kept


def _frames(lines: Sequence[str], place: int) -> tuple[list[list[str]], int]:
    """Return the frames from `place`, each with its lines of code, and where they end."""
    indent, frames = len(lines[place]) - len(lines[place].lstrip()), list[list[str]]()
    for end in range(place, len(lines)):
        line = lines[end]
        if _FRAME.match(line):
            frames.append([line])
        elif len(line) - len(line.lstrip()) > indent:
            frames[-1].append(line)
        else:
            return frames, end
    return frames, len(lines)


def _case_end(lines: Sequence[str], place: int, kept: list[str], left: Counter[str]) -> int:
    """Keep of a failed test's report what stands at its marks; return where its source ends."""
    while place < len(lines) and (lines[place][0] in " \t>" or lines[place].startswith("E ")):
        if lines[place][0] in ">E":
            kept.append(lines[place])
        else:
            left["source line"] += 1
        place += 1
    return place


def _without_listings(lines: Iterable[_Line], left: Counter[str]) -> Iterator[_Line]:
    for is_listed, run in groupby(lines, _is_listed):
        names = [*run]
        most = _LISTED if is_listed and len(names) >= _LEAST_LISTING else len(names)
        left["listed name"] += len(names) - most
        yield from names[:most]


def _is_listed(line: _Line) -> bool:
    text = line.text
    return not line.kind and (is_name(text) or _LISTING.match(text) is not None)


def is_name(line: str) -> bool:
    """Return whether a line is a name, or a row of a table with nothing but one."""
    return " " not in line.strip(_AROUND)


def _kind_of(line: str, failures: Sequence[str]) -> str:
    start = line[:_LOOKED_AT]
    if (found := _KIND.match(start)) or _PASSED_END.search(line[-_TAIL:]):
        return ((found and found.lastgroup) or "passed").replace("_", " ")
    if _FAILING.match(start):
        return "failing"
    fails = _fails(start, failures)
    if fails and _ERROR.match(start.lstrip()):
        return "error"
    if start.startswith("E   "):
        return "failure"
    if _BAR.search(start):
        return "progress line"
    return "total" if _TOTAL.search(start) else "failure" if fails else ""


def _fails(line: str, failures: Sequence[str]) -> bool:
    lowered = line[:_LOOKED_AT].lower()
    if not any(word in lowered for word in failures):
        return _FAILING.match(line) is not None
    rest = _NO_FAILURE.sub("", lowered)
    return rest == lowered or any(word in rest for word in failures)


def _without_like_ones(lines: Sequence[_Line], left: Counter[str]) -> Iterator[_Line]:
    """Yield equal lines once, with their number, and of lines of a pattern the first and last."""
    times, alike, done = Counter(lines), Counter[str](), set[_Line]()
    keys = [line_key(line.text) for line in lines]
    last = {key: place for place, key in enumerate(keys)}
    for place, (line, key) in enumerate(zip(lines, keys, strict=True)):
        if times[line] >= _LIKE:
            if line not in done:
                yield _Line(f"{_clipped(line.text)} (×{times[line]:,})", line.kind)
            done.add(line)
            continue
        alike[key] += 1
        is_bound = line.kind or len(lines) <= _FEW or _is_listed(line)
        if is_bound or alike[key] < _LIKE or last[key] == place:
            yield _Line(_clipped(line.text), line.kind)
        else:
            left["similar line"] += 1


def _clipped(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    end = line.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE)
    return f"{line[: end if end > 0 else whole_letter(line, LONGEST_LINE)].rstrip()} {MARK}"


def _most(lines: Sequence[_Line], limit: int) -> Iterator[str]:
    """Yield at most `limit` of `lines`, the telling ones first, and count the others between."""
    ranks = {"error": 0, "failing": 1, "total": 1, "failure": 2}
    inward = [min(place, len(lines) - 1 - place) for place in range(len(lines))]
    order = sorted(
        range(len(lines)),
        key=lambda place: (ranks.get(lines[place].kind, 3), inward[place], place),
    )
    kept = sorted(order[:limit])
    for before, place in pairwise((-1, *kept, len(lines))):
        if place - before > 1:
            yield left_out(place - before - 1, "line")
        if place < len(lines):
            yield lines[place].text


def _shortest(lines: Sequence[_Line]) -> Iterator[str]:
    """Yield the error, the first failing names, the totals; else the first failure or last line."""
    by_kind = {kind: [one_line(line.text) for line in lines if line.kind == kind] for kind in _TOLD}
    failing = by_kind["failing"]
    told = [*by_kind["error"][:1], *failing[:2]]
    if len(failing) > 2:  # noqa: PLR2004 - as many as are named
        told.append(f"[… {len(failing) - 2} failing]")
    told += by_kind["total"][-2:]
    told = told or by_kind["failure"][:1]
    if told:
        yield from told
        return
    texts = [one_line(line.text) for line in lines]
    if sum(map(len, texts)) <= _BRIEF:
        yield from texts
    else:
        yield from [left_out(len(lines) - 1, "line")] * (len(lines) > 1)
        yield texts[-1]
