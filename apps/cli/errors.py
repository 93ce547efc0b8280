"""Error messages of commands, made from the fields of the library's errors."""

import shlex

import click
from attrs import evolve

from polycontext.base import (
    InvalidOptionError,
    UnknownNameError,
    advised,
    did_you_mean,
    safe_repr,
    similar,
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


def about_usage(error: click.UsageError) -> str:
    """Return Click's message with what is possible: a flag, the arguments, or a value."""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        return _about_option(error.option_name, error.ctx.command)
    is_count = type(error) is click.UsageError and error.message.startswith("Got unexpected")
    if error.ctx is not None and (is_count or isinstance(error, click.MissingParameter)):
        pieces = error.ctx.command.collect_usage_pieces(error.ctx)
        problem = error.format_message().removesuffix(".")
        return f"{problem}. Use {' '.join((error.ctx.command_path, *pieces))}."
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
            meant = did_you_mean(similar(given.rpartition(": ")[2].strip("'"), names))
            return f"{given}.{meant} Use {', '.join(names)}."
        case _:
            return error.format_message()


def _about_option(flag: str, command: click.Command) -> str:
    from polycontext.base import guesses  # noqa: PLC0415 - errors are rare

    if isinstance(command, click.Group):
        return f"No option {flag!r} here. Write it after the command."
    flags = [max(each.opts, key=len) for each in command.params if isinstance(each, click.Option)]
    known = {each.lstrip("-").replace("-", "_"): each for each in flags}
    meant = guesses.keyword_for(flag.lstrip("-").replace("-", "_"), known)
    return f"No such option {flag!r}. Use {known[meant] if meant else ', '.join(flags)}."


def _bounds(kind: click.IntRange | click.FloatRange) -> str:
    least = f"{'above' if kind.min_open else 'at least'} {kind.min}"
    most = f"{'below' if kind.max_open else 'at most'} {kind.max}"
    return least if kind.max is None else f"{least} and {most}"


def _name(param: click.Parameter, context: click.Context) -> str:
    """Return the flag of an option, or an argument as the help shows it."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(context).strip("[]")
