"""Removal of parts from turns, which frees tokens before any words are compressed.

Bound parts are removed together with their prefix. Other blocks are replaced by a line that
describes them. Only the view changes; the log keeps the whole turn.
"""

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

import orjson
from attrs import evolve, fields

from .part import Part, PartKind
from .tokens.counter import TokenCounter, count_part, count_turn
from .turn import Turn

THOUGHT = "[thinking, left out]"
"""The text of a turn that consisted only of thinking."""


def unbound(turn: Turn, counter: TokenCounter, but: Collection[str] = ()) -> Turn:
    """Return `turn` without its bound parts, except those of the providers in `but`.

    Returns `turn` itself if there are none. Ids that the provider ties to a bound part are removed
    too: OpenAI rejects a call with the id it had next to a reasoning item that is missing.

    Laws: words and calls stay; tokens never rise; the function is idempotent.
    """
    fallen = [part for part in turn.parts if part.is_bound and part.provider not in but]
    if not fallen:
        return turn
    providers = {part.provider for part in fallen}
    kept = tuple(
        _untied(part) if part.provider in providers else part
        for part in turn.parts
        if not part.is_bound or part.provider in but
    )
    if turn.content is None and not turn.tool_calls and not kept:
        return _recounted(turn, THOUGHT, (), counter)
    return evolve(turn, parts=kept, tokens=_less(turn, fallen, counter))


def bare(turn: Turn, counter: TokenCounter) -> Turn:
    """Return `turn` with words and calls only, and a line for each block that was removed.

    A line describes the block and names the turn to recall it from. If this saves nothing, only the
    bound parts are removed.

    Laws: the words come first and unchanged; calls stay; tokens never rise.
    """
    blocks = [part for part in turn.parts if part.kind is PartKind.BLOCK]
    if not blocks and not any(_says_more(part) for part in turn.parts):
        return turn
    kept = tuple(role for part in turn.parts for role in _role_or_call(part))
    text = "\n".join([*([turn.content] if turn.content else []), *_lines(turn, blocks)])
    cut = _recounted(turn, text or (None if turn.tool_calls else THOUGHT), kept, counter)
    least = unbound(turn, counter)
    return cut if _tokens(cut) < _tokens(least) else least


def says_all_of(turn: Turn | None, before: Turn) -> bool:
    """Return whether `turn` is `before` with all its words and calls, regardless of parts.

    Lines may have been added after the words.
    """
    return (
        turn is not None
        and turn.text.startswith(before.text)
        and _besides(turn) == _besides(before)
    )


_besides = attrgetter(
    *(field.name for field in fields(Turn) if field.name not in ("content", "parts", "tokens"))
)


def fell(before: Turn, after: Turn) -> bool:
    """Return whether `after` is `before` with fewer parts."""
    return (
        before is not after
        and len(after.parts) < len(before.parts)
        and before.resource_id == after.resource_id
    )


def _less(turn: Turn, fallen: Sequence[Part], counter: TokenCounter) -> int:
    return max(1, _tokens(turn) - sum(count_part(counter, part) for part in fallen))


def _recounted(
    turn: Turn, content: str | None, parts: tuple[Part, ...], counter: TokenCounter
) -> Turn:
    cut = evolve(turn, content=content, parts=parts, tokens=None)
    return cut.with_tokens(count_turn(counter, cut))


def _tokens(turn: Turn) -> int:
    return turn.tokens or 0


def _lines(turn: Turn, blocks: Sequence[Part]) -> Iterable[str]:
    """Return one line for each distinct description of the removed blocks."""
    from .media import describe_medium  # noqa: PLC0415 - only needed for media

    seen: dict[str, int] = {}
    for part in blocks:
        if not part.is_bound:
            what = describe_medium(part).strip("[]")
            seen[what] = seen.get(what, 0) + 1
    where = f"; recall {turn.resource_id}]" if turn.resource_id else "]"
    return [f"[{f'{count} x ' if count > 1 else ''}{what}{where}" for what, count in seen.items()]


def _says_more(part: Part) -> bool:
    return (
        part.kind in (PartKind.MESSAGE, PartKind.WORDS, PartKind.RESULT) and len(part.data) > _SHORT
    )


_SHORT = 100
"""Further fields of up to this many characters are not worth removing."""


_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""The fields in which servers of OpenAI's format give the reasoning of a message."""


def _role_or_call(part: Part) -> tuple[Part, ...]:
    if part.kind is PartKind.CALL:
        return (_untied(part),)
    if part.kind is PartKind.RESULT:
        return callers((part,))
    if part.kind is not PartKind.MESSAGE:
        return ()
    # Servers that want the reasoning of a call back take an empty one.
    said = part.load()
    kept = {
        name: type(said[name])() for name in _REASONING if isinstance(said.get(name), str | list)
    }
    kept |= {"role": said["role"]} if said.get("role") is not None else {}
    return (Part(part.provider, orjson.dumps(kept).decode(), PartKind.MESSAGE),) if kept else ()


def callers(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return what `parts` say about the program that made the call of a result."""
    said = ((part, part.load().get("caller")) for part in parts if part.kind is PartKind.RESULT)
    return tuple(
        evolve(part, data=orjson.dumps({"caller": caller}).decode(), tokens=None)
        for part, caller in said
        if caller is not None
    )


def _untied(part: Part) -> Part:
    """Return a call or message without its item id, which the provider ties to the reasoning."""
    if part.kind not in (PartKind.CALL, PartKind.MESSAGE) or "id" not in (said := part.load()):
        return part
    left = {name: value for name, value in said.items() if name != "id"}
    return evolve(part, data=orjson.dumps(left).decode())
