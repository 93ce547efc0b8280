"""Splitting the prose of a turn into sentences, without the code and logs pasted into it.

Every function makes one pass over the text. The patterns are built from single character classes,
so no input causes backtracking.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from .sentence_boundaries import sentence_ends

_FENCES = ("```", "~~~")
_INDENTED_CODE = ("    ", "\t")
_BULLET = re.compile(r"(?:[-*•‣+]|[0-9]{1,3}[.)])[ \t](?:\[[ xX]\][ \t])?")
_MARKED = re.compile(rf"#|{_BULLET.pattern}")
_MARKUP = re.compile(r"\A#{1,6}[ \t]+|\*{1,3}")
_ENDING = re.compile(r"[.!?…।؟。！？；]")
"""What every sentence ends with that another one follows."""
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
# The elements whose content somebody else wrote: those with one of these words in the name, and
# those whose name has several words, as the hosts of agents write them ("system-reminder"). The
# user's own are those that end as in <user_query>, <rules> or <instructions>.
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]{0,60}+)(?:\s[^<>]{0,2000}+)?>")
_OTHERS = re.compile(
    r"[A-Za-z]+[-_:.]|[A-Za-z]?[a-z]+[A-Z]|(?i:output|std(?:out|err)|logs?|files?|code|documents?"
    r"|results?|error|traceback|diff|data|quote|blockquote|e?mail|source|page|attachments?|context"
    r"|transcript|environment|reminder|example|system|skill|content|permissions)$|INSTRUCTIONS$"
)
_HOSTS = re.compile(
    r"(?i)system|reminder|command(?!-args)|hook|tool|stdout|stderr|env|teammate|assistant|ephemeral"
    r"|(?:explicit|skills)_instr|(?-i:INSTRUCTIONS)"
)
# The elements that hold nothing of the user, not even what they pasted.
_HOSTED = re.compile(
    r"(?i)reminder|environment|caveat|additional_|attached_|open_and|recently_viewed"
    r"|project_layout|linter_errors|current_file|local-command|cursor_rules|user_info|git_status"
    r"|ide_|open_files|system[-_]|^command-(?:name|message|contents)$|_aborted|ephemeral"
    r"|[-_]notification|teammate-|^bash-|shell_command|session_context|runtime_info|extra_info"
    r"|hook[-_]|-hook$|info-msg|(?:explicit|skills)_instr|user_action|file_content|snapshot$"
    r"|editorContext|toolReferences|workspace_info|repository_info|(?-i:INSTRUCTIONS)|^permissions$"
    r"|^skill$|^system$"
)
_OWN = re.compile(
    r"(?i)(?:rules?|instructions?|guidelines|preferences|requirements|constraints|task|query"
    r"|request|message|prompt|feedback|answer|command-args)$"
)
# The lines behind which the host of an agent writes in the user's name, and what it then marks as
# said by the user. Nothing else tells where it ends.
_HEAD = re.compile(
    r"^(?:Stop hook feedback:|[A-Z]\w{1,30}(?::[\w-]{1,60})? hook (?:feedback|success|context)[:\n]"
    r"|Caveat: The messages below were generated"
    r"|(?:Please c|C)ontinue the conversation from where [\w ]{1,30} off without asking"
    r"|\[ERROR\] You did not use a tool|\[TASK RESUMPTION\]|\[\w+(?: for '[^\n]{0,400}')?\] Result:"
    r"|OBSERVATION:\n|--- (?:Content from referenced files ---|Context from: |CONTEXT ENTRY BEGIN)"
    r"|# Context from my IDE setup:|The following is an <EPHEMERAL_MESSAGE>"
    r"|<user_instructions>\n\n|And got this output:\n\n(?!```)"
    r"|Here are (?:summaries of some files present in my|some READ ONLY files, provided)"
    r"|This is the Gemini CLI\. We are setting up|Read HEARTBEAT\.md if"
    r"|Pre-compaction memory flush\.|Your context was compacted\. The previous"
    r"|Continue if you have next steps, or stop|Please continue working on the task on whatever)",
    re.MULTILINE,
)
_QUERY = re.compile(r"<(user_query|user_message|task|feedback|answer|command-args)>\n?([^<]*)</\1>")
_SAID = re.compile(
    rf"{_QUERY.pattern}"
    r"|^(?:## My request for Codex:|--- USER MESSAGE BEGIN ---|--- End of Context from: .{1,400})$",
    re.MULTILINE,
)
_INTERRUPTED = re.compile(
    r"\[Request interrupted by user[^\]\n]{0,40}\]\s{0,9}|\A\s{0,9}# AGENTS\.md instructions for .*"
)
# How Claude Code begins the text of a skill, which it sends in a message of the user.
_LOADED = re.compile(r"\s{0,9}Base directory for this skill: ")
# How hosts begin a message with a plan of the assistant's or with a prompt of their own, and how a
# reply begins that a user pastes, or that an editor's history has as the user's.
_PROMPTED = re.compile(
    r"\s{0,9}(?:Implement the following plan:\s{1,9}#|Implement the plan as specified, it is"
    r"|Generate a file named AGENTS\.md that|Please analyze this codebase and create a CLAUDE\.md"
    r"|Your task is to create a detailed summary of the conversation|You are performing a CONTEXT"
    r"|Certainly! (?:I|Here|Let) |I['’]ll help you |Je vais (?:procéder|vous (?:aider|guider)) )"
)
# The head of a mail that somebody else wrote; nothing tells where the mail ends.
_MAIL = re.compile(
    r"(?:From|Von|De): .*@|-{3,} ?(?:Original|Forwarded|Ursprüngliche|Weitergeleitete)\b"
    r"|(?:On|Am|Le|El) .{5,80} (?:wrote|schrieb|a écrit|escribió).{0,60}:$"
)
_PASTED = re.compile(
    r">|[+-](?:\t| {4,})|\d+(?::[A-Za-z_#@]|\t)|\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG"
    r"|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|TRACE)\b|[$%] ?[a-z.]+ |[\[{][\"{\[]|\"\w+\": "
    r"|</?\w+[ >/]|[+-]{3} |@@ |={2,} \w|\+[^\W\d]|# (?:[a-z]|AGENTS\.md )"
    r"|from [\w.]+ import |File \"|at \S+\("
    # Code and its comments, also in a diff; a shell's prompt; a checker's line; `key:<tab>value`.
    r"|[+-]? *(?://|/\*|\*/)|[+-] *[<#{}()\[\]]|\+[-*] |[➜❯⨯✗]|[\w@-]+:[a-z-]+: |\S+\.\w+:\d+\b"
    r"|[a-z][\w./-]{0,40}:\d+ |git (?:[a-z]+ -|(?:add|clone|init|remote) )|\w+Error \{"
    r"|\{\w+: '|\w+: [\[{]'|[│├└]|(?=[^(\[=_]*[(\[=_])[a-z].*;$"
    r"|(?:const|let|var|func|export|import|type) [^.!?]*[=;{(]|\w+ := |[\w ]{1,30}:\t"
    r"|(?:[Ee]rror|[Ff]atal|[Ff]ehler|[Ee]rreur"
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
        if not _ENDING.search(text, start, end):
            yield start, end
            continue
        # Of the same length, so that places in it are places in the text.
        paragraph = _LINE_END.sub(" ", text[start:end])
        # Inside a quotation, only its last mark can end a sentence.
        for first, last in pairwise([0, *sentence_ends(unquoted(paragraph)), len(paragraph)]):
            if words := paragraph[first:last].lstrip():
                yield start + last - len(words), start + last


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
    a tab. Pasted are the content of elements such as ``<output>`` or ``<system-reminder>``, quoted
    and numbered lines, lines that begin like a log entry, a command, JSON, XML, a diff or a stack
    trace, and mails. An empty line stands for what is left out.
    """
    fence, after = "", 0
    for line in _own_words(text).splitlines(keepends=True):
        body, start = line.strip(), after + len(line) - len(line.lstrip())
        after += len(line)
        is_prose = False
        if fence:
            fence = "" if body.startswith(fence) and not body.strip(fence[0]) else fence
        elif opening := _parse_fence(body):
            fence = opening
        elif _MAIL.match(body) or _opens_element(body):
            fence = "\n"  # which no line contains
        else:
            is_code = line.startswith(_INDENTED_CODE) and not is_bullet(body)
            is_prose = not is_code and not _PASTED.match(body)
        yield start, start + len(body) if is_prose else start


