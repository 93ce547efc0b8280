"""Server-side context editing, and its effects applied to the session.

The provider decides when to edit, by the thresholds in the request. The session then applies the
edits that the answer reports, so that its token count and its view stay correct. Cleared results
become digests, dropped thinking is removed, and a summary in the answer replaces everything before
it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.polynomial.session import merge_options
from polycontext.pressure import Fulfilment, NativeGist, native, unbinding_plan
from polycontext.window import Role, Turn
from polycontext.window.providers import Provider, as_provider
from polycontext.window.providers.anthropic.versions import EDITS

from .compaction import data_of, reported_tokens

_OTHER_MODEL = frozenset({"model_mismatch", "model_binding_mismatch"})
"""Reasons for withholding thinking from one model that another model may still read."""


def editing_options(
    provider: Provider | str, *edits: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the request fields that let `provider` apply `edits` on its server.

    They are merged with `options`, those of a session's request. The edits of Anthropic are
    ``clear_tool_uses_20250919``, ``clear_thinking_20251015`` and ``compact_20260112``; that of
    OpenAI is ``compaction`` with its ``compact_threshold``. See the vendors' pages for their
    fields.

    Raises:
        InvalidOptionError: the provider edits nothing, or does not know an edit.

    >>> editing_options("anthropic", {"type": "clear_tool_uses_20250919"})["betas"]
    ['context-management-2025-06-27']
    """
    known, types = as_provider(provider), [edit.get("type") for edit in edits]
    legal = {Provider.ANTHROPIC: tuple(EDITS), Provider.RESPONSES: ("compaction",)}.get(known, ())
    for kind in types:
        if kind not in legal:
            raise InvalidOptionError(
                "edits", kind, ", ".join(legal) or "none: this provider edits nothing by itself"
            )
    if known is Provider.RESPONSES:
        return merge_options(options or {}, {"context_management": [dict(edit) for edit in edits]})
    betas = [*dict.fromkeys(EDITS[str(kind)] for kind in types)]
    return merge_options(
        options or {},
        {"context_management": {"edits": [dict(edit) for edit in edits]}, "betas": betas},
    )


def take_in(
    session: ContextSession,
    answer: object,
    provider: Provider | str,
    *,
    exclude_tools: Sequence[str] = (),
) -> ContextOutput:
    """Add an answer to the session, and apply the edits that the provider reports in it.

    Call it before anything else changes the session after the request that was answered. Returns
    the last output.

    Up to three edits are applied, each an ordinary compression in the journal:

    - Dropped thinking is removed.
    - Cleared results become digests, except those that are PRESERVED.
    - Everything that a compaction in the answer stands for is replaced by it.

    Cleared thinking is left in place, because what was sent stays valid only as a whole.

    Args:
        session: The session whose request was answered.
        answer: The provider's answer.
        provider: The provider that answered.
        exclude_tools: The `exclude_tools` of the request.

    Raises:
        InvalidOptionError: the answer is not Anthropic's or OpenAI Responses'.
        Exception: whatever `ContextSession.extend` and `commit` raise.
    """
    known, data = as_provider(provider), data_of(answer)
    _drop_thoughts(session, data, known)
    _cut_results(session, data, frozenset(exclude_tools))
    said = data.get("output") if known is Provider.RESPONSES else data.get("content")
    if known is Provider.OPENAI or not isinstance(said, list):
        raise InvalidOptionError(
            "answer", answer, "an answer of Anthropic's or of OpenAI's Responses"
        )
    place = max((number for number, block in enumerate(said) if _is_summary(block)), default=None)
    if place is None:
        return session.extend(_messages(said, known), known)
    return _apply_summary(session, said, place, _tokens(data), known)


# --- dropped thinking -------------------------------------------------------------------


def _drop_thoughts(session: ContextSession, data: Mapping[str, Any], provider: Provider) -> None:
    """Remove the thinking that the provider dropped, and everything bound after it."""
    dropped = [
        each
        for each in data.get("input_transformations") or ()
        if each.get("reason") not in _OTHER_MODEL
    ]
    gone = [
        block for each in dropped if (block := _dropped_block(session, each, provider)) is not None
    ]
    places = [
        index
        for index, turn in enumerate(session.window.all_turns())
        if any(
            part.is_bound
            and part.provider == provider
            and any(_is_same(orjson.loads(part.data), block) for block in gone)
            for part in turn.parts
        )
    ]
    if places:
        session.background.commit(Fulfilment(unbinding_plan(session.window, places[0]), ()))
        # The view now matches what the model was shown; its answer is bound to that.
        session.request(provider)


