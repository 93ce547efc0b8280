"""The laws of epochs: requests only grow, and what is bound to a prefix stands behind it or nowhere."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from polycontext.linearity import PolycontextError
from polycontext.linearity.law import agree, holds, law
from polycontext.window import ContextWindow, Turn
from polycontext.window.providers import Provider, Rendered

from ..inputs import ContextInput, InputKind, Promotion
from ..machine.step import ContextPolicy
from ..session.context_session import ContextSession
from .machines import Inputs, MachineClass, new_window_like

_EPOCHS = "docs/providers.md; platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks"


@law(_EPOCHS)
def what_is_bound_stands_behind_what_it_was_made_on(
    machine: MachineClass, window: ContextWindow, policy: ContextPolicy, inputs: Inputs
) -> None:
    """Whatever happens, a bound part that stands has before it the very turns that it had when it came, parts and all."""
    one = machine(new_window_like(window), policy)
    made_on: dict[str, tuple[Turn, ...]] = {}
    for context_input in inputs:
        with suppress(PolycontextError):
            one.advance(context_input)
        turns = one.window.all_turns()
        for index, turn in enumerate(turns):
            if any(part.is_bound for part in turn.parts):
                agree(turns[:index], made_on.setdefault(turn.resource_id, turns[:index]), turn=turn, context_input=context_input)


@law(_EPOCHS)
def requests_only_grow_within_an_epoch(session: ContextSession, inputs: Inputs) -> None:
    """For every provider and after whatever commands: while the epoch is the same, the blocks of a request are a prefix of the next one's.

    Marks for the cache, which message a block is in, and white space at the end of a final text of the assistant's are no content.
    """
    sent: dict[Provider, tuple[int, list[Any]]] = {}
    for context_input in [None, *inputs]:
        if context_input is not None:
            with suppress(PolycontextError):
                _obey(session, context_input)
        for provider in Provider:
            blocks = _requested(session, provider)
            epoch, before = sent.get(provider, (0, []))
            if epoch == session.window.epoch.number:
                holds(_begins(blocks, before), "the last request as its prefix", blocks, before=before, provider=provider)
            if blocks:
                sent[provider] = session.window.epoch.number, blocks


def _requested(session: ContextSession, provider: Provider) -> list[Any]:
    """Return the blocks of a request; none where none can be made."""
    with suppress(PolycontextError):
        return list(_blocks(session.request(provider, allow_open=True)))
    return []


def _obey(session: ContextSession, context_input: ContextInput) -> None:
    """Ask of a session what an input says."""
    payload = context_input.payload
    match context_input.kind:
        case InputKind.COMPRESS:
            session.compress(payload if isinstance(payload, float) else None)
        case InputKind.CLEAR:
            session.clear()
        case InputKind.PROMOTE:
            assert isinstance(payload, Promotion)
            session.promote(payload.resource_id, payload.resource_class)
        case InputKind.RECALL:
            session.recall(turn.resource_id for turn in session.log()[:3])
        case _:
            session.add(context_input.turn, context_input.resource_class)


def _blocks(rendered: Rendered) -> Iterator[Any]:
    """Yield the content of a request, block by block, each with who says it and what else its message holds."""
    for block in rendered.system:
        yield "system", _unmarked(block)
    for message in rendered.messages:
        content = message.get("content")
        frame = {name: value for name, value in message.items() if name != "content"}
        if isinstance(content, list):
            yield from ((message.get("role"), _unmarked(block)) for block in content)
            if frame.keys() - {"role"}:
                yield message.get("role"), frame
        else:
            yield message.get("role"), {**frame, "text": content}


def _unmarked(block: Any) -> Any:
    return {name: value for name, value in block.items() if name != "cache_control"} if isinstance(block, dict) else block


def _begins(blocks: Sequence[Any], before: Sequence[Any]) -> bool:
    """Tell whether `blocks` begin with `before`; a final text of the assistant's is one that the reply goes on with."""
    if not before or not blocks or list(blocks[: len(before)]) == list(before):
        return True
    if list(blocks[: len(before) - 1]) != list(before[:-1]) or len(blocks) < len(before):
        return False
    (role, block), (then, last) = blocks[len(before) - 1], before[-1]
    texts = block.get("text"), last.get("text")
    return role == then == "assistant" and all(isinstance(text, str) for text in texts) and texts[0].rstrip() == texts[1].rstrip()