def _own_words(text: str) -> str:
    """Return `text`, at the same length, without elements of others and tags around the user's."""
    if is_loaded(text) or _PROMPTED.match(text):
        return "\n" * len(text)
    rest = without_frames(without_elements(text, is_of_others))
    return _TAG.sub(_untagged, rest) if "</" in rest else rest


def _untagged(tag: re.Match[str]) -> str:
    return " " * (len(tag[0]) - 1) + "\n" if _OWN.search(tag[2]) else tag[0]


def without_elements(text: str, is_left_out: Callable[[str], bool]) -> str:
    """Return `text`, at the same length, with blank lines for the elements of these names.

    >>> without_elements("Go.<system-reminder>Ask.</system-reminder>", is_of_others).split()
    ['Go.']
    """
    if "</" not in text:
        return text
    tags = [*_TAG.finditer(text)]
    ends: dict[str, int] = {}
    closing = {}
    for tag in reversed(tags):
        if tag[1]:
            ends[tag[2]] = tag.end()
        elif tag[2] in ends and is_left_out(tag[2]):
            closing[tag.start()] = ends[tag[2]]
    kept, after = [], 0
    for start in sorted(closing):
        if start >= after:
            kept += [text[after:start], "\n", " " * (closing[start] - start - 2), "\n"]
            after = closing[start]
    return "".join([*kept, text[after:]])


