"""Shell commands: their parts, whether they only read, and the edits that they make."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .events import Change, Effect
from .patches import Edit, edits_of_patch

LONGEST = 100_000
"""The most characters of a script that are read."""

_HEREDOC = re.compile(r"(?<!<)<<-?\s{0,9}(['\"]?)(\w{1,60})\1")
_QUOTE = re.compile(r"\\.|['\"]", re.DOTALL)
_NAME = re.compile(r"[^\s\"'{}|;$]+")
_JOINT = re.compile(r"&&|\|\||[;\n|]|(?<![>&])&(?![>&])")
_PREFIX = re.compile(
    r"(?:(?:sudo|time|nohup|command|exec|do|then|else|xargs(?: -\S+)*|timeout [\w.]+"
    r"|nice(?: -n \d+)?"
    r"|\w{1,60}=\S{0,200}|\()\s+)*"
)
_NEUTRAL = re.compile(
    r"(?:cd|pushd|popd|export|source|\.|set|true|:|#|sleep|clear|fi|done|for|while|if|unset|alias"
    r"|esac|\))(?:\s|$|[)])"
)
_READS = re.compile(
    r"(?:cat|ls|ll|dir|find|fd|grep|egrep|rg|ag|head|tail|wc|tree|pwd|which|type|nl|less|more|file"
    r"|stat|du|df|env|printenv|echo|printf|awk|sort|uniq|cut|tr|jq|yq|diff|cmp|column|basename"
    r"|dirname|realpath|readlink|date|whoami|uname|id|ps|man|help|history|test|\[|sed|open|goto"
    r"|scroll_\w+|search_\w+|find_file|Get-\w+|Select-String|md5sum|sha\d*sum|xxd|hexdump|strings"
    r"|git (?:--no-pager )?(?:status|log|diff|show|branch|grep|blame|ls-files|remote|rev-parse"
    r"|describe|shortlog|reflog|config --get|stash (?:list|show))"
    r"|(?:docker|podman) (?:ps|logs|images|inspect)|kubectl (?:get|describe|logs)"
    r"|[\w.-]{1,40} (?:\w{1,20} )?(?:view|list|show|get|status|info|ready)"
    r"|[\w.-]{1,40} (?:\w{1,20} )?(?:--version|--help|-[Vv])$"
    r")(?=\s|$)"
)
_WRITES = re.compile(r"-(?:delete|exec(?:dir)?|fprint)\b|\bsed\b.*\s-\w*i|\bawk\b.*-i\s?inplace")
_TARGET = re.compile(r"(?<![<>&=\d-])(>>?)\s{0,9}(?![&(])(['\"]?)([^\s'\"<>|;&]{1,400})\2")
_TEE = re.compile(r"\btee\s+(-a\s+)?(['\"]?)([^\s'\"<>|;&-][^\s'\"<>|;&]{0,400})\2")
_STASHED = re.compile(r"stash(?:\s+(?:push|save)\b|\s+-|\s*$)")
_PATCHES = re.compile(r"(?:git\s+apply|patch|apply_patch)\b")
_EDITOR = re.compile(
    r"edit\s+\d{1,9}:\d{1,9}\n(.*?)(?:^end_of_edit\b|\Z)", re.DOTALL | re.MULTILINE
)


class Command(NamedTuple):
    """A simple command of a script, with the text of its here-document."""

    text: str
    masked: str
    """The text with quoted parts blanked out, at the same length."""
    document: str = ""


def split_script(script: str) -> list[Command]:
    r"""Return the simple commands of a shell script.

    >>> [one.text for one in split_script("cd a && git commit -m 'b; c'\nls | wc")]
    ['cd a', "git commit -m 'b; c'", 'ls', 'wc']
    >>> split_script("cat > a.py <<'E'\nx = 1\nE\nls")[0].document
    'x = 1'
    """
    text, documents = _without_documents(script[:LONGEST])
    masked, found, start = _masked(text), [], 0
    for end, after in [*(joint.span() for joint in _JOINT.finditer(masked)), (len(text),) * 2]:
        part = text[start:end]
        if part.strip():
            lead = len(part) - len(part.lstrip())
            lead += _span(_PREFIX.match(part[lead:]))
            shown = masked[start + lead : end].rstrip()
            document = documents.pop(0) if _HEREDOC.search(part) and documents else ""
            if shown and not shown.startswith("#"):
                found.append(Command(text[start + lead : end].rstrip(), shown, document))
        start = after
    return found


def _span(match: re.Match[str] | None) -> int:
    return match.end() if match else 0


def _without_documents(script: str) -> tuple[str, list[str]]:
    """Return a script without the lines of its here-documents, and these."""
    if "<<" not in script:
        return script, []
    kept, documents, lines = list[str](), list[str](), iter(script.split("\n"))
    for line in lines:
        kept.append(line)
        for opening in _HEREDOC.finditer(line):
            body = list[str]()
            for inner in lines:
                if inner.strip() == opening[2]:
                    break
                body.append(inner)
            documents.append("\n".join(body))
    return "\n".join(kept), documents


def _masked(text: str) -> str:
    kept, quote, start, after = list[str](), "", 0, 0
    for mark in _QUOTE.finditer(text):
        sign = mark[0]
        if not quote and len(sign) == 1:
            quote, start = sign, mark.end()
        elif quote and sign[-1] == quote and (len(sign) == 1 or quote == "'"):
            kept += [text[after:start], "_" * (mark.end() - 1 - start)]
            quote, after = "", mark.end() - 1
    return "".join([*kept, text[after:]])


def effect_of(commands: Sequence[Command], edits: Sequence[Edit]) -> Effect:
    """Return what the commands of a script do."""
    acts = [one for one in commands if not _NEUTRAL.match(one.text)]
    runs = [one for one in acts if not _reads(one)]
    if not runs:
        return Effect.READ
    changed = [edit for edit in edits if edit.change not in (Change.COMMIT, Change.UNCOMMIT)]
    only_edits = bool(changed) and all(any(_edits(one)) for one in runs)
    return Effect.EDIT if only_edits else Effect.RUN


def _reads(command: Command) -> bool:
    target = _TARGET.search(command.masked)
    is_written = target is not None and not target[3].startswith("/dev/")
    return bool(
        _READS.match(command.text) and not is_written and not _WRITES.search(command.masked)
    )


def script_edits(script: str, commands: Sequence[Command]) -> list[Edit]:
    r"""Return the edits that a script makes, with those that it takes back itself left out.

    >>> script = "sed -i 's/a/b/' x.py && git checkout y.py"
    >>> [(one.change.value, one.path) for one in script_edits(script, split_script(script))]
    [('substitute', 'x.py'), ('undo', 'y.py')]
    """
    if script.startswith("apply_patch ") and "*** Begin Patch" in script and "<<" not in script:
        return [*edits_of_patch(script)]
    if editor := _EDITOR.match(script):
        return [Edit("", Change.INSERT, text=editor[1])]
    found = [edit for command in commands for edit in _edits(command)]
    changes = [edit.change for edit in found]
    if Change.SHELVE in changes and Change.UNSHELVE in changes:
        # A stash that is popped at once leaves the files as they were.
        found = [edit for edit in found if edit.change not in (Change.SHELVE, Change.UNSHELVE)]
    return found


def _edits(command: Command) -> Iterator[Edit]:
    words = command.masked.split(None, 1)
    first, rest = (*words, "")[:2] if words else ("", "")
    if first in ("cat", "tee"):
        yield from _written(command, first)
    elif first in ("sed", "perl"):
        yield from _substituted(command)
    elif first == "rm" or (first == "git" and rest.startswith("rm ")):
        paths = _paths(command)
        yield from (Edit(path, Change.REMOVE) for path in paths if path != "rm")
    elif _PATCHES.match(command.masked) and command.document:
        yield from edits_of_patch(command.document)
    elif first == "git":
        yield from _history(command, rest)


def _written(command: Command, first: str) -> Iterator[Edit]:
    target = _TEE.search(command.masked) if first == "tee" else _TARGET.search(command.masked)
    if target is None or target[3].startswith("/dev/"):
        return
    adds = (target[1] or "").strip() in (">>", "-a")
    if command.document:
        path = command.text[slice(*target.span(3))]
        yield Edit(path, Change.INSERT if adds else Change.WRITE, text=command.document)


def _substituted(command: Command) -> Iterator[Edit]:
    words = _words(command)
    flags = [word for word in words[1:] if word.startswith("-")]
    if not any("i" in flag.lstrip("-")[:3] for flag in flags):
        return
    plain = [word for word in words[1:] if word and not word.startswith("-")]
    number = max(1, sum(flag in ("-e", "-pe") for flag in flags))
    # Quotes inside quotes leave parts of the expression behind, and a variable names no file.
    for path in filter(_NAME.fullmatch, plain[number:]):
        for expression in plain[:number]:
            yield Edit(path, Change.SUBSTITUTE, text=expression)


def _history(command: Command, rest: str) -> Iterator[Edit]:
    verb, _, more = rest.partition(" ")
    words = _paths(command)[1:]
    if verb == "stash":
        if _STASHED.match(rest):
            yield Edit("", Change.SHELVE)
        elif more.startswith(("pop", "apply")):
            yield Edit("", Change.UNSHELVE)
    elif verb == "reset" and "--hard" in more:
        if re.search(r"HEAD[~^]", more):
            yield Edit("", Change.UNCOMMIT)
        yield Edit("", Change.UNDO)
    elif verb == "revert":
        yield from (Edit("" if word == "HEAD" else word, Change.UNCOMMIT) for word in words[:1])
    elif verb == "commit" and "--dry-run" not in more:
        said = re.search(r"-\w*m\s*|--message[= ]", command.masked)
        message = command.text[said.end() :].strip().strip("'\"") if said else ""
        if command.document and (not message or message.startswith("$(")):
            message = command.document
        yield Edit("", Change.COMMIT, text=message.strip().split("\n")[0])
    elif (verb == "restore" and "--staged" not in more) or (
        verb == "checkout" and " -b" not in rest
    ):
        after = words[words.index("--") + 1 :] if "--" in words else words
        named = after if "--" in words or verb == "restore" else [*filter(_is_file, after)]
        yield from (Edit("" if path == "." else path, Change.UNDO) for path in named)


def _is_file(word: str) -> bool:
    return word == "." or re.fullmatch(r"[^\s:]*[\w@#-]\.[A-Za-z]\w{0,9}", word) is not None


def _paths(command: Command) -> list[str]:
    """Return the words of a command behind the first, without options."""
    return [word for word in _words(command)[1:] if word == "--" or not word.startswith("-")]


def _words(command: Command) -> list[str]:
    """Return the words of a command; quoted ones are unquoted, redirections left out."""
    text, found, masked = command.text, list[str](), command.masked
    for match in re.finditer(r"[^\s'\"]*(?:'_*'|\"_*\")[^\s'\"]*|\S+", masked):
        word = text[match.start() : match.end()]
        if word.startswith((">", "2>", "<")):
            break
        found.append(word[1:-1] if word[:1] in "'\"" and word[:1] == word[-1:] else word)
    return found
