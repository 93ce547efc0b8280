"""`polycontext replay`: recorded conversations replayed through the machine, with a report."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from polycontext.polynomial import ContextOverflowError
from polycontext.pressure.threshold import session_threshold
from polycontext.transcripts import Conversation, read_conversations

from .command import COUNT, argument, command, option
from .errors import message_of
from .options import (
    Json,
    KeepRecent,
    MessageFormat,
    Repair,
    WindowOptions,
    complete_file,
)
from .output import (
    FAULT,
    CommandError,
    complain,
    paper_width,
    tell,
    write,
    write_columns,
    write_json,
    write_rich,
)
from .recordings import Replay, ReplaySettings, replay_conversation
from .replay_tables import COLUMNS, LEGEND, OverviewRow, overview, overview_row, replay_table


def marks(threshold: float | None, low: float | None) -> tuple[float, float]:
    """Return the high and the low mark, by default those of a session.

    If the threshold is not above the default low mark, the low mark is half of the threshold.

    Raises:
        CommandError: a mark is not a share, or the low mark is above the high mark.
    """
    own = session_threshold()
    if threshold is None:
        threshold = own.base
    if not 0.0 < threshold <= 1.0:
        raise CommandError(f"--threshold {threshold:g} is not a share. Use more than 0, at most 1.")
    if low is None:
        low = own.low if threshold > own.low else threshold / 2
    if not 0.0 <= low <= threshold:
        raise CommandError(f"--low {low:g} is not below the threshold. Use 0 to {threshold:g}.")
    return threshold, low


@command(
    "polycontext replay chat.json --max-tokens 4000",
    "polycontext replay runs.jsonl --json | jq .summary",
    "polycontext replay runs.jsonl --only 3",
)
def replay(
    *,
    files: Annotated[
        Sequence[str],
        argument(nargs=-1, required=True, metavar="FILE...", shell_complete=complete_file),
    ],
    window: WindowOptions,
    threshold: Annotated[
        float | None,
        option(
            "The share of the free room at which messages are summarised; by default a "
            "session's own.",
            type=float,
            metavar="SHARE",
        ),
    ],
    low: Annotated[
        float | None,
        option(
            "How full the free room may be after that; by default a session's own.",
            type=float,
            metavar="SHARE",
        ),
    ],
    keep_recent: KeepRecent,
    form: MessageFormat,
    repair: Repair,
    strict: Annotated[bool, option("Stop at the first refused message, with exit code 1.")],
    only: Annotated[
        int | None, option("Replay only the N-th conversation.", type=COUNT, metavar="N")
    ],
    show_all: Annotated[bool, option("Show every step of every conversation.", "--all")],
    as_json: Json,
) -> int:
    """Replay recorded conversations and show what is summarised or dropped as the window fills up.

    Calls no model. Shows one conversation step by step, several as an overview. FILE is JSON or
    JSONL in OpenAI's or Anthropic's message format, or - for standard input.
    """
    high, low = marks(threshold, low)
    settings = ReplaySettings(
        model=window.model,
        max_tokens=window.max_tokens,
        high=high,
        low=low,
        keep_recent=keep_recent,
        repair=repair,
        strict=strict,
    )
    found = read_conversations(files, form, notify=tell)
    reports = _replayed(_selected(found, only), settings)
    last = _print_json(reports) if as_json else _print_tables(reports, show_all=show_all)
    if last is None or not last.report["summary"]["stopped"]:
        return 0
    refused, conversation = last.report["steps"][-1], last.conversation
    where = conversation.where(refused["turn"], repair=repair)
    complain(f"{conversation.source}, {where}: {refused['reason']}")
    return FAULT


def _selected(conversations: Iterable[Conversation], only: int | None) -> Iterator[Conversation]:
    found = 0
    for found, conversation in enumerate(conversations, 1):
        if only in (None, found):
            yield conversation
        if found == only:
            return
    if only is not None:
        raise CommandError(f"--only {only} is too large. Use 1 to {found}.")


def _replayed(conversations: Iterable[Conversation], settings: ReplaySettings) -> Iterator[Replay]:
    for conversation in conversations:
        try:
            done = replay_conversation(conversation, settings)
        except ContextOverflowError as error:
            place = f"{conversation.source}, line {conversation.line}"
            raise CommandError(f"{place}: {message_of(error, is_stored=False)}", FAULT) from None
        yield done
        if done.report["summary"]["stopped"]:
            return


def _print_json(reports: Iterable[Replay]) -> Replay | None:
    """Print each report when its replay ends, and return the last one."""
    last = None
    for last in reports:
        write_json(last.report)
    return last


def _print_tables(reports: Iterable[Replay], *, show_all: bool) -> Replay | None:
    """Print one conversation step by step, or an overview of several; return the last report.

    Finished replays are printed even if the next one raises an error.
    """
    rows, last = list[OverviewRow](), None
    try:
        for last in reports:
            rows.append(overview_row(last))
            if show_all:
                write_rich(replay_table(last, show_all=True, width=paper_width()))
    finally:
        if len(rows) > 1:
            write_columns(COLUMNS, overview(rows))
            write(LEGEND)
        elif last is not None and not show_all:
            write_rich(replay_table(last, show_all=False, width=paper_width()))
    return last
