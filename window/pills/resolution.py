"""From a document to what is sent: every pill's content, fetched now, and what could not be had."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from attrs import field, frozen

from polycontext.linearity import PolycontextError

from ..errors import PluginError
from .completion import Completer
from .document import PillDocument
from .errors import CannotAttachError, DuplicatePillError, InvalidPillNameError, PillError, Reason
from .pill import Pill, PillType, as_type, check_name, is_name
from .resolver import DEFAULT_LIMIT, Candidate, Resolved, Resolver, clipped


@frozen
class BufferResolver:
    """Resolve names of `buffers`, a mapping of name to text that may change meanwhile: it is read when a pill is sent.

    >>> BufferResolver({"*scratch*": "notes"}).resolve("*scratch*").content
    'notes'
    """

    type = PillType.BUFFER
    buffers: Mapping[str, str] = field(hash=False)
    limit: int = DEFAULT_LIMIT

    def resolve(self, name: str) -> Resolved:
        """Return the text of the buffer as it is now.

        Raises:
            InvalidPillNameError: the name cannot stand in a pill. CannotAttachError: no such
                buffer.
        """
        text = self.buffers.get(check_name(name))
        if text is None:
            legal = ", ".join(sorted(self.buffers)[:5]) or "nothing, there is no buffer"
            raise CannotAttachError(name, "is no buffer", legal, Reason.BUFFER_NOT_FOUND)
        return clipped(name, self.type, text, self.limit)

    def entries(self) -> Iterator[Candidate]:
        """Yield the buffers whose names can stand in a pill."""
        return (Candidate(name, self.type) for name in self.buffers if is_name(name))


@frozen
class FunctionResolver:
    """Resolve pills of one type by a function from name to text, or to a `Resolved` of its own."""

    type: PillType
    function: Callable[[str], str | Resolved]
    limit: int = DEFAULT_LIMIT

    def resolve(self, name: str) -> Resolved:
        """Return what the function gives, text cut to the limit; raise what it raises."""
        found = self.function(check_name(name))
        return clipped(name, self.type, found, self.limit) if isinstance(found, str) else found


@frozen
class Resolvers:
    """Hold resolvers; a pill is resolved by the first of its type that finds it.

    >>> resolvers = Resolvers().register("buffer", lambda name: f"the text of {name}")
    >>> resolvers.resolve(Pill("*scratch*", "buffer")).content
    'the text of *scratch*'
    """

    resolvers: tuple[Resolver, ...] = field(default=(), converter=tuple[Resolver, ...])

    def register(
        self, pill_type: PillType | str, function: Callable[[str], str | Resolved]
    ) -> "Resolvers":
        """Return these resolvers and, behind them, a function for pills of that type."""
        return Resolvers((*self.resolvers, FunctionResolver(as_type(pill_type), function)))

    def resolve(self, pill: Pill) -> Resolved:
        """Return the content of `pill` now.

        Raises:
            PillError: as its resolver says. PluginError: the resolver raised something of its own.
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
    """Say what is wrong with one pill: `warning` is for the user, who may remove or update the pill."""

    pill: Pill
    error: PolycontextError

    @property
    def warning(self) -> str:
        """Return the message of the error."""
        return str(self.error)

    @property
    def detail(self) -> str:
        """Return what was wrong and what would be legal, for a log."""
        return (
            f"{self.error.problem}. Use {self.error.legal}."
            if isinstance(self.error, PillError)
            else str(self.error)
        )


@frozen
class ResolvedMessage:
    """Hold a message ready to be sent: its text, whole, what is attached to it, and what could not be."""

    text: str
    attachments: tuple[Resolved, ...] = ()
    problems: tuple[PillProblem, ...] = ()


def resolve_document(document: PillDocument, resolvers: Iterable[Resolver]) -> ResolvedMessage:
    """Return `document` with the content of its pills fetched now.

    A pill that fails loses nothing but itself.

    Two names of one context (a link and its target) are attached once.

    Law: every pill of the document is either attached or a problem, in the order they stand.
    """
    known = Resolvers(resolvers)
    attachments: dict[str, Resolved] = {}
    problems: list[PillProblem] = []
    for pill in document.pills:
        try:
            resolved = known.resolve(pill)
            # By source, not by name: a link and its target are one context.
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
    """Return `document` in which each pill that could not be found names where it is now, if that is one place alone.

    Where several names of its type end as the pill's does, or none, or the one is attached already
    or may not be inserted, the pill stays as it
    is: offer `Completer.namesakes` to the user, who updates or removes it. The completer asks its
    sources anew.
    """
    completer.refresh()
    for problem in problems:
        if not (isinstance(problem.error, CannotAttachError) and problem.error.is_missing):
            continue
        # Two are enough to know that there is not one alone.
        places = completer.namesakes(problem.pill, limit=2)
        if len(places) == 1 and places[0].name not in document.context:
            # A source of the caller's own may offer what no pill may be called.
            with suppress(InvalidPillNameError):
                document = document.update_pill(problem.pill.name, new_name=places[0].name)
    return document
