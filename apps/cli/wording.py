"""Error messages in terms of commands: flags and JSON instead of arguments and Python types."""

import re
import shlex
from difflib import get_close_matches

import click

from polycontext.base import InvalidOptionError, safe_repr
from polycontext.base.json_data import kind_of

from .output import CommandError

_SAME = {"url": "store", "session_id": "session", "new_id": "new", "input": "source"}
"""Arguments of the library that have another name in a command."""

_WORDS = {
    "Use an id from session.log()": "Use an id that polycontext session show lists",
    "(see session.rules)": "(see polycontext session rules)",
    "Use add_tool_turn to add their results, or close_open_calls()": (
        "Add their results with --role tool, or use --close-calls"
    ),
    "pass its context window as max_tokens=;": "pass its context window as --max-tokens;",
    "Lower reserve, pass fewer tools, or raise": "Lower --reserve, or raise",
    "raise max_tokens": "raise --max-tokens",
    '"postgresql://" with a server behind it, or a store with load and append': (
        'or "postgresql://" with a server behind it'
    ),
    "; what is to be kept in memory needs no url: ContextSession(...)": "",
    " such as datetime.now(UTC)": "",
    " such as turn.resource_id": "",
    ", or a resolver made with everything=True": "",
    "a dict with a role, or an SDK's message": "an object with a role",
    "{'role': 'user', 'content': ...}, add_user_turn, or add_assistant_turn": (
        '{"role": "user", "content": ...}'
    ),
    "{'role': ..., 'content': ...} in place of a pair": (
        '{"role": ..., "content": ...} in place of a pair'
    ),
    "extend for a list of messages": "messages in one list, not in lists",
}
"""What the library says in terms of Python, and what a command says instead."""

_TYPES: tuple[type, ...] = (type(None), dict, list, str, bool, int, float)
_KINDS = {each.__name__: kind_of(each()) for each in _TYPES}

_SAID = re.compile(
    "|".join(map(re.escape, _WORDS))
    # The problem of an error, behind the place.
    + rf"|(?:^|(?<=: ))(?:{'|'.join(_KINDS)})(?= is not [^.]+\. Use )"
    # What is quoted is the user's; an apostrophe opens nothing.
    + r"""|(?<!\w)'(?:[^'\\]|\\.)*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)"""
)


def in_words_of_commands(message: str) -> str:
    """Return a text of the library without names that only a Python program can use.

    Quoted text is left as it is.
    """
    words = _KINDS | _WORDS
    return _SAID.sub(lambda found: words.get(found[0], found[0]), message)


def message_of(error: Exception) -> str:
    """Return the message of an error, with the command line's words for Python's types."""
    return str(error) if isinstance(error, CommandError) else in_words_of_commands(str(error))


def command_line(*words: object) -> str:
    """Return a command that can be pasted into a shell."""
    return shlex.join(map(str, ("polycontext", *words)))


def about_flag(error: InvalidOptionError, context: click.Context) -> str | None:
    """Return the message of an error with the flag or argument that gave the value, if one did."""
    name = _SAME.get(error.option, error.option)
    params = context.command.params
    flag = next((_name(each, context) for each in params if each.name == name), None)
    if flag is None:
        return None
    legal = in_words_of_commands(error.legal)
    if error.value is None:
        return f"{flag} is missing. Use {legal}."
    return f"Invalid value for {flag}: {safe_repr(error.value):.200}. Use {legal}."


def about_usage(error: click.UsageError) -> str:
    """Return Click's message, for a value with what is possible in its place."""
    # The subclasses say that a parameter is missing, or that there is none.
    if type(error) is not click.BadParameter or error.param is None or error.ctx is None:
        return error.format_message()
    param, context = error.param, error.ctx
    given = f"Invalid value for {_name(param, context)}: {error.message.partition(' is not ')[0]}"
    match param.type:
        case click.IntRange() | click.FloatRange() as kind:
            whole = "a whole number" if isinstance(kind, click.IntRange) else "a number"
            return f"{given}. Use {whole}, {_bounds(kind)}."
        case click.Choice() as kind:
            names = [str(each) for each in kind.choices]
            near = " or ".join(get_close_matches(given.rpartition(": ")[2].strip("'"), names))
            meant = f" Did you mean {near}?" if near else ""
            return f"{given}.{meant} Use {', '.join(names)}."
        case _:
            return error.format_message()


def _bounds(kind: click.IntRange | click.FloatRange) -> str:
    least = f"{'above' if kind.min_open else 'at least'} {kind.min}"
    most = f"{'below' if kind.max_open else 'at most'} {kind.max}"
    return least if kind.max is None else f"{least} and {most}"


def _name(param: click.Parameter, context: click.Context) -> str:
    """Return the flag of an option, or an argument as the help shows it."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(context).strip("[]")
