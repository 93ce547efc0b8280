"""`polycontext replay`: conversations through the machine, with a report."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from polycontext.polynomial import ContextOverflowError
from polycontext.pressure import session_threshold
from polycontext.window.providers import Provider

from .output import FAULT, USAGE, CommandError, complain, paper_width, progress, saved, write_json, write_rich
from .plot import check_plot, save_plot
from .recordings.conversation import Conversation, read_conversations
from .recordings.documents import size_of
from .recordings.replay import ReplaySettings, replay_conversation
from .recordings.report import ReplayReport
from .tables import Overview, replay_table

LONG = 200_000
"""Bytes of input from which on a progress bar is shown."""


def marks(threshold: float | None, low: float | None) -> tuple[float, float]:
    """Return the high and the low mark: a session's own unless said, the low one half of a threshold that is not above it.

    Raises:
        CommandError: one is no share, or they are in the wrong order.
    """
    own = session_threshold()
    if threshold is None:
        threshold = own.base
    if not 0.0 < threshold <= 1.0:
        raise CommandError(USAGE, f"--threshold {threshold:g}; legal: above 0, at most 1")
    if low is None:
        low = own.low if threshold > own.low else threshold / 2
    if not 0.0 <= low <= threshold:
        raise CommandError(USAGE, f"--low {low:g}; legal: 0 to --threshold {threshold:g}")
    return threshold, low


def replay_files(
    names: Sequence[str],
    settings: ReplaySettings,
    *,
    provider: Provider | None = None,
    as_json: bool = False,
    show_all: bool = False,
    only: int | None = None,
    plot: Path | None = None,
) -> int:
    """Replay the conversations of `names` and print what became of them; return the exit code: 1 if `strict` stopped.

    Raises:
        InvalidDataError: an input that is no conversation. CommandError: anything else that ends the command.
    """
    conversations = _selected(read_conversations(names, provider), only)
    size = size_of(names)
    # A bar on the terminal that the JSON goes to would be written into the middle of it.
    shown = (size is None or size >= LONG) and not (as_json and sys.stdout.isatty())
    if plot is not None:
        check_plot(plot)
        conversations = _single(conversations)
    with progress("replaying", size, shown=shown) as update:
        reports = _replayed(conversations, settings, lambda size: update and update(advance=size))
        last = _print_json(reports) if as_json else _print_tables(reports, show_all=show_all)
    if last is None:
        return 0
    if plot is not None:
        saved(plot, lambda path: save_plot(last, path, high=settings.high, low=settings.low))
    if last.stopped:
        refused, conversation = last.refused[-1], last.conversation
        complain(f"{conversation.source}, {conversation.where(refused.number, repair=settings.repair)}: {refused.reason}")
    return FAULT if last.stopped else 0


def _selected(conversations: Iterable[Conversation], only: int | None) -> Iterator[Conversation]:
    if only is None:
        yield from conversations
        return
    found = 0
    for found, conversation in enumerate(conversations, 1):
        if found == only:
            yield conversation
            return
    raise CommandError(USAGE, f"--only {only}; legal: 1 to {found}, as many conversations as there are")


def _single(conversations: Iterable[Conversation]) -> Iterator[Conversation]:
    for number, conversation in enumerate(conversations):
        if number:
            raise CommandError(USAGE, "--plot draws one conversation and there are several; choose one with --only N")
        yield conversation


def _replayed(
    conversations: Iterable[Conversation], settings: ReplaySettings, advance: Callable[[float], object]
) -> Iterator[ReplayReport]:
    for conversation in conversations:
        try:
            report = replay_conversation(conversation, settings, advance)
        except ContextOverflowError as error:
            raise CommandError(FAULT, f"{conversation.source}, line {conversation.line}: {error}") from None
        yield report
        if report.stopped:
            return


def _print_json(reports: Iterable[ReplayReport]) -> ReplayReport | None:
    """Print each report as it is done; return the last."""
    last = None
    for report in reports:
        write_json(report.as_json())
        last = report
    return last


def _print_tables(reports: Iterable[ReplayReport], *, show_all: bool) -> ReplayReport | None:
    """Print one conversation step by step, or an overview of several; what is done is shown even if the next one is at fault."""
    overview, last = Overview(), None
    try:
        for report in reports:
            overview.add(report)
            last = report
            if show_all:
                write_rich(replay_table(report, show_all=True, width=paper_width()))
    finally:
        if overview.count > 1:
            write_rich(overview.table(paper_width()))
        elif last is not None and not show_all:
            write_rich(replay_table(last, show_all=False, width=paper_width()))
    return last
