"""`polycontext check`: what a provider would reject in a request, where, and how to fix it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from polycontext.base import advised
from polycontext.testing.strict import findings
from polycontext.transcripts import STANDARD_INPUT, Conversation, legal_in_json, read_conversations
from polycontext.window import InvalidMessagesError

from .command import command
from .options import File, Json, MessageFormat
from .output import FAULT, one_line, tell, write, write_json


@command(
    "polycontext check request.json --format anthropic",
    "polycontext check requests.jsonl --json | jq .findings",
    "polycontext check - < messages.json",
)
def check(
    *,
    file: File,
    form: MessageFormat,
    as_json: Json,
) -> int:
    """Find what a provider would reject in a request, where and why, and how to fix it.

    FILE holds requests or lists of messages: one, a list of them, or one a line; - is standard
    input. Options such as thinking, and what only the provider knows, such as signatures, are not
    checked. Exits with 1 if something would be rejected.
    """
    told, counts = list[dict[str, Any]](), Counter[str]()
    for asked in read_conversations([file], form, notify=tell):
        counts[asked.provider] += 1
        for found in findings(_judged(asked), asked.provider):
            told.append(_as_object(asked, found))
            if not as_json:
                write(_as_text(told[-1]))
    if as_json:
        write_json({"requests": counts.total(), "findings": told}, indent=2)
    elif not told:
        kinds = ", ".join(f"{count} of {kind}" for kind, count in counts.items())
        total = f"{counts.total()} request{'s' * (counts.total() > 1)}"
        tell(
            f"{'<stdin>' if file == STANDARD_INPUT else file}: no problems in {total} ({kinds})",
            "green",
        )
    return FAULT if told else 0


def _judged(asked: Conversation) -> Any:
    """Return a request, or the messages of what is none."""
    if asked.body is None or "model" not in asked.body:
        return asked.messages[asked.has_system :]
    return asked.body


def _as_object(asked: Conversation, found: InvalidMessagesError) -> dict[str, Any]:
    # The index counts without a system that stands apart.
    index = None if found.index is None else found.index + asked.has_system
    path = asked.path if index is None else asked.place_of(index)[0]
    return {
        "source": asked.source,
        "line": asked.document.line_of(path),
        "request": asked.number,
        "provider": asked.provider,
        "index": found.index,
        "rule": found.rule,
        "problem": found.problem,
        "legal": legal_in_json(found),
        "wording": found.wording,
    }


def _as_text(found: Mapping[str, Any]) -> str:
    where = "request" if found["index"] is None else f"messages[{found['index']}]"
    told = one_line(
        advised(
            f"{found['source']}, line {found['line']}, {where}: {found['rule']}: "
            f"{found['problem']}",
            f"Use {found['legal']}",
        )
    )
    if found["wording"] and found["wording"] != found["problem"]:
        told += "\n  " + one_line(f"{found['provider']} says: {found['wording']}")
    return f"{told}\n"
