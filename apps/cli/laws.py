"""`polycontext laws`: every law, run on generated inputs or on a user's own object."""

import os
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from polycontext.linearity import Law
from polycontext.testing import NOTHING, ROOMS, Strategies, Verdict, all_laws, run_law

from .law_subject import Subject, load_subject
from .output import FAULT, USAGE, CommandError, one_line, paper_width, progress, write_json, write_rich

STORAGE = "HYPOTHESIS_STORAGE_DIRECTORY"
"""Environment variable that says where Hypothesis keeps its files."""

_COLUMNS = ("room", "law", "examples", "verdict")
_GAP = 2


def check_laws(
    rooms: Sequence[str], names: Sequence[str], subject_name: str | None, *, examples: int, seed: int | None, as_json: bool
) -> int:
    """Run the laws asked for and print their verdicts; return the exit code: 1 if one is broken.

    Raises:
        CommandError: no such room or law. InvalidDataError: a subject that laws cannot be run on.
    """
    laws = _named(rooms, names)
    subject = load_subject(subject_name) if subject_name is not None else None
    if subject is not None:
        laws = _about(laws, subject)
    with _own_storage():
        verdicts = _run(laws, NOTHING if subject is None else subject.bound, examples, seed)
    ok = all(verdict.ok for verdict in verdicts)
    if as_json:
        about = None if subject is None else {"name": subject.name, "kinds": list(subject.kinds)}
        told = [_as_json(verdict) for verdict in verdicts]
        write_json({"ok": ok, "examples": examples, "seed": seed, "subject": about, "laws": told}, indent=2)
    else:
        write_rich(_table(verdicts, subject))
    return 0 if ok else FAULT


# --- which laws -----------------------------------------------------------


def _named(rooms: Sequence[str], names: Sequence[str]) -> Sequence[Law]:
    """Return the laws of the rooms that were named, with or without their room; all of them where none was."""
    for room in rooms:
        if room not in ROOMS:
            raise CommandError(USAGE, f"--room {room}: no such room; legal: {', '.join(ROOMS)}")
    laws = all_laws(rooms or ROOMS)
    known = {name for law in laws for name in _names(law)}
    for name in names:
        if name not in known:
            where = f" in {', '.join(rooms)}" if rooms else ""
            near = get_close_matches(name, known) or sorted(law.name for law in laws)
            raise CommandError(USAGE, f"--law {name}: no such law{where}; legal: {', '.join(near)}")
    return [law for law in laws if not names or not set(names).isdisjoint(_names(law))]


def _names(law: Law) -> tuple[str, str]:
    return law.name, f"{law.room}.{law.name}"


def _about(laws: Sequence[Law], subject: Subject) -> Sequence[Law]:
    found = [law for law in laws if not subject.bound.keys().isdisjoint(law.parameters)]
    if not found:
        about = " or ".join(sorted(subject.bound))
        raise CommandError(
            USAGE, f"--subject {subject.name} is {' and '.join(subject.kinds)}; legal: --room or --law with laws about {about}"
        )
    return found


# --- what is printed ------------------------------------------------------


def _as_json(verdict: Verdict) -> dict[str, Any]:
    law, found = verdict.law, verdict.counterexample
    return {
        "room": law.room,
        "law": law.name,
        "statement": law.statement,
        "source": law.source,
        "tried": verdict.tried,
        "ok": verdict.ok,
        "counterexample": None if found is None else {"problem": found.problem, "inputs": dict(found.inputs)},
    }


def _table(verdicts: Sequence[Verdict], subject: Subject | None) -> RenderableType:
    broken = [verdict for verdict in verdicts if not verdict.ok]
    room = _room_left(verdicts) if broken else 0
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for name in _COLUMNS:
        table.add_column(name, justify="right" if name == "examples" else "left", no_wrap=True)
    if room:
        table.add_column("counterexample", no_wrap=True)
    for verdict in verdicts:
        problem = Text("" if verdict.counterexample is None else one_line(verdict.counterexample.problem))
        problem.truncate(room, overflow="ellipsis")
        table.add_row(*_row(verdict), *([problem] if room else []))
    heading: list[RenderableType] = [] if subject is None else [Text(f"{subject.name} is {' and '.join(subject.kinds)}"), ""]
    tried = f"{len(verdicts)} law{'' if len(verdicts) == 1 else 's'}, {sum(verdict.tried for verdict in verdicts)} examples"
    found = Text(f"{tried}: {len(broken)} broken", "bold red") if broken else Text(f"{tried}: all hold", "bold green")
    return Group(*heading, table, *(part for verdict in broken for part in _broken(verdict)), "", found)


def _room_left(verdicts: Sequence[Verdict]) -> int:
    """Return how many columns are left for counterexamples, 0 if too few to say anything."""
    columns = zip(*([len(cell.plain) for cell in _row(verdict)] for verdict in verdicts), strict=True)
    widths = [max(len(name), *column) for name, column in zip(_COLUMNS, columns, strict=True)]
    left = paper_width() - sum(widths) - _GAP * len(widths)
    return left if left >= len("counterexample") else 0


def _row(verdict: Verdict) -> tuple[Text, Text, Text, Text]:
    word = Text("holds", style="green") if verdict.ok else Text("broken", style="red")
    return Text(verdict.law.room, style="dim"), Text(verdict.law.name), Text(str(verdict.tried)), word


def _broken(verdict: Verdict) -> list[RenderableType]:
    """Return a broken law's statement and its whole counterexample."""
    law, found = verdict.law, verdict.counterexample
    assert found is not None
    lines = [Text(), Text(f"{law.room}.{law.name}", style="bold red"), Text(f"  {one_line(law.statement)} ({one_line(law.source)})")]
    lines += [Text(f"  {name} = {one_line(value)}", overflow="fold") for name, value in found.inputs.items()]
    return [*lines, Text(f"  found: {one_line(found.problem)}", overflow="fold")]


# --- while it runs --------------------------------------------------------


def _run(laws: Sequence[Law], bound: Strategies, examples: int, seed: int | None) -> list[Verdict]:
    """Run the laws, and show on standard error how far the work is: a bar on a terminal, else one line a law."""
    verdicts: list[Verdict] = []
    with progress("laws", len(laws)) as update:

        def show(law: Law, tried: int) -> None:
            if update is not None:
                update(completed=len(verdicts) + min(tried / examples, 1.0), description=f"{law.room}.{law.name}")

        for law in laws:
            verdicts.append(run_law(law, examples, bound=bound, seed=seed, progress=show))
            if update is None:
                word = "holds" if verdicts[-1].ok else "broken"
                sys.stderr.write(f"{len(verdicts)}/{len(laws)} {law.room}.{law.name}: {word}\n")
    return verdicts


@contextmanager
def _own_storage() -> Generator[None]:
    """Keep what Hypothesis writes out of the working directory, unless the environment says where it goes."""
    if STORAGE in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="polycontext-laws-") as place:
        os.environ[STORAGE] = place
        try:
            yield
        finally:
            del os.environ[STORAGE]
