"""`polycontext lost`: what the compactions of a host took out of its view."""

from itertools import islice
from typing import Annotated

from attrs import asdict

from polycontext.hosts import VERSION, CompactRequest, answer
from polycontext.transcripts import Conversation, Losses, LossKind, losses_of, read_conversations
from polycontext.window import TiktokenCounter

from .command import COUNT, command, option
from .compact import messages_of
from .options import File, Json
from .output import FAULT, CommandError, tell, write, write_json

_MOST_SHOWN = 10
_ENCODING = "o200k_base"
_FRAME = 50
"""The tokens of the start's own words, about."""

_START = "You continue the work of an earlier session. This is what stands from it:\n\n"


@command(
    "polycontext lost ~/.claude/projects/-shop/5f2c.jsonl",
    "polycontext lost session.jsonl --give-back | xclip",
    "polycontext lost session.jsonl --hand-over 4000 > start.md",
)
def lost(
    *,
    file: File,
    give_back: Annotated[bool, option("Print what is gone as a message to paste.")],
    hand_over: Annotated[
        int | None,
        option(
            "Print a start for a new session of at most so many tokens, made from all rows.",
            type=COUNT,
            metavar="TOKENS",
        ),
    ],
    as_json: Json,
) -> int:
    """Show what earlier compactions of a host took out of its view.

    FILE is a session file, such as Claude Code's. Compares its older rows with what the host left:
    rules, decisions, commands, paths and ids. What results say does not count. Calls no model.
    Exits with 1 if something is gone.
    """
    if give_back and hand_over is not None:
        raise CommandError("--give-back and --hand-over print one text each. Pass one of them.")
    found = [*islice(read_conversations([file], notify=tell), 2)]
    transcript = found[0].document.transcript
    if transcript is None or len(found) > 1:
        raise CommandError(f"{file} is no session file of a host. docs/transcripts.md lists them.")
    if hand_over is not None:
        write(_handed_over(found[0], hand_over))
        return 0
    losses = losses_of(transcript)
    if as_json:
        told = {"host": losses.host, "compactions": losses.compactions, "facts": losses.facts}
        message = {"message": losses.as_message()} if give_back else {}
        write_json({**told, "gone": [asdict(each) for each in losses.gone], **message}, indent=2)
    else:
        write(f"{losses.as_message()}\n" if give_back and losses.gone else "")
        if not give_back:
            write(_as_text(losses))
    return FAULT if losses.gone else 0


def _as_text(losses: Losses) -> str:
    """Return how much is gone of each kind, and the first of each."""
    many = "no compaction" if not losses.compactions else f"{losses.compactions} compactions"
    lines = [f"{losses.host}: {many.removesuffix('s') if losses.compactions == 1 else many}"]
    for kind in LossKind:
        gone = [each for each in losses.gone if each.kind is kind]
        lines.append(f"{kind}: {len(gone):,} of {losses.facts[kind]:,} gone")
        lines += [f"  line {each.line:,}: {each.text}" for each in gone[:_MOST_SHOWN]]
        if len(gone) > _MOST_SHOWN:
            lines.append(f"  and {len(gone) - _MOST_SHOWN:,} more; --json prints all")
    return "".join(f"{line}\n" for line in lines)


def _handed_over(conversation: Conversation, tokens: int) -> str:
    """Return the start of a new session.

    Raises:
        CommandError: what must stay does not fit.
    """
    counter, messages = TiktokenCounter(_ENCODING), tuple(messages_of(conversation))
    room, needed = tokens, 0
    while room > 0 and not needed:
        done = answer(CompactRequest(VERSION, room, messages, low_mark=1, shape="text"))
        text = f"{_START}{done.summary}\n"
        # Roles and marks take other tokens in one text than in messages.
        excess = counter.count(text) - tokens
        if done.summary is not None and excess <= 0:
            return text
        needed, room = done.needed or 0, room - max(1, excess)
    advice = f"Pass --hand-over {max(needed, tokens) + _FRAME} or more"
    raise CommandError(f"what must stay does not fit {tokens:,} tokens. {advice}.", FAULT)
