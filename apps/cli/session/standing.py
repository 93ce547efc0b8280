"""Where a session stands, and what a write has changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import asdict

from polycontext.polynomial import ContextOutput, ContextSession

from ..output import one_line, percent, write, write_json

_SHOWN, _CELLS = 12, 20
_VERBS = {
    "forgotten": "forgotten",
    "taken_back": "removed",
    "added": "added",
    "brought_back": "brought back",
    "repaired": "added automatically, to keep the order valid",
}


def standing(session: ContextSession, name: str) -> dict[str, Any]:
    """Return where the session stands, JSON-ready: what every command tells of it."""
    window = session.window
    return {
        "session": name,
        "revision": session.history.revision,
        "state": session.state,
        "tokens": window.total_tokens,
        "max_tokens": window.max_tokens,
        "pressure": round(session.pressure, 4),
        "open_calls": [asdict(call) for call in session.open_calls],
    }


def standing_line(told: Mapping[str, Any]) -> str:
    """Return where the session stands, for people."""
    used = usage(told["tokens"], told["max_tokens"], told["pressure"])
    return f"session {told['session']}: revision {told['revision']}, {told['state']}, {used}"


def bar(session: ContextSession) -> str:
    """Return how full the window is, in one line."""
    window, pressure = session.window, session.pressure
    cells = min(_CELLS, round(pressure * _CELLS))
    used = usage(window.total_tokens, window.max_tokens, pressure)
    return f"{'█' * cells}{'░' * (_CELLS - cells)} {used}, {session.state}"


def usage(tokens: int, max_tokens: int, share: float) -> str:
    """Return how many tokens of how many are used, for people."""
    return f"{tokens:,} of {max_tokens:,} tokens ({percent(share)})"


def print_write(
    session: ContextSession,
    name: str,
    output: ContextOutput,
    *,
    as_json: bool,
    **ids: Sequence[str],
) -> None:
    """Print where a write has led: the session, a compression, and the ids of the turns that are ``added``, ``brought_back``, ``taken_back`` or ``forgotten``."""
    told = {
        **standing(session, name),
        **ids,
        "repaired": list(output.repaired),
        "compression": _compression(session, output),
    }
    if as_json:
        write_json(told, indent=2)
    else:
        write("".join(f"{one_line(line)}\n" for line in _lines(told)))


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    yield standing_line(told)
    for name, verb in _VERBS.items():
        if told.get(name):
            yield f"{verb}: {listed(told[name])}"
    if did := told["compression"]:
        yield f"compressed: {did['tokens_before']:,} -> {did['tokens_after']:,} tokens{_parts(did)}"
    if told["open_calls"]:
        yield calls_line(told)


def calls_line(told: Mapping[str, Any]) -> str:
    """Return which calls wait for their results, for people."""
    calls = ", ".join(f"{call['name']} ({call['id']})" for call in told["open_calls"])
    return f"waiting for the results of {calls}"


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
    parts = "".join(
        f"; {verb} {listed(did[name])}"
        for name, verb in (("gisted", "summarised"), ("dropped", "dropped"))
        if did[name]
    )
    short = "" if did["reached"] else "; not as far as was asked: the rest may not be shortened"
    return parts + short
