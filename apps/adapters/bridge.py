"""What every adapter is made on: a framework's messages in, those that a model is to see out."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Generic, cast

from attrs import evolve, frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.effects import Effect, Steps, call, procedure, twin, within
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
    """Hold what a model is to see, and the session that says so."""

    natives: list[N]
    session: ContextSession

    def learn(self, usage: object) -> None:
        """Let the session learn from what the provider reports of these messages: the usage of a response, or the response (`session.usage.reported`).

        None, and data that tell of no tokens (zeros, a count that is missing), are passed over:
        fake models and some servers report such. So is, with a warning, what would leave the
        messages no room: the answer is there already.

        Raises:
            InvalidDataError: no usage at all, such as a text.
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
    """Fit a framework's messages into a window, for as many conversations at once as there are.

    Args:
        dialect: how the framework says what turns say.
        sessions: where conversations stand; by default, new ones with `options`, which are those of
            `Sessions` and of a session.

    Fitting the same messages again gives the same: hooks fire on every retry.
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
        """Return what a model is to see of `natives`, all messages of one conversation so far.

        The list that is given is not changed.

        `key` names the conversation; without one it is known by how it begins. `system`, `tools`
        and `reserve` are what this request needs besides, and may be others the next time.

        Raises:
            ContextOverflowError: not even with everything yielded that may. Whatever the dialect
                raises of messages that it does not know.
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
        """Return what `fit` returns, with the conversation's session."""
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
                # Without a key, a conversation that somebody elsewhere has led on otherwise is
                # another one.
                if key is not None:
                    raise
                return None

        for _ in range(TRIES):
            if (fitted := (yield within(alone, aalone, fit))) is not None:
                return cast("Fitted[N]", fitted)
        raise _outrun(natives)

    afit_with_session = twin(fit_with_session)

    def _split(self, natives: Sequence[N]) -> tuple[list[Turn], list[Held[N]]]:
        # Frameworks keep summaries that they were handed, and join them.
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
    """Return what tells the log that was synced from one that another process has led on meanwhile."""
    log = session.conversation.log
    return len(log), log[-1].resource_id if log else ""


def _outrun(natives: Sequence[object]) -> ConflictError:
    return ConflictError(
        f"a conversation of {len(natives)} messages",
        "a store at rest",
        f"others who write to it, {TRIES} times",
    )
