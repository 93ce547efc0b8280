"""The current standing of a session, and the changes that a write made."""

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
    "brought_back": "restored",
    "repaired": "added automatically, to keep the order valid",
}


def standing(session: ContextSession) -> dict[str, Any]:
    """Return the session's standing as JSON data, which every command prints."""
    window = session.window
    return {
        "session": session.session_id,
        "revision": session.history.revision,
        "state": session.state,
        "tokens": window.total_tokens,
        "max_tokens": window.max_tokens,
        "pressure": round(session.pressure, 4),
        "open_calls": [asdict(call) for call in session.open_calls],
    }


def standing_line(told: Mapping[str, Any]) -> str:
    """Return the session's standing as one line of text."""
    used = usage(told["tokens"], told["max_tokens"], told["pressure"])
    return f"session {told['session']}: revision {told['revision']}, {told['state']}, {used}"


def bar(session: ContextSession) -> str:
    """Return a one-line bar of how full the window is."""
    window, pressure = session.window, session.pressure
    cells = min(_CELLS, round(pressure * _CELLS))
    used = usage(window.total_tokens, window.max_tokens, pressure)
    return f"{'█' * cells}{'░' * (_CELLS - cells)} {used}, {session.state}"


def usage(tokens: int, max_tokens: int, share: float) -> str:
    """Return the number of tokens used, out of how many, as text."""
    return f"{tokens:,} of {max_tokens:,} tokens ({percent(share)})"


def print_write(
    session: ContextSession,
    output: ContextOutput,
    *,
    as_json: bool,
    **ids: Sequence[str],
) -> None:
    """Print the result of a write: the session's standing, a compression, and ids of turns.

    The ids are those of the turns that were ``added``, ``brought_back``, ``taken_back`` or
    ``forgotten``.
    """
    told = {
        **standing(session),
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
    """Return the calls that wait for results, as text."""
    calls = ", ".join(f"{call['name']} ({call['id']})" for call in told["open_calls"])
    return f"waiting for the results of {calls}"


def listed(ids: Sequence[str], *, whole: bool = False) -> str:
    """Return the first ids and the number of further ones; all ids if `whole`."""
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
        # Leave out summaries that went into another one: they are not turns of the log.
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
