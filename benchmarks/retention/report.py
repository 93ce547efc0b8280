"""Print tables of figures, and the differences between two runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.retention.aging import AGES
from benchmarks.retention.judge import FAULTS
from benchmarks.retention.projecting import RECALLS

Data = Mapping[str, Any]
_TIMES = ("ms", "ms a compression")
ORACLES = ("greedy oracle", "best whole messages")


def _table(title: str, names: Sequence[str], columns: Sequence[str]) -> Table:
    made = Table(title=title, title_justify="left")
    for name in names:
        made.add_column(name)
    for column in columns:
        made.add_column(column, justify="right")
    return made


def projections(title: str, figures: Mapping[str, Mapping[str, Data]]) -> Table:
    """Return the table of a set, with one line per method and budget."""
    rows = [
        (method, budget, data)
        for method, budgets in figures.items()
        for budget, data in budgets.items()
    ]
    recalls = [
        recall for recall in RECALLS if any(recall in data["recalls"] for _, _, data in rows)
    ]
    of = [
        max(data["recalls"].get(recall, {"of": 0})["of"] for _, _, data in rows)
        for recall in recalls
    ]
    counts = ", ".join(f"{recall} of {count}" for recall, count in zip(recalls, of, strict=True))
    made = _table(
        f"{title}: {counts}",
        ["method"],
        ["budget", "calls", "refused", *recalls, "used", "p10", "room used", "p10", "ms"],
    )
    for method, budget, data in rows:
        found = data["recalls"]
        shares = [_share(found[each]["share"]) if each in found else "" for each in recalls]
        used = [
            _percent(data[of][key]) for of in ("used", "room used") for key in ("median", "p10")
        ]
        made.add_row(
            method,
            budget,
            str(data["calls"]),
            _percent(data["refusals"]),
            *shares,
            *used,
            _number(data["ms"]),
        )
    return made


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def print_gates(console: Console, name: str, figures: Mapping[str, Mapping[str, Data]]) -> None:
    """Print the broken gates and the errors of each method."""
    for method, budgets in figures.items():
        for budget, data in budgets.items():
            broken, errors = (
                _counts(data["gates"]),
                "; ".join(f"{count} x {error}" for error, count in data["errors"].items()),
            )
            if broken or errors:
                console.print(
                    f"{name} {method} {budget}: "
                    + " | ".join(filter(None, [broken and f"gates broken: {broken}", errors]))
                )
        if not any(data["gates"] for data in budgets.values()):
            again = (
                ""
                if all(data["asked again"] for data in budgets.values())
                else ", which were made once"
            )
            console.print(
                f"{name} {method}: all gates 0 of "
                f"{sum(data['calls'] for data in budgets.values())} calls{again}"
            )


def print_of_best(console: Console, name: str, figures: Mapping[str, Mapping[str, Data]]) -> None:
    """Print the library's share of the answers that an oracle keeps, if both were measured."""
    for oracle in (oracle for oracle in ORACLES if oracle in figures and "project" in figures):
        for budget, data in figures["project"].items():
            best = figures[oracle][budget]["recalls"].get("answers")
            if best and best["share"]:
                console.print(
                    f"{name} project {budget}: "
                    f"{data['recalls']['answers']['share'] / best['share']:.3f} of the answers "
                    f"that {oracle} keeps"
                )


def sessions(title: str, figures: Mapping[str, Mapping[str, Data]]) -> Table:
    """Return the table of sessions, with one line per pair of thresholds and budget."""
    columns = [
        "budget",
        "session",
        "projection",
        "ratio",
        "compressions",
        "turns each",
        "ms each",
        "prefix kept",
        "between requests",
        "ended by",
        "gates broken",
    ]
    made = _table(title, ["thresholds"], columns)
    for way, budgets in figures.items():
        for budget, data in budgets.items():
            shares = [_share(data[key]) for key in ("session", "projection", "ratio")]
            costs = [
                str(data["compressions"]),
                _number(data["turns a compression"]),
                _number(data["ms a compression"]),
            ]
            ended = f"{sum(data['ended by'].values())} of {data['sessions']}"
            made.add_row(
                way,
                budget,
                *shares,
                *costs,
                _percent(data["prefix kept"]),
                _percent(data["prefix between"]),
                ended,
                _counts(data["gates"]) or "0",
            )
    return made


def aging(title: str, figures: Mapping[str, Data]) -> Table:
    """Return the table of identifiers in view."""
    made = _table(
        title,
        ["thresholds"],
        ["compressions", *(f"after {age}" for age in AGES), "between requests", "cost", "ended by"],
    )
    for way, data in figures.items():
        ages = [data["after compressions"][str(age)] for age in AGES]
        shares = ("session", "whole log", "with record")
        cells = [
            f"{' / '.join(_share(age[share]) for share in shares)} of {age['of']}"
            if age["of"]
            else ""
            for age in ages
        ]
        made.add_row(
            way,
            str(data["compressions"]),
            *cells,
            _percent(data["prefix between"]),
            _number(data["paid"]),
            data["ended by"] or "",
        )
    return made


