"""What a command that writes tells of: where the session stands now, and what came to it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polycontext.polynomial import ContextOutput, ContextSession

from ..output import one_line, percent, write, write_json

_SHOWN = 12
_VERBS = {
    "forgotten": "forgotten for ever",
    "taken_back": "taken back",
    "added": "taken in",
    "brought_back": "brought back",
    "repaired": "added by itself, so that the order is legal",
}


def standing(session: ContextSession, name: str) -> dict[str, Any]:
    """Return where the session stands, JSON-ready: what every command tells of it."""
    window = session.window
    return {
        "session": name,
        "revision": session.history.revision,
        "state": str(session.state),
        "tokens": window.total_tokens,
        "max_tokens": window.max_tokens,
        "pressure": round(session.pressure, 4),
        "open_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in session.open_calls],
    }


def standing_line(told: Mapping[str, Any]) -> str:
    """Return where the session stands, for people."""
    used = f"{told['tokens']:,} of {told['max_tokens']:,} tokens ({percent(told['pressure'])})"
    return f"session {told['session']}: revision {told['revision']}, {told['state']}, {used}"


def tell_written(session: ContextSession, name: str, output: ContextOutput, *, as_json: bool, **ids: Sequence[str]) -> int:
    """Print where a write has led, a compression, if there was one, and which turns came by it: ``added``, ``brought_back``, ``taken_back`` or ``forgotten``."""
    told = {**standing(session, name), **ids, "repaired": list(output.repaired), "compression": _compression(session, output)}
    if as_json:
        write_json(told, indent=2)
    else:
        write("".join(f"{one_line(line)}\n" for line in _lines(told)))
    return 0


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    yield standing_line(told)
    for name, verb in _VERBS.items():
        if told.get(name):
            yield f"{verb}: {listed(told[name])}"
    if did := told["compression"]:
        yield f"compressed: {did['tokens_before']:,} -> {did['tokens_after']:,} tokens{_parts(did)}"
    if told["open_calls"]:
        yield "waiting for the results of " + ", ".join(f"{call['name']} ({call['id']})" for call in told["open_calls"])


def listed(ids: Sequence[str], *, whole: bool = False) -> str:
    """Return some ids, and how many more there are."""
    shown = ids if whole else ids[:_SHOWN]
    more = len(ids) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _compression(session: ContextSession, output: ContextOutput) -> dict[str, Any] | None:
    done = output.compression
    if done is None:
        return None
    return {
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "reached": done.reached,
        # A summary that went into another is no turn that anybody said.
        "gisted": [each for each in done.gisted if session.conversation.log.knows(each)],
        "dropped": list(done.dropped),
    }


def _parts(did: Mapping[str, Any]) -> str:
    parts = [f"{verb} {listed(did[name])}" for name, verb in (("gisted", "summarised"), ("dropped", "dropped")) if did[name]]
    return "".join(f"; {part}" for part in parts) + ("" if did["reached"] else "; not as far as was asked: the rest may not be shortened")
