"""Splitting the prose of a turn into sentences, without the code and logs pasted into it.

Every function makes one pass over the text. The patterns are built from single character classes,
so no input causes backtracking.
"""

import re
from collections.abc import Iterator

_FENCES = ("```", "~~~")
_INDENTED_CODE = ("    ", "\t")
_BULLET = re.compile(r"(?:[-*•‣+]|[0-9]{1,3}[.)])[ \t](?:\[[ xX]\][ \t])?")
_MARKUP = re.compile(r"\A#{1,6}[ \t]+|\*{1,3}")
_TERMINATOR = re.compile(r"[.!?…。！？；]+[\"'”’»)\]」』）]*")
_BREAKS_WITHOUT_SPACE = "。！？；"
_ABBREVIATIONS = (
    "e.g",
    "i.e",
    "z.b",
    "d.h",
    "p.ex",
    " vs",
    " mr",
    " mrs",
    " ms",
    " dr",
    "prof",
    " bzw",
    " ca",
)
_LONGEST_ABBREVIATION = 4
_CLOSING = ".!?…。！？"
_AROUND_WORDS = ".,!?;:…–—()\"'’“”„«»`。、，！？；："
_HARD_WRAP = 50
_LINE_END = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Text between quotation marks or backticks. Another mark of the same kind ends the search, so that
# it takes one pass.
_QUOTED = re.compile(
    r"(?<![A-Za-z0-9_\"])\"[^\"\n]{1,2000}\"(?![A-Za-z0-9_])|“[^“”\n]{1,2000}”"
    r"|„[^„“”\n]{1,2000}[“”]|«[^«»\n]{1,2000}»|»[^«»\n]{1,2000}«"
    r"|「[^「」\n]{1,2000}」|『[^『』\n]{1,2000}』|(?<!\w)'[^'\n]{2,400}'(?!\w)"
    r"|(?<!\w)‘[^‘’\n]{2,400}’(?!\w)|`[^`\n]{1,2000}`"
)
_MARK = re.compile(r"[\"“„«»「『‘`'](?<!\w')")
# An element whose name shows that its content was written by somebody else; <rules> and
# <instructions> are the user's own.
_BLOCK = re.compile(
    r"<(output|stdout|stderr|logs?|files?|code|documents?|results?|tool_result|error|traceback"
    r"|diff|data|quote|blockquote|e?mail|source|page|attachments?|context|transcript)\b[^<>]*>"
)
# The head of a mail that somebody else wrote; nothing tells where the mail ends.
_MAIL = re.compile(
    r"(?:From|Von|De): .*@|-{3,} ?(?:Original|Forwarded|Ursprüngliche|Weitergeleitete)\b"
    r"|(?:On|Am|Le|El) .{5,80} (?:wrote|schrieb|a écrit|escribió).{0,60}:$"
)
_PASTED = re.compile(
    r">|[+-](?:\t| {4,})|\d+(?::[A-Za-z_#@]|\t)|\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG"
    r"|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|TRACE)\b|[$%] ?[a-z.]+ |[\[{][\"{\[]|\"\w+\": "
    r"|</?\w+[ >/]|[+-]{3} |@@ |File \"|at \S+\(|(?:[Ee]rror|[Ff]atal|[Ff]ehler|[Ee]rreur"
    r"|[A-Za-z]+(?:Error|Exception|Warning)):"
)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text` outside fenced and indented code, in order.

    The end of a line ends a sentence unless the line was wrapped; then a space replaces the line
    break.
    """
    return (one_line(text[start:end]) for start, end in sentence_spans(text))


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence of `text` begins and ends, as `sentences` finds them."""
    for start, end in _paragraphs(text):
        if not _TERMINATOR.search(text, start, end):
            yield start, end
            continue
        # Of the same length, so that places in it are places in the text.
        paragraph = _LINE_END.sub(" ", text[start:end])
        for first, last in _split(paragraph):
            yield start + first, start + last


def one_line(sentence: str) -> str:
    r"""Return a sentence with a space in place of each line break.

    >>> one_line("Never\n  push.")
    'Never push.'
    """
    lines = sentence.splitlines()
    return " ".join(map(str.strip, lines)) if len(lines) > 1 else sentence.strip()


def wording_of(text: str) -> str:
    """Return the words of `text` without case, list marker and the punctuation around them.

    >>> wording_of("- Never  use C++!"), wording_of("???")
    ('never use c++', '???')
    """
    words = (word.strip(_AROUND_WORDS) for word in unbulleted(text).casefold().split())
    return " ".join(filter(None, words)) or text


def unquoted(sentence: str) -> str:
    """Return `sentence` with its quotations blanked out, at the same length.

    >>> unquoted('The sign says "No dogs!" twice.')
    'The sign says "_______!" twice.'
    """
    return _QUOTED.sub(_blank, sentence) if _MARK.search(sentence) else sentence


def _blank(quote: re.Match[str]) -> str:
    inner = quote[0][1:-1]
    kept = inner[len(inner.rstrip(_CLOSING)) :]
    return f"{quote[0][0]}{'_' * (len(inner) - len(kept))}{kept}{quote[0][-1]}"


def unbulleted(sentence: str) -> str:
    """Return `sentence` without list or heading markers and without emphasis.

    >>> unbulleted("- **be** brief"), unbulleted("## be brief")
    ('be brief', 'be brief')
    """
    words = _BULLET.sub("", sentence, count=1) if is_bullet(sentence) else sentence
    return _MARKUP.sub("", words) if "*" in words or "#" in words else words


def is_bullet(sentence: str) -> bool:
    """Return whether a sentence begins with a list marker."""
    return _BULLET.match(sentence) is not None


def prose_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the lines of `text` without code and pasted lines begin and end.

    Code is fenced (CommonMark 0.31 §4.5, at any indentation) or indented by at least four spaces or
    a tab. Pasted lines are the content of elements such as ``<output>``, quoted and numbered lines,
    lines that begin like a log entry, a command, JSON, XML, a diff or a stack trace, and mails. An
    empty line stands for what is left out.
    """
    fence, after = "", 0
    for line in text.splitlines(keepends=True):
        body, start = line.strip(), after + len(line) - len(line.lstrip())
        after += len(line)
        is_prose = False
        if fence:
            fence = "" if _closes(body, fence) else fence
        elif opening := _parse_fence(body):
            fence = opening
        elif (block := _BLOCK.match(body)) and f"</{block[1]}>" not in body:
            fence = f"</{block[1]}>"
        elif _MAIL.match(body):
            fence = "\n"  # which no line contains
        else:
            is_code = line.startswith(_INDENTED_CODE) and not is_bullet(body)
            is_prose = not is_code and not _PASTED.match(body)
        yield start, start + len(body) if is_prose else start


def _closes(body: str, fence: str) -> bool:
    return fence in body if fence[0] == "<" else body.startswith(fence) and not body.strip(fence[0])


def _parse_fence(body: str) -> str:
    if not body.startswith(_FENCES):
        return ""
    info = body.lstrip(body[0])
    # On one line, ```like this``` is a code span, not a fence.
    return "" if body[0] == "`" and "`" in info else body[: len(body) - len(info)]


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    began = last = ended = 0
    for start, end in prose_lines(text):
        # Most line breaks end a sentence. Only a line that is long enough to have been wrapped, and
        # is followed by lower case, continues on the next line.
        if ended - last < _HARD_WRAP or not text[start : min(end, start + 1)].islower():
            if began < ended:
                yield began, ended
            began = start
        last, ended = start, end
    if began < ended:
        yield began, ended


def _split(paragraph: str) -> Iterator[tuple[int, int]]:
    start = 0
    # Inside a quotation, only its last mark can end a sentence.
    for mark in _TERMINATOR.finditer(unquoted(paragraph)):
        if _ends_sentence(paragraph, start, mark):
            yield from _stripped(paragraph, start, mark.end())
            start = mark.end()
    yield from _stripped(paragraph, start, len(paragraph))


def _stripped(paragraph: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if words := paragraph[start:end].lstrip():
        yield end - len(words), end


def _ends_sentence(paragraph: str, start: int, end: re.Match[str]) -> bool:
    if end[0][0] in _BREAKS_WITHOUT_SPACE:
        return True
    if end.end() < len(paragraph) and not paragraph[end.end()].isspace():
        return False
    if end[0] != ".":
        return True
    before = paragraph[max(start, end.start() - _LONGEST_ABBREVIATION) : end.start()].lower()
    is_numbering = end.start() - start <= _LONGEST_ABBREVIATION and before.strip().isdigit()
    return not is_numbering and not before.endswith(_ABBREVIATIONS)
