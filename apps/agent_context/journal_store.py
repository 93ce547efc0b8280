"""An AgentContext that processes share: each run is an event of a session's journal."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, TypeVar, Unpack

import orjson
from attrs import evolve, frozen

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import patched
from polycontext.polynomial.journal.json_patch import encode
from polycontext.window import Turn

from .change_codec import refine_operations
from .codec import deserialize, serialize
from .context_patch import diff
from .records import AgentContext
from .store import AgentContextRun, AgentContextStore
from .trail import origin

T = TypeVar("T")
_LEGAL = (
    'the context to begin with, such as AgentContext.new("session-1", "trace-1"): '
    "the session keeps none of that name yet"
)


class CommitOptions(TypedDict, total=False):
    """Options of a write; see `KeptContextStore.write`."""

    turns: Iterable[Turn | Mapping[str, Any]]
    idempotency_key: str | None


class KeptContextStore(AgentContextStore):
    """A context that a session keeps, guarded and recorded like any `AgentContextStore`.

    See docs/agent-context.md, "Kept with a session".

    The writing process checks rights before anything is stored. Any number of these stores over one
    session, in threads, tasks or processes, work as one: a run that is late is decided again,
    merged with what others wrote. If two runs wrote the same value differently at the same time,
    the later one raises `MergeConflictError`. A run begins with everything that is stored by then.

    Args:
        session: where the context is kept.
        name: the name it is kept under.
        context: the initial context, if the session keeps none.
        lenient: keep unknown fields of the stored document; see `deserialize`.
        options: those of an `AgentContextStore`.

    Raises:
        InvalidOptionError: there is no initial context, or the name is used for something else.
        InvalidDataError: the stored document is not a context.
        Any exception of an `AgentContextStore`.

    >>> session = ContextSession(max_tokens=8000)
    >>> shared = KeptContextStore(session, "plan", AgentContext.new("session-1", "trace-1"))
    >>> _ = shared.write(
    ...     "intent_detection", {"reasoning.intents": [{"type": "query", "confidence": 0.95}]}
    ... )
    >>> session.documents.get("plan")["reasoning"]
    {'intents': [{'type': 'query', 'confidence': 0.95}]}
    >>> KeptContextStore(session, "plan").context == shared.context
    True
    """

    def __init__(
        self,
        session: ContextSession,
        name: str,
        context: AgentContext | None = None,
        *,
        lenient: bool = False,
        **options: Any,
    ) -> None:
        self._session, self._name, self._lenient = session, name, lenient
        kept = session.history.refresh().conversation.documents.get(name)
        if kept is None and context is None:
            raise InvalidOptionError("context", None, _LEGAL)
        super().__init__(
            self._context_of(kept) if context is None or kept is not None else context, **options
        )
        self._document = kept
        if kept is None:
            begun = [{"op": "add", "path": "", "value": orjson.loads(serialize(self._context))}]
            session.documents.patch(name, lambda document: begun if document is None else None)
        self._adopt()

    @property
    def context(self) -> AgentContext:
        """Return the context as the session has it, which no later write changes.

        `ContextSession.history.refresh` fetches what others wrote.
        """
        with self._lock:
            self._adopt()
            return self._context

    def write(
        self,
        agent: str,
        changes: Mapping[str, Any],
        **options: Unpack[CommitOptions],
    ) -> AgentContext:
        """Write several keys as one run of an agent, in one commit with `turns`.

        A repeated `idempotency_key` writes nothing.

        Raises:
            Any exception of `AgentContextStore.write`, and of `ContextSession.extend` for the
                turns.
            StoreError: nothing is stored.
        """
        with self.run(agent, **options) as run:
            run.write(changes)
        return self.context

    def append(
        self,
        agent: str,
        entries: Mapping[str, Sequence[Any]],
        **options: Unpack[CommitOptions],
    ) -> AgentContext:
        """Add entries to the end of lists as one run of an agent; see `write`.

        Identical entries that two runs add at the same time are stored once.
        """
        with self.run(agent, **options) as run:
            run.append(entries)
        return self.context

    @contextmanager
    def run(self, agent: str, **options: Unpack[CommitOptions]) -> Generator[AgentContextRun]:
        """Run an agent on the stored context, and commit its writes at the end of the block.

        `turns` are part of the same commit.

        Raises:
            Any exception of `AgentContextStore.run`, and of `write`.
        """
        self._session.history.refresh()
        with super().run(agent) as run:
            run.options = {**options, "turns": tuple(options.get("turns", ()))}
            yield run

    def _transact(self, run: AgentContextRun, change: Callable[[], T]) -> T:
        """Commit `change` to the session, again if another writer was first."""
        done: list[tuple[T, _Snapshot]] = []
        not_yet = RuntimeError("values must leave first")

        def patch(document: Any) -> list[dict[str, Any]]:
            with self._lock:
                self._adopt(document)
                before = self._snapshot
                try:
                    result = change()
                    done[:] = [(result, before)]
                    # If values must be moved out first, neither the change nor its turns are
                    # committed.
                    if result:
                        raise not_yet
                    operations = list(
                        refine_operations(
                            diff(before.context, self._context).to_json_patch(), document
                        )
                    )
                    expected = patched(document, encode(operations, self._name))
                    done[:] = [(result, _Snapshot(expected, self._context, self._base))]
                    return operations
                finally:
                    # The change is ours only once it is stored.
                    self._snapshot = before

        options, run.options = run.options, {}
        try:
            self._session.documents.patch(self._name, patch, **options)
        except RuntimeError as error:
            if error is not not_yet:
                raise
            run.options = options
            return done[0][0]
        if not done:
            # A command with this idempotency key is already stored.
            run.end()
            nothing: T = _NOTHING
            return nothing
        result, snapshot = done[0]
        kept = self._session.conversation.documents[self._name]
        with self._lock:
            if kept == snapshot.document:
                # Use the session's own document, so that it is not read again.
                self._snapshot = evolve(snapshot, document=kept)
        return result

    @property
    def _snapshot(self) -> "_Snapshot":
        return _Snapshot(self._document, self._context, self._base)

    @_snapshot.setter
    def _snapshot(self, snapshot: "_Snapshot") -> None:
        self._document, self._context, self._base = (
            snapshot.document,
            snapshot.context,
            snapshot.base,
        )

    def _adopt(self, document: Any = None) -> None:
        """Adopt the document of the session, or `document`."""
        document = (
            self._session.conversation.documents[self._name] if document is None else document
        )
        if document is not self._document:
            context = self._context_of(document)
            self._snapshot = _Snapshot(document, context, origin(context))

    def _context_of(self, document: Any) -> AgentContext:
        return deserialize(orjson.dumps(document), lenient=self._lenient)


@frozen
class _Snapshot:
    """A document, the context it describes, and the context at the beginning of its trail."""

    document: Any
    context: AgentContext
    base: AgentContext


_NOTHING: Any = None
