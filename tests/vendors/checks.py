"""The checks of whole requests, with those of options that users do not get."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from polycontext.testing import strict
from polycontext.testing.strict.anthropic_requests import NEWEST
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider, as_provider, copied_messages
from polycontext.window.providers.anthropic.order_rules import Judge
from polycontext.window.providers.judge import raise_first

from .anthropic_options import check_options
from .anthropic_requests import check_whole
from .openai_options import check_chat_options, check_responses_options


def check_request(
    request: object,
    provider: Provider | str,
    *,
    betas: Collection[str] = (),
    version: str = NEWEST,
    foreign: bool = False,
) -> None:
    """Raise the first of `findings` for a whole request, if there is one."""
    if not isinstance(request, Mapping):
        strict.check_request(request, provider)
    else:
        for found in findings(request, provider, betas=betas, version=version, foreign=foreign):
            raise found


def findings(
    request: Sequence[Any] | Mapping[str, Any],
    provider: Provider | str,
    *,
    betas: Collection[str] = (),
    version: str = NEWEST,
    foreign: bool = False,
) -> list[InvalidMessagesError]:
    """Return the errors of `strict.findings`, and those of the options of the request."""
    found = strict.findings(request, provider, version=version, foreign=foreign)
    if not isinstance(request, Mapping) or foreign or any(each.index is None for each in found[:1]):
        return found
    try:
        _check_options(request, as_provider(provider), betas)
        if not found and as_provider(provider) is Provider.ANTHROPIC:
            judge = Judge(newest=version == NEWEST)
            raise_first(judge.faults(copied_messages(Provider.ANTHROPIC, request["messages"])))
            check_whole(request, judge)
    except InvalidMessagesError as error:
        found.insert(0, error)
    return found


def _check_options(request: Mapping[str, Any], provider: Provider, betas: Collection[str]) -> None:
    match provider:
        case Provider.ANTHROPIC:
            check_options(request, betas)
        case Provider.OPENAI:
            check_chat_options(request)
        case Provider.RESPONSES:
            check_responses_options(request)
        case _:
            pass