def _dropped_block(
    session: ContextSession, told: Mapping[str, Any], provider: Provider
) -> Mapping[str, Any] | None:
    if provider is Provider.RESPONSES:
        return {"id": told.get("id")} if told.get("id") else None
    steps = str(told.get("path", "")).split(".")
    try:
        _, message, _, block = steps
        found: Mapping[str, Any] = session.request(provider).messages[int(message)]["content"][
            int(block)
        ]
    except (ValueError, IndexError):
        return None
    return found


def _is_same(block: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    return all(block.get(name) == value for name, value in told.items())


# --- cleared results ----------------------------------------------------------------------


def _cut_results(
    session: ContextSession, data: Mapping[str, Any], excluded: frozenset[str]
) -> None:
    management = data.get("context_management")
    applied = (management.get("applied_edits") or ()) if isinstance(management, Mapping) else ()
    count = max((each.get("cleared_tool_uses", 0) for each in applied), default=0)
    plan = native.cutting_plan(
        session.window, _results(session.window.all_turns(), excluded)[:count]
    )
    if plan.jobs:
        session.background.commit(Fulfilment(plan, tuple((None, None) for _ in plan.jobs)))


def _results(turns: Sequence[Turn], excluded: frozenset[str]) -> Sequence[int]:
    """Return the indices of the results whose tools are not `excluded`."""
    names: dict[str, str] = {}
    found: list[int] = []
    for place, turn in enumerate(turns):
        if turn.tool_calls:
            names = {call.id: call.name for call in turn.tool_calls}
        if turn.role is Role.TOOL and names.get(turn.tool_call_id or "") not in excluded:
            found.append(place)
    return found


# --- a summary in the answer ----------------------------------------------------------------


def _apply_summary(
    session: ContextSession,
    said: Sequence[Mapping[str, Any]],
    place: int,
    tokens: int | None,
    provider: Provider,
) -> ContextOutput:
    """Add the answer, and replace everything that its summary stands for."""
    before, after = ([block for block in said[:place] if not _is_summary(block)], said[place + 1 :])
    stop = len(session.window)
    if before:
        session.extend(_messages(before, provider), provider)
        stop = len(session.window)
    epoch = session.window.epoch.number
    output = session.extend(_messages(after, provider), provider) if after else session.output
    if session.window.epoch.number != epoch:
        # The session compressed meanwhile, so the summary no longer matches the view.
        return output
    # Open calls stay verbatim, whatever the summary says of them.
    waiting = native.first_open(session.window)
    stop = stop if waiting is None else min(stop, waiting)
    gist = NativeGist(
        str(provider),
        (orjson.dumps(said[place]).decode(),),
        tokens,
        keeps_bound=provider is Provider.ANTHROPIC,
    )
    plan = native.answered_plan(session.window, stop)
    if not plan.is_empty:
        output = session.background.commit(
            Fulfilment(plan, ((native.with_twin(plan, gist, session.conversation.reading), None),))
        )
    if (plan.is_empty or output.refused) and stop < len(session.window):
        # The summary was not applied, so thinking bound to it is no longer valid.
        return session.background.commit(Fulfilment(unbinding_plan(session.window, stop), ()))
    return output


def _is_summary(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "compaction" and bool(
        block.get("content") or block.get("encrypted_content")
    )


def _tokens(data: Mapping[str, Any]) -> int | None:
    """Return the tokens that the usage reports for the last compaction, or None."""
    passes = (data.get("usage") or {}).get("iterations") or ()
    told = [each for each in passes if each.get("type") == "compaction"]
    return reported_tokens(told[-1]) if told else None


def _messages(blocks: Sequence[Mapping[str, Any]], provider: Provider) -> list[Any]:
    kept = [block for block in blocks if block.get("type") != "compaction"]
    return (
        list(kept) if provider is Provider.RESPONSES else [{"role": "assistant", "content": kept}]
    )
