"""`polycontext laws`: tests of the library's laws on generated inputs or on a user's object."""

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import click

from polycontext.base import Law, require_extra, similar

# Check for the extra before any module that needs it is imported.
require_extra("hypothesis", extra="laws", purpose="polycontext laws")

from polycontext.testing import (
    NOTHING,
    ROOMS,
    Strategies,
    Subject,
    Verdict,
    all_laws,
    load_subject,
    run_law,
)

from .command import COUNT, command, option
from .options import Json
from .output import (
    FAULT,
    CommandError,
    one_line,
    progress,
    write,
    write_columns,
    write_json,
)

STORAGE = "HYPOTHESIS_STORAGE_DIRECTORY"
"""Environment variable that sets the directory where Hypothesis keeps its files."""

_COLUMNS = ("room", "law", "examples", "verdict")


@command(
    "polycontext laws",
    "polycontext laws --room pressure --examples 1000 --json",
    "polycontext laws --subject my_agent.summaries:ShortSummariser",
)
def laws(
    *,
    rooms: Annotated[
        Sequence[str],
        option(
            "Run only the laws of this package. May be repeated.",
            "--room",
            type=click.Choice(ROOMS),
        ),
    ],
    names: Annotated[
        Sequence[str], option("Run only this law. May be repeated.", "--law", metavar="NAME")
    ],
    examples: Annotated[
        int, option("The number of inputs for each law.", type=COUNT, default=100, metavar="N")
    ],
    subject_name: Annotated[
        str | None,
        option(
            "An object of yours, such as a summariser: run every law that applies to it.",
            "--subject",
            metavar="MODULE:OBJECT",
        ),
    ],
    seed: Annotated[int | None, option("Use other inputs.", type=int, metavar="NUMBER")],
    as_json: Json,
) -> int:
    """Test the library's laws on generated inputs, or on an object of yours.

    A law is a property as code, such as "no call is separated from its result". Prints for each
    whether it holds and the smallest counterexample. Exits with 1 if a law is broken. Inputs are
    the same in every run, unless you pass --seed.
    """
    chosen = _named(rooms, names)
    subject = None if subject_name is None else load_subject(subject_name)
    if subject is not None:
        chosen = _about(chosen, subject)
    with _own_storage():
        verdicts = _run(chosen, subject.bound if subject else NOTHING, examples, seed)
    ok = all(verdict.ok for verdict in verdicts)
    if as_json:
        about = {"name": subject.name, "kinds": list(subject.kinds)} if subject else None
        told = {"ok": ok, "examples": examples, "seed": seed, "subject": about}
        write_json({**told, "laws": [_as_json(verdict) for verdict in verdicts]}, indent=2)
    else:
        _print(verdicts, subject)
    return 0 if ok else FAULT


# --- selection of laws ----------------------------------------------------


def _named(rooms: Sequence[str], names: Sequence[str]) -> Sequence[Law]:
    """Return the laws of the given rooms with the given names, all of them if none is named.

    A name may have its room as a prefix.
    """
    laws = all_laws(rooms or ROOMS)
    known = {name for law in laws for name in _names(law)}
    for name in names:
        if name not in known:
            where = f" in {', '.join(rooms)}" if rooms else ""
            longer = sorted(law.name for law in laws if name in law.name)
            near = " or ".join(longer[:3] or similar(name, known))
            use = f"Did you mean {near}?" if near else "Use a name that docs/laws.md lists."
            raise CommandError(f"--law {name}: no such law{where}. {use}")
    return [law for law in laws if not names or not set(names).isdisjoint(_names(law))]


def _names(law: Law) -> tuple[str, str]:
    return law.name, f"{law.room}.{law.name}"


def _about(laws: Sequence[Law], subject: Subject) -> Sequence[Law]:
    found = [law for law in laws if not subject.bound.keys().isdisjoint(law.parameters)]
    if not found:
        about = " or ".join(sorted(subject.bound))
        use = f"Use --room or --law with laws about {about}."
        raise CommandError(f"--subject {_described(subject)}. {use}")
    return found


def _described(subject: Subject) -> str:
    return f"{subject.name} is {' and '.join(subject.kinds)}"


# --- output ---------------------------------------------------------------


def _as_json(verdict: Verdict) -> dict[str, Any]:
    law, found = verdict.law, verdict.counterexample
    return {
        "room": law.room,
        "law": law.name,
        "statement": law.statement,
        "source": law.source,
        "tried": verdict.tried,
        "ok": verdict.ok,
        "counterexample": found and {"problem": found.problem, "inputs": dict(found.inputs)},
    }


def _print(verdicts: Sequence[Verdict], subject: Subject | None) -> None:
    """Print one row for each law, the counterexample of each broken law, and the totals."""
    if subject is not None:
        write(f"{_described(subject)}\n\n")
    write_columns(_COLUMNS, [_row(verdict) for verdict in verdicts])
    broken = [verdict for verdict in verdicts if not verdict.ok]
    for verdict in broken:
        write(_problem(verdict))
    laws = f"{len(verdicts)} law{'' if len(verdicts) == 1 else 's'}"
    tried = f"{laws}, {sum(verdict.tried for verdict in verdicts)} examples"
    write(f"\n{tried}: {f'{len(broken)} broken' if broken else 'all hold'}\n")


def _row(verdict: Verdict) -> tuple[str, str, str, str]:
    law = verdict.law
    return law.room, law.name, str(verdict.tried), "holds" if verdict.ok else "broken"


def _problem(verdict: Verdict) -> str:
    """Return a broken law's statement and full counterexample, one fact a line."""
    law, found = verdict.law, verdict.counterexample
    assert found is not None
    told = [
        f"{one_line(law.statement)} ({one_line(law.source)})",
        *(f"{name} = {one_line(value)}" for name, value in found.inputs.items()),
        f"found: {one_line(found.problem)}",
    ]
    return "\n  ".join([f"\n{law.room}.{law.name}", *told]) + "\n"


# --- execution ------------------------------------------------------------


def _run(laws: Sequence[Law], bound: Strategies, examples: int, seed: int | None) -> list[Verdict]:
    """Run the laws and show progress on standard error."""
    with progress("laws", len(laws)) as update:

        def show(law: Law, tried: int) -> None:
            update(laws.index(law) + min(tried / examples, 1.0), f"{law.room}.{law.name}")

        return [run_law(law, examples, bound=bound, seed=seed, progress=show) for law in laws]


@contextmanager
def _own_storage() -> Generator[None]:
    """Keep Hypothesis's files out of the working directory, unless the environment sets a place."""
    if STORAGE in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="polycontext-laws-") as place:
        os.environ[STORAGE] = place
        try:
            yield
        finally:
            del os.environ[STORAGE]
