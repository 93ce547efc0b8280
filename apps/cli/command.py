"""Turn functions into Click commands, and load the commands of a group lazily.

A command's help text is its docstring, and its options are annotations of its parameters. Options
that several commands share are declared once, as the fields of a class.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from inspect import get_annotations, getdoc
from itertools import chain
from typing import Any, get_args, get_origin

import attrs
import click

from polycontext.base import InvalidOptionError, did_you_mean, similar

from .errors import about_flag
from .output import CommandError, Verbosity, set_verbosity

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}
COUNT, NUMBER = click.IntRange(min=1), click.IntRange(min=0)

Declaration = Callable[[str, Any], click.Parameter]
"""A function of the name and the type of the parameter that is annotated with it."""


def option(text: str, *flags: str, **more: Any) -> Declaration:
    """Declare an option with this help text; `more` goes to Click.

    Its flag is the parameter's name, unless `flags` gives others. A bool is a flag without a value;
    a sequence may be given several times.
    """

    def declare(name: str, kind: Any) -> click.Option:
        spelled = flags or (f"--{name.replace('_', '-')}",)
        if kind is bool:
            more["is_flag"] = True
        is_many = get_origin(kind) is Sequence
        return click.Option([*spelled, name], help=text, multiple=is_many, **more)

    return declare


def argument(**more: Any) -> Declaration:
    """Declare an argument; `more` goes to Click."""
    return lambda name, _: click.Argument([name], **more)


def command(
    *examples: str, name: str | None = None
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Return a decorator that makes a function a command.

    The function returns an exit code, or None for 0. The command takes the function's name unless
    `name` gives another; `examples` are printed below its help.

    The help lists parameters in the order of the function's signature. A parameter is annotated
    with its `option` or `argument`, or with an options class, whose fields are annotated so.
    """

    def make(function: Callable[..., int | None]) -> click.Command:
        kinds = get_annotations(function)
        shared = {name: attrs.fields(kind) for name, kind in kinds.items() if attrs.has(kind)}
        declared = [_declared(name, kind) for name, kind in kinds.items()]

        def run(**options: Any) -> int | None:
            for target, fields in shared.items():
                values = {field.name: options.pop(field.name) for field in fields}
                options[target] = kinds[target](**values)
            try:
                return function(**options)
            except InvalidOptionError as error:
                message = about_flag(error, click.get_current_context())
                if message is None:
                    raise
                raise CommandError(message) from error

        return click.Command(
            name or function.__name__,
            params=[*chain.from_iterable(declared), *_verbosity()],
            callback=run,
            help=getdoc(function),
            epilog="\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)]),
            context_settings=SETTINGS,
        )

    return make


def _declared(name: str, kind: Any) -> list[click.Parameter]:
    """Return the parameters in an annotation, or in those of an options class's fields."""
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    kinds = {field.name: field.type for field in fields} or {name: kind}
    return [
        declare(name, get_args(kind)[0])
        for name, kind in kinds.items()
        for declare in getattr(kind, "__metadata__", ())
    ]


def _verbosity() -> Iterable[click.Option]:
    told: tuple[tuple[Verbosity, str], ...] = (
        ("quiet", "Print only results and errors."),
        ("verbose", "Show the traceback of an error."),
    )
    for name, what in told:
        yield click.Option(
            [f"-{name[0]}", f"--{name}"],
            flag_value=name,
            is_eager=True,
            expose_value=False,
            callback=_set_verbosity,
            help=what,
        )


def _set_verbosity(_: click.Context, __: click.Parameter, given: Verbosity | None) -> None:
    if given is not None:
        set_verbosity(given)


class Group(click.Group):
    """A group of commands, each given by name with its module and its line in the group's help.

    A command's module is imported only when the command is used, so that help, completion and
    errors are fast.
    """

    def __init__(
        self, name: str, about: str, commands: Mapping[str, tuple[str, str]], **more: Any
    ) -> None:
        super().__init__(name, help=about, no_args_is_help=True, context_settings=SETTINGS, **more)
        self.modules = commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order of the help text."""
        return list(self.modules)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, or suggest similar ones."""
        if args[0] in self.modules or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        from polycontext.base import guesses  # noqa: PLC0415 - errors are rare

        meant = guesses.guess("commands", args[0])
        if meant is None and args[0] in getattr(self.get_command(ctx, "session"), "modules", ()):
            meant = f"session {args[0]}"
        use = f" Use {ctx.find_root().command_path} {meant}." if meant else ""
        use = use or did_you_mean(similar(args[0], self.modules, 1, 0.7))
        use = use or f" Use {', '.join(self.modules)}."
        raise click.UsageError(f"No such command {args[0]!r}.{use}", ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name, or None if there is none."""
        if cmd_name not in self.modules:
            return None
        module = import_module(f"polycontext.cli.{self.modules[cmd_name][0]}")
        attribute = f"{cmd_name}_" if cmd_name in ("import", "list") else cmd_name
        found: click.Command = getattr(module, attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and their descriptions without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.modules.items()])
