"""`polycontext verify`: a policy of a state machine, checked over all orders of events."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import click

from polycontext.polynomial.policies import Found, Policy, find_violation

from .command import argument, command, option
from .diagram import load_machine
from .options import Json
from .output import FAULT, CommandError, write, write_json


@command(
    "polycontext verify my_agent.machines:Approval --never pay --before approve",
    "polycontext verify my_agent.machines:Approval --never pay --before approve --each "
    '--with \'approve={"by": "ana"}\'',
)
def verify(
    *,
    machine: Annotated[str, argument(metavar="MODULE:CLASS")],
    never: Annotated[str, option("The event or tool to forbid.", required=True, metavar="NAME")],
    before: Annotated[
        str, option("The event or tool that permits it.", required=True, metavar="NAME")
    ],
    each: Annotated[bool, option("Each one needs a permission of its own.")],
    depth: Annotated[
        int,
        option(
            "The number of events in the longest order.",
            type=click.IntRange(1, 12),
            default=6,
            metavar="N",
        ),
    ],
    arguments: Annotated[
        Sequence[str],
        option(
            "Arguments of an event: a JSON object, or a list by position. May be repeated.",
            "--with",
            metavar="EVENT=JSON",
        ),
    ],
    as_json: Json,
) -> int:
    """Check that one thing never happens before another, in any order of events.

    Tries messages, calls of the two tools and their results, compressions, rewinds, reopening,
    timers and the events that the machine adds. A tool happens when its result is accepted. Prints
    the shortest order that breaks the policy, and exits with 1. MODULE:CLASS is a subclass of
    ContextMachine; modules in the working directory are found.
    """
    found = find_violation(
        load_machine(machine),
        Policy(never, before, each),
        depth=depth,
        arguments=_read(arguments),
    )
    _check(found, never, before)
    if as_json:
        write_json(
            {"ok": not found.violation, "conversations": found.seen, "violation": found.violation}
        )
    else:
        write(_told(found, never, before, depth))
    return FAULT if found.violation else 0


def _told(found: Found, never: str, before: str, depth: int) -> str:
    if not found.violation:
        return f"ok: {never} never happens before {before}, in any order of {depth} events\n"
    steps = [f"  {number}. {said}" for number, said in enumerate(found.violation, 1)]
    return "\n".join([f"not ok: {never} happens before {before}", *steps]) + "\n"


def _check(found: Found, never: str, before: str) -> None:
    """Raise if nothing was checked, because one of both never happens."""
    for name in (never, before):
        if not found.violation and name not in found.happened:
            advice = (
                f"Check the name, raise --depth, or pass its arguments: --with '{name}={{...}}'"
            )
            raise CommandError(f"{name} never happens, so nothing was checked. {advice}.")


def _read(arguments: Sequence[str]) -> Mapping[str, Any]:
    """Return the arguments of each event.

    Raises:
        CommandError: they are neither a JSON object nor a list.
    """
    read: dict[str, Any] = {}
    for given in arguments:
        event, _, text = given.partition("=")
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict | list):
            advice = """Write EVENT=JSON, such as 'approve={"by": "ana"}'."""
            raise CommandError(f"--with {given}: no JSON object or list. {advice}")
        read[event] = value
    return read