def cycles(title: str, figures: Mapping[str, Data]) -> Table:
    """Return the table of turns that a compression serves, in the first and in later cycles."""
    made = _table(
        title,
        ["thresholds"],
        [
            "cycle",
            "first",
            "second",
            "middle",
            "last",
            "last / first",
            "last / second",
            "prefix kept",
            "ms each",
            "ended by",
        ],
    )
    for way, data in figures.items():
        served: list[float] = data["turns a compression, by cycle"]
        shown = (
            [served[place] for place in (0, min(1, len(served) - 1), len(served) // 2, -1)]
            if served
            else [None] * 4
        )
        row = [
            f"{data['cycle']} turns",
            *map(_number, shown),
            *(_share(served[-1] / one if one and served else None) for one in shown[:2]),
        ]
        made.add_row(
            way,
            *row,
            _percent(data["prefix kept"]),
            _number(data["ms a compression"]),
            data["ended by"] or "",
        )
    return made


def notes(title: str, figures: Mapping[str, Data]) -> Table:
    """Return the table of insertions into recordings, with one line per figure."""
    made = _table(title, ["put in", "figure"], ["share", "of"])
    for name, data in figures.items():
        for figure, share in data["shares"].items():
            made.add_row(name, figure, _share(share["share"]), str(share["of"]))
        if data["refused"]:
            made.add_row(name, "refused", str(data["refused"]), "")
    return made


def shares(title: str, figures: Mapping[str, Data]) -> Table:
    """Return a table of shares, each with its number of trials and its 95 % interval if known."""
    made = _table(title, ["figure"], ["share", "95 %", "of"])
    for name, data in figures.items():
        interval = data.get("interval")
        made.add_row(
            name,
            _share(data["share"]),
            "–".join(map(_share, interval)) if interval else "",
            str(data["of"]),
        )
    return made


def verdicts(title: str, figures: Mapping[str, Data]) -> Table:
    """Return the table of judgements by set, with counts, faults and an example of each fault."""
    said = ("summaries", "entries", "calls", "pairs", "joins", "undone edits", "open items")
    made = _table(title, ["set"], [*said, *FAULTS, "noise"])
    for name, data in figures.items():
        counts = data["said"]
        made.add_row(
            name,
            *(str(counts.get(each, 0)) for each in said),
            *(str(data["faults"][each]) for each in FAULTS),
            _percent(
                counts["tokens of noise"] / counts["tokens"] if counts.get("tokens") else None
            ),
        )
    examples = (
        f"{name}, {fault}: {data['examples'][fault][0]!r}"
        for name, data in figures.items()
        for fault in data["examples"]
    )
    made.caption, made.caption_justify = "\n".join(map(escape, examples)), "left"
    return made


def attacks(title: str, figures: Mapping[str, Data]) -> Table:
    """Return the table of injected commands, and of the facts kept beside them."""
    made = _table(title, ["gist"], ["commands shown", "of", "kept beside", "of"])
    for name, data in figures.items():
        made.add_row(
            name,
            str(data["attacks shown"]),
            str(data["of"]),
            _share(data["kept beside"]),
            str(data["facts"]),
        )
    return made


def dead_ends(title: str, rows: Mapping[str, Data]) -> Table:
    """Return the table of sessions that ended, with a few avoidable cases."""
    made = _table(title, ["sessions"], ["number", "turns", "ended by", "gates broken"])
    for name, data in rows.items():
        broken = _counts({gate: count for gate, count in data["gates"].items() if count}) or "0"
        made.add_row(
            name, str(data["sessions"]), str(data["turns"]), _counts(data["ended by"]), broken
        )
    shown = [each for data in rows.values() for each in data["shown"]]
    made.caption = "\n".join(shown[:10])
    return made


def differences(now: Any, before: Any, path: str = "") -> Iterator[tuple[str, float, float]]:
    """Yield the path of each number that differs between two results, its old and its new value.

    Times always differ and are left out.

    >>> list(differences({"a": {"b": 2.0}, "new": 1}, {"a": {"b": 1.0}}))
    [('a/b', 1.0, 2.0)]
    """
    if isinstance(now, Mapping) and isinstance(before, Mapping):
        for key in now:
            if key in before and key not in _TIMES:
                yield from differences(now[key], before[key], f"{path}/{key}".lstrip("/"))
    elif isinstance(now, int | float) and isinstance(before, int | float) and now != before:
        yield path, before, now
