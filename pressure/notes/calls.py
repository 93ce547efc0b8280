"""Calls: what a tool call runs, reads or edits, and whether it failed."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from polycontext.window import ToolCall

from .commands import effect_of, script_edits, split_script
from .events import Change, Effect
from .patches import Edit, edits_of_blocks, edits_of_patch, is_diff

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]")
_READS = frozenset(
    re.findall(
        r"\w+",
        "get list search find read view look lookup show check fetch query count calculate "
        "retrieve describe browse grep glob inspect load cat ls stat open scroll goto web "
        "todoread is has validate verify compare explain select peek preview tail head "
        "download exists",
    )
)
_CHANGES = frozenset(
    re.findall(
        r"\w+",
        "update create delete set send write edit add remove cancel book modify insert "
        "replace post put patch move rename run execute apply submit exchange return transfer "
        "close reply commit push install save upload start stop kill",
    )
)
_THINKS = frozenset(re.findall(r"\w+", "think thought thinking sequentialthinking reason reflect"))
_SHELLS = frozenset(
    re.findall(r"\w+", "bash shell terminal command cmd exec execute run powershell sh console")
)
_EDITS = frozenset(
    re.findall(
        r"\w+",
        "edit write replace create insert patch append multiedit save delete remove update "
        "undo rewrite modify strreplace search",
    )
)
_PATH = re.findall(
    r"\w+",
    "file_path path filename file target_file notebook_path filePath absolute_path "
    "file_name relative_workspace_path TargetFile AbsolutePath relative_path uri",
)
_COMMAND = re.findall(r"\w+", "command cmd script CommandLine code_command input_command")
_OLD = re.findall(r"\w+", "old_string old_str oldText old_text oldString search old find")
_NEW = re.findall(r"\w+", "new_string new_str newText new_text newString replace replacement new")
_TEXT = re.findall(
    r"\w+",
    "content contents file_text text new_source code_edit insert_text new_str CodeContent "
    "data code replacement_text",
)
_OF_OPEN_FILE = {"replacement_text", "start_line", "search"}
"""Arguments of editors that edit the file that is open."""
_PATCH = ["input", "patch", "diff", "changes"]

_FAILED = re.compile(
    r"[\W\d]*(?:[\w.]*error\b|failed|failure|could not|cannot|can't|permission denied|access "
    r"denied|no such|not found|unable|traceback|invalid|[\"{\s]*(?:ok|success)\"\s?:\s?false)"
    r"|\w+: (?:can't|cannot|[^\n:]{0,200}: No such)|<tool_use_error>|fatal: |the user doesn't want",
    re.IGNORECASE,
)
_NO_EDIT = re.compile(
    r"not found in|no replacement|did not (?:match|apply|appear)|not applied|syntax error"
    r"|failed to|multiple occurrences|not unique|has not been read|no changes|no match|rejected"
    r"|not been applied|doesn't want|does not exist",
    re.IGNORECASE,
)
_EXIT = re.compile(
    r"<returncode>\s{0,9}(-?\d{1,6})|\b[Ee]xit(?:ed with)? ?(?:code|status)[ :=]{0,3}(-?\d{1,6})"
    r"|\"exit_?[cC]ode\": ?(-?\d{1,6})"
)
_FIRST = 400


class Call(NamedTuple):
    """What a call is about."""

    effect: Effect
    command: str = ""
    arguments: str = ""
    path: str = ""
    edits: tuple[Edit, ...] = ()
    thought: str = ""


def read_command(script: str) -> Call:
    """Return what a shell command does."""
    commands = split_script(script)
    edits = tuple(script_edits(script, commands))
    is_editor = bool(edits) and script.startswith(("edit ", "apply_patch "))
    effect = Effect.EDIT if is_editor else effect_of(commands, edits)
    return Call(effect, script, "", "", edits)


def read_call(call: ToolCall) -> Call:
    r"""Return what a tool call does.

    >>> read_call(ToolCall("1", "bash", '{"command": "ls src"}')).effect.value
    'read'
    >>> read_call(ToolCall("1", "Edit", '{"path": "a", "old_str": "x", "new_str": "y"}')).edits
    (Edit(path='a', change=<Change.REPLACE: 'replace'>, before='x', text='y'),)
    """
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        value = None
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    words = [*map(str.lower, _WORD.findall(call.name.rpartition("__")[2]))]
    path = _text_of(given, _PATH)
    if not _THINKS.isdisjoint(words):
        thought = next((one for one in given.values() if isinstance(one, str)), call.arguments)
        return Call(Effect.THINK, thought=thought)
    if (script := _script(words, given, call.arguments if value is None else "")) is not None:
        return read_command(script)
    if not _EDITS.isdisjoint(words):
        patch = _text_of(given, _PATCH) or ("" if given else call.arguments)
        edits = tuple(_edits(words, given, path, patch))
        if edits or _text_of(given, ("command",)) == "view":
            effect = Effect.EDIT if edits else Effect.READ
            return Call(effect, "", call.arguments, path or (edits[0].path if edits else ""), edits)
    return Call(_effect(words), "", call.arguments, path)


def _effect(words: list[str]) -> Effect:
    for word in words:
        if word in _CHANGES or word in _READS:
            return Effect.RUN if word in _CHANGES else Effect.READ
    return Effect.RUN


def _text_of(given: Mapping[str, Any], keys: Iterator[str] | list[str] | tuple[str, ...]) -> str:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), "")


def _script(words: list[str], given: Mapping[str, Any], raw: str) -> str | None:
    """Return the shell command of a call, or None."""
    for key in _COMMAND:
        match given.get(key):
            case str(script) if not (set(given) & {"path", "file_text", "old_str"}):
                return script
            case [*parts] if parts and all(isinstance(part, str) for part in parts):
                is_wrapped = parts[1:2] and parts[-2] in ("-c", "-lc")
                return parts[-1] if is_wrapped else " ".join(parts)
            case _:
                pass
    return raw if raw and not _SHELLS.isdisjoint(words) else None


def _edits(words: list[str], given: Mapping[str, Any], path: str, patch: str) -> Iterator[Edit]:
    verb = _text_of(given, ("command",))
    if is_diff(patch):
        yield from edits_of_patch(patch, path)
    elif path and "<<<<<<<" in (blocks := _text_of(given, ["diff", "content"])):
        yield from edits_of_blocks(blocks, path)
    elif verb == "undo_edit":
        yield Edit(path, Change.REVERT)
    elif path and not given.keys() & {*_OLD, *_TEXT} and {"delete", "remove"} & {*words}:
        yield Edit(path, Change.REMOVE)
    elif path or given.keys() & _OF_OPEN_FILE or ("content" in given and words == ["write"]):
        pairs = given.get("edits")
        for one in pairs if isinstance(pairs, list) else [given]:
            if isinstance(one, dict):
                yield from _pair(words, one, path or _text_of(one, _PATH))


def _pair(words: list[str], given: Mapping[str, Any], path: str) -> Iterator[Edit]:
    old, text = _text_of(given, _OLD), _text_of(given, _TEXT)
    new = _text_of(given, _NEW)
    inserts = given.keys() & {"insert_line", "insert_text", "code_edit"} or "insert" in words
    if old:
        yield Edit(path, Change.REPLACE, old, new)
    elif text or new:
        adds = (inserts or {"append", "edit"} & {*words}) and not given.keys() & {*_OLD}
        yield Edit(path, Change.INSERT if adds else Change.WRITE, text=text or new)
    elif path and "create" in words:
        yield Edit(path, Change.WRITE)
    elif path and not given.keys() & {"command", *_OLD} and {"edit", "write"} & {*words}:
        # The record leaves out what was changed.
        yield Edit(path, Change.INSERT)


def has_failed(result: str, effect: Effect, *, shell: bool) -> bool:
    """Return whether a result says that its call failed.

    A search or comparison that finds nothing ends with 1 and has not failed.
    """
    codes = _EXIT.search(result[:_FIRST]) or _EXIT.search(result[-_FIRST:])
    if codes and shell:
        code = next(filter(None, codes.groups()))
        return code != "0" and not (effect is Effect.READ and code == "1")
    if _FAILED.match(result[:200]):
        return True
    return effect is Effect.EDIT and _NO_EDIT.search(result[:_FIRST]) is not None
