"""Resolution of a document into a message: the current content of its pills, and the problems."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from attrs import field, frozen

from polycontext.base import PolycontextError, advised
from polycontext.window import PluginError

from .completion import Completer
from .document import PillDocument
from .errors import CannotAttachError, DuplicatePillError, InvalidPillNameError, PillError, Reason
from .pill import Pill, PillType, as_type, check_name, is_name
from .resolver import DEFAULT_LIMIT, Candidate, Resolved, Resolver, clipped


@frozen
class BufferResolver:
    """Resolves names of `buffers`, a mapping of name to text that may change at any time.

    The mapping is read when a pill is sent.

    >>> BufferResolver({"*scratch*": "notes"}).resolve("*scratch*").content
    'notes'
    """

    type = PillType.BUFFER
    buffers: Mapping[str, str] = field(hash=False)
    limit: int = DEFAULT_LIMIT

    def resolve(self, name: str) -> Resolved:
        """Return the current text of the buffer.

        Raises:
            InvalidPillNameError: The name is not valid in a pill.
            CannotAttachError: There is no such buffer.
        """
        text = self.buffers.get(check_name(name))
        if text is None:
            legal = ", ".join(sorted(self.buffers)[:5]) or "nothing, there is no buffer"
            raise CannotAttachError(name, "is not a buffer", legal, Reason.BUFFER_NOT_FOUND)
        return clipped(name, self.type, text, self.limit)

    def entries(self) -> Iterator[Candidate]:
        """Yield the buffers whose names are valid in a pill."""
        return (Candidate(name, self.type) for name in self.buffers if is_name(name))


@frozen
class FunctionResolver:
    """Resolves pills of one type with a function from name to text or `Resolved`."""

    type: PillType
    function: Callable[[str], str | Resolved]
    limit: int = DEFAULT_LIMIT

    def resolve(self, name: str) -> Resolved:
        """Return the function's result, with text cut to the limit; its exceptions propagate."""
        found = self.function(check_name(name))
        return clipped(name, self.type, found, self.limit) if isinstance(found, str) else found


@frozen
class Resolvers:
    """A sequence of resolvers; the first one of a pill's type that finds the pill resolves it.

    >>> resolvers = Resolvers().register("buffer", lambda name: f"the text of {name}")
    >>> resolvers.resolve(Pill("*scratch*", "buffer")).content
    'the text of *scratch*'
    """

    resolvers: tuple[Resolver, ...] = field(default=(), converter=tuple[Resolver, ...])

    def register(
        self, pill_type: PillType | str, function: Callable[[str], str | Resolved]
    ) -> "Resolvers":
        """Return these resolvers with a function for pills of that type appended."""
        return Resolvers((*self.resolvers, FunctionResolver(as_type(pill_type), function)))

    def resolve(self, pill: Pill) -> Resolved:
        """Return the current content of `pill`.

        Raises:
            PillError: The resolver reports a problem.
            PluginError: The resolver raised any other exception.
        """
        missing: CannotAttachError | None = None
        for resolver in self.resolvers:
            try:
                if resolver.type is pill.type:
                    return resolver.resolve(pill.name)
            except CannotAttachError as error:
                if not error.is_missing:
                    raise
                missing = missing or error
            except PolycontextError:
                raise
            except Exception as error:
                raise PluginError(
                    "resolver",
                    pill.name,
                    f"{type(error).__name__}: {error}",
                    "content, or a CannotAttachError",
                ) from error
        problem = f"has no resolver for type {pill.type}"
        raise missing or CannotAttachError(
            pill.name, problem, "a resolver of that type", Reason(f"{pill.type} not found")
        )

    def __iter__(self) -> Iterator[Resolver]:
        return iter(self.resolvers)


@frozen
class PillProblem:
    """A problem with one pill; `warning` is for the user, who may remove or update the pill."""

    pill: Pill
    error: PolycontextError

    @property
    def warning(self) -> str:
        """Return the message of the error."""
        return str(self.error)

    @property
    def detail(self) -> str:
        """Return the problem and the accepted values, for a log."""
        return (
            advised(self.error.problem, f"Use {self.error.legal}")
            if isinstance(self.error, PillError)
            else str(self.error)
        )


@frozen
class ResolvedMessage:
    """A message ready to send: its full text, its attachments, and the problems of its pills."""

    text: str
    attachments: tuple[Resolved, ...] = ()
    problems: tuple[PillProblem, ...] = ()


def resolve_document(document: PillDocument, resolvers: Iterable[Resolver]) -> ResolvedMessage:
    """Return `document` with the current content of its pills.

    A pill that fails does not affect the others. Two names of the same context (a link and its
    target) are attached once.

    Law: every pill of the document is either attached or a problem, in document order.
    """
    known = Resolvers(resolvers)
    attachments: dict[str, Resolved] = {}
    problems: list[PillProblem] = []
    for pill in document.pills:
        try:
            resolved = known.resolve(pill)
            # Keyed by source rather than name: a link and its target are the same context.
            first = attachments.setdefault(resolved.source, resolved)
            if first is not resolved:
                raise DuplicatePillError(
                    pill.name, f"is the same as {first.name!r}", "one of both pills"
                )
        except PolycontextError as error:
            problems.append(PillProblem(pill, error))
    return ResolvedMessage(document.to_text(), tuple(attachments.values()), tuple(problems))


def update_moved(
    document: PillDocument, problems: Iterable[PillProblem], completer: Completer
) -> PillDocument:
    """Return `document` with every missing pill renamed to its only namesake, if it has one.

    A pill stays unchanged if several names or none of its type have the same last part, or if the
    new name is already attached or not valid. In that case, offer `Completer.namesakes` to the
    user, who updates or removes the pill. The completer reads its sources again.
    """
    completer.refresh()
    for problem in problems:
        if not (isinstance(problem.error, CannotAttachError) and problem.error.is_missing):
            continue
        # Two results are enough to see that the match is not unique.
        places = completer.namesakes(problem.pill, limit=2)
        if len(places) == 1 and places[0].name not in document.context:
            # A custom source may offer a name that is not valid in a pill.
            with suppress(InvalidPillNameError):
                document = document.update_pill(problem.pill.name, new_name=places[0].name)
    return document
