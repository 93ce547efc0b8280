"""How a turn yields before its words do: bound parts fall with their prefix, other blocks leave a line that says what they were.

What falls leaves the view only; the log keeps the turn as it came.
"""

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

import orjson
from attrs import evolve, fields

from .part import Part, PartKind
from .tokens.counter import TokenCounter, count_part, count_turn
from .turn import Turn

THOUGHT = "[thinking, left out]"
"""What stands for a turn that was nothing but thinking."""


def unbound(turn: Turn, counter: TokenCounter, but: Collection[str] = ()) -> Turn:
    """Return `turn` without its bound parts, `but` those of these providers, or `turn` itself where it has none.

    Ids that its provider ties to a bound part go with them: OpenAI refuses a call under the id that
    it had beside a reasoning item that is not there.

    Laws: words and calls stay; tokens never rise; doing it twice is doing it once.
    """
    fallen = [part for part in turn.parts if part.is_bound and part.provider not in but]
    if not fallen:
        return turn
    providers = {part.provider for part in fallen}
    kept = tuple(
        _untied(part) if part.provider in providers else part
        for part in turn.parts
        if part not in fallen
    )
    if turn.content is None and not turn.tool_calls and not kept:
        return _recounted(turn, THOUGHT, (), counter)
    return evolve(turn, parts=kept, tokens=_less(turn, fallen, counter))


def bare(turn: Turn, counter: TokenCounter) -> Turn:
    """Return `turn` in words and calls alone: each block leaves a line that says what it was and whence to recall it.

    Where that would save nothing only the bound parts fall.

    Laws: the words stand first and unchanged; calls stay; tokens never rise.
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
    """Tell whether `turn` is `before` with all its words and calls, whatever became of its parts: lines may have come behind the words."""
    return (
        turn is not None
        and turn.text.startswith(before.text)
        and _besides(turn) == _besides(before)
    )


_besides = attrgetter(
    *(field.name for field in fields(Turn) if field.name not in ("content", "parts", "tokens"))
)


def fell(before: Turn, after: Turn) -> bool:
    """Tell whether `after` is `before` with fewer parts."""
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
    """Return one line for each kind of block that falls; equal ones share it."""
    from .media import describe_medium  # noqa: PLC0415 - for those who send media

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
"""Characters of further fields that are not worth a change."""


def _role_or_call(part: Part) -> tuple[Part, ...]:
    if part.kind is PartKind.CALL:
        return (_untied(part),)
    if part.kind is PartKind.MESSAGE and (role := _fields(part).get("role")) is not None:
        return (Part(part.provider, orjson.dumps({"role": role}).decode(), PartKind.MESSAGE),)
    return ()


def _untied(part: Part) -> Part:
    """Return a call or message without the id of its item, which the provider ties to the reasoning beside it."""
    if part.kind not in (PartKind.CALL, PartKind.MESSAGE) or "id" not in (said := _fields(part)):
        return part
    left = {name: value for name, value in said.items() if name != "id"}
    return evolve(part, data=orjson.dumps(left).decode())


def _fields(part: Part) -> dict[str, object]:
    try:
        said = orjson.loads(part.data)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