def without_frames(text: str) -> str:
    r"""Return `text`, at the same length, without what a host's heads begin in the user's name.

    >>> without_frames("Go.\n[read for 'a'] Result:\n1\n<feedback>No.</feedback>").split()
    ['Go.', 'No.']
    """
    if (head := _HEAD.search(text)) is None:
        return text
    kept, after = [text[: head.start()]], head.start()
    said = [*_SAID.finditer(text, after)]
    marks = [(each.end(), len(text)) for each in said if not each[1]]
    # What a host puts before the user's message may hold the same mark, so the last one counts.
    for first, last in marks[-1:] or [each.span(2) for each in said]:
        kept += ["\n" * (first - after), text[first:last]]
        after = last
    return "".join([*kept, "\n" * (len(text) - after)])


def _opens_element(body: str) -> bool:
    """Return whether a line begins with an element of others, which is closed nowhere."""
    tag = _TAG.match(body)
    return tag is not None and not tag[1] and tag[0][-2] != "/" and is_of_others(tag[2])


@lru_cache(1_024)
def is_of_others(name: str) -> bool:
    """Return whether an element of this name holds what the user did not write."""
    is_own = _OWN.search(name) and not _HOSTS.search(name)
    return not is_own and _OTHERS.match(name) is not None


def is_loaded(text: str) -> bool:
    """Return whether a message is the text of a skill, which the host of an agent loaded."""
    return _LOADED.match(text) is not None


def own_words(text: str) -> str:
    """Return the user's own words: the query, if a host marked it, else all but the host's."""
    text = without_frames(_INTERRUPTED.sub("", text))
    if "</" not in text:
        return text
    if query := _QUERY.search(text):
        return query[2]
    return without_elements(text, lambda name: _HOSTED.search(name) is not None)


def is_by_host(text: str) -> bool:
    """Return whether a host wrote all of a message in the user's name.

    >>> is_by_host("<system-reminder>Ask.</system-reminder>"), is_by_host("Ask.")
    (True, False)
    """
    start = text[:99].lstrip()
    is_marked = start[:1] in ("<", "#") or _HEAD.match(start) is not None
    return is_marked and not own_words(text).strip()


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
        # is followed by lower case, continues on the next line; a heading or an item, if indented.
        goes_on = ended - last >= _HARD_WRAP and text[start : min(end, start + 1)].islower()
        if not goes_on or (text[start - 1] == "\n" and _MARKED.match(text, last)):
            if began < ended:
                yield began, ended
            began = start
        last, ended = start, end
    if began < ended:
        yield began, ended
