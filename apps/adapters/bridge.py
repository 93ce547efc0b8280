"""The bridge that adapters are built on: it fits a framework's messages into a window."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Generic, cast

from attrs import evolve, frozen

from polycontext.base import InvalidDataError
from polycontext.base.effects import Effect, Steps, call, procedure, twin, within
from polycontext.polynomial import ContextOverflowError, ContextSession, known_again
from polycontext.polynomial.session import TRIES, input_tokens, pairs_of
from polycontext.pressure import ConflictError
from polycontext.window import Turn
from polycontext.window.providers import dumped

from .dialect import Dialect, Held, N
from .sessions import Sessions

_LOG = logging.getLogger("polycontext.adapters")


@frozen
class Fitted(Generic[N]):
    """The messages to send to the model, and the session that selected them."""

    natives: list[N]
    session: ContextSession

    def learn(self, usage: object) -> None:
        """Let the session learn from the provider's token counts for these messages.

        `usage` is the usage of a response, or the response (see `session.usage.reported`). None and
        reports without token counts (zeros, missing fields) are ignored: fake models and some
        servers send them. A report that would leave the messages no room is ignored with a warning,
        because the answer has already arrived.

        Raises:
            InvalidDataError: `usage` is not a report at all, such as a text.
        """
        try:
            if usage is not None and input_tokens(usage)[0]:
                self.session.usage.reported(usage)
        except InvalidDataError:
            if not isinstance(dumped(usage), Mapping):
                raise
        except ContextOverflowError as error:
            _LOG.warning("nothing was learned of a report: %s", error)


class Bridge(Generic[N]):
    """Fit a framework's messages into a window, for any number of conversations at once.

    Fitting the same messages again returns the same result, because hooks fire on every retry.

    Args:
        dialect: reads and writes the framework's messages.
        sessions: hold the conversations. The default is a new `Sessions` of `model` and `options`,
            which are those of `Sessions` and of a session.
    """

    def __init__(
        self,
        dialect: Dialect[N],
        sessions: Sessions | None = None,
        *,
        model: Any = None,
        **options: Any,
    ) -> None:
        self.dialect = dialect
        self.sessions = Sessions(model, **options) if sessions is None else sessions

    @procedure
    def fit(
        self,
        natives: Sequence[N],
        *,
        key: str | None = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = (),
        reserve: int = 0,
    ) -> Steps[list[N]]:
        """Return the messages to send for `natives`, all messages of one conversation so far.

        `natives` is not changed. `key` names the conversation; without one, it is identified by its
        first messages. `system`, `tools` and `reserve` are the other parts of this request, and may
        differ the next time.

        Raises:
            ContextOverflowError: the request does not fit even after full compression.
            Any exception of the dialect: a message is of an unknown form.
        """
        fitted: Fitted[N] = yield call(
            self, "fit_with_session", natives, key=key, system=system, tools=tools, reserve=reserve
        )
        return fitted.natives

    afit = twin(fit)

    @procedure
    def fit_with_session(
        self, /, natives: Sequence[N], *, key: str | None = None, **besides: Any
    ) -> Steps[Fitted[N]]:
        """Return the result of `fit` together with the conversation's session."""
        turns, handles = self._split(natives)
        said = [turn for turn, _ in pairs_of(turns, None, repair=True)]
        alone, aalone = (
            partial(self.sessions.alone, said, key),
            partial(self.sessions.aalone, said, key),
        )

        def fit(session: ContextSession) -> Steps[Fitted[N] | None]:
            rewind = key is not None
            try:
                yield Effect(
                    partial(session.sync, turns, handles, rewind=rewind),
                    partial(session.asynced, turns, handles, rewind=rewind),
                )
                end = _end(session)
                view = yield call(session, "view", **besides)
                return Fitted(self.dialect.join(view), session) if _end(session) == end else None
            except ConflictError:
                # Without a key, a conversation that another process continued differently is a
                # different one: try again.
                if key is not None:
                    raise
                return None

        for _ in range(TRIES):
            if (fitted := (yield within(alone, aalone, fit))) is not None:
                return cast("Fitted[N]", fitted)
        raise _outrun(natives)

    afit_with_session = twin(fit_with_session)

    def _split(self, natives: Sequence[N]) -> tuple[list[Turn], list[Held[N]]]:
        # Frameworks keep the summaries they were given, and may join them with other messages.
        split = [*self.dialect.split(natives)]
        known = known_again([piece.turn for piece in split], has_task=False)
        pieces = [
            evolve(piece, turn=turn)
            for piece, turns in zip(split, known, strict=True)
            for turn in turns
        ]
        turns = Counter(piece.start for piece in pieces)
        held = [
            Held(tuple(natives[piece.start : piece.stop]), piece.start, turns[piece.start])
            for piece in pieces
        ]
        return [piece.turn for piece in pieces], held


def _end(session: ContextSession) -> tuple[int, str]:
    """Return the log's length and newest id, which change when another process continues it."""
    log = session.conversation.log
    return len(log), log[-1].resource_id if log else ""


def _outrun(natives: Sequence[object]) -> ConflictError:
    return ConflictError(
        f"a conversation of {len(natives)} messages",
        "a session that nobody else writes to",
        f"other writers at {TRIES} tries",
    )
