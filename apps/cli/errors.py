"""Error messages of commands, made from the fields of the library's errors."""

import shlex

import click
from attrs import evolve

from polycontext.base import (
    InvalidOptionError,
    UnknownNameError,
    advised,
    safe_repr,
)

_SAME = {"url": "store", "session_id": "session", "new_id": "new", "input": "source"}
"""Arguments of the library that have another name in a command."""

_LEGAL = {
    "store": 'the path of a SQLite file, or "postgresql://" with a server behind it',
}
"""What to use for an argument, where a program in Python can pass more."""


def message_of(error: Exception, *, is_stored: bool = True) -> str:
    """Return the message of an error, with what to do in terms of commands.

    Rules can only be ended in a stored session.
    """
    from polycontext.linearity import UnknownResourceError  # noqa: PLC0415 - errors are rare
    from polycontext.polynomial import ContextOverflowError  # noqa: PLC0415
    from polycontext.window import InvalidMessagesError  # noqa: PLC0415

    match error:
        case ContextOverflowError():
            ends = "End rules (see polycontext session rules), s"
            rules = ends if is_stored and error.taken.get("rules") else "S"
            lower = "Lower --reserve" if error.advice else f"{rules}horten it"
            return advised(error.problem, f"{lower}, or raise --max-tokens")
        case UnknownNameError(kind="model"):
            size = "For any other model, pass its context window as --max-tokens"
            return str(evolve(error, advice=f"{size}; polycontext models lists the known names."))
        case UnknownResourceError(near=()):
            problem = f"there is no turn or resource {error.resource_id!r}"
            return advised(problem, "Use an id that polycontext session show lists")
        case InvalidMessagesError(rule="unanswered-call"):
            return str(evolve(error, legal="--role tool to add their results, or --close-calls"))
        case _:
            return str(error)


def command_line(*words: object) -> str:
    """Return a command that can be pasted into a shell."""
    return shlex.join(map(str, ("polycontext", *words)))


def about_flag(error: InvalidOptionError, context: click.Context) -> str | None:
    """Return the message of an error with the flag or argument that gave the value, if one did."""
    name = _SAME.get(error.option, error.option)
    params = context.command.params
    # A flag that may be repeated is named in the plural.
    names = (name, f"{name}s")
    flag = next((_name(each, context) for each in params if each.name in names), None)
    if flag is None:
        return None
    legal = _LEGAL.get(name, error.legal)
    if error.value is None:
        return f"{flag} is missing. Use {legal}."
    return f"Invalid value for {flag}: {safe_repr(error.value):.200}. Use {legal}."


def about_option(error: click.NoSuchOption) -> str:
    """Return the message about an unknown option, with the one that is meant, or all."""
    from polycontext.base import guesses  # noqa: PLC0415 - errors are rare

    assert error.ctx is not None
    flags = [max(each.opts, key=len) for each in error.ctx.command.params if each.opts[0][0] == "-"]
    known = {each.lstrip("-").replace("-", "_"): each for each in flags}
    meant = guesses.keyword_for(error.option_name.lstrip("-").replace("-", "_"), known)
    return (
        f"No such option {error.option_name!r}. Use {known[meant] if meant else ', '.join(flags)}."
    )


def _name(param: click.Parameter, context: click.Context) -> str:
    """Return the flag of an option, or an argument as the help shows it."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(context).strip("[]")
