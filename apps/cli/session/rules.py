"""`polycontext session rules`: the standing instructions of the user."""

from collections.abc import Iterator
from typing import Annotated

from attrs import asdict

from polycontext.window.rules import Rule

from ..command import command, option
from ..options import NamedSession, WriteOptions
from ..output import CommandError, one_line, write_json
from ..output import write as print_text
from .standing import print_write


@command(
    "polycontext session rules trip",
    'polycontext session rules trip --add "Never suggest a flight." --scope "for this session"',
    "polycontext session rules trip --revoke t5:1",
)
def rules(
    *,
    where: NamedSession,
    show_all: Annotated[bool, option("Show rules that have ended, too.", "--all")],
    text: Annotated[str | None, option("Add a rule in the user's name.", "--add", metavar="TEXT")],
    scope: Annotated[str | None, option("When the added rule applies.", metavar="TEXT")],
    revoke: Annotated[str | None, option("End a rule, and tell the model.", metavar="ID")],
    remove: Annotated[str | None, option("Remove a rule that was found by mistake.", metavar="ID")],
    write: WriteOptions,
) -> None:
    """List the rules that the user stated, add one, or end one.

    ID is that of a rule, as this command prints it.
    """
    if sum(each is not None for each in (text, revoke, remove)) > 1 or (scope and text is None):
        raise CommandError("at most one of --add, --revoke, --remove; --scope belongs to --add.")
    with where.open(write) as session:
        if text is not None:
            output = session.rules.add(text, scope=scope or "", **write.guards)
        elif revoke is not None:
            output = session.rules.revoke(revoke, **write.guards)
        elif remove is not None:
            output = session.rules.remove(remove, **write.guards)
        else:
            found = session.rules.list(ended=show_all)
            if write.as_json:
                write_json([asdict(rule) for rule in found], indent=2)
            else:
                print_text("".join(f"{one_line(line)}\n" for line in _lines(found)))
            return
        print_write(session, output, as_json=write.as_json)


def _lines(rules: tuple[Rule, ...]) -> Iterator[str]:
    for rule in rules:
        ended = "" if rule.stands else f" (ended: {rule.ended_by})"
        later = f" (later than {rule.later_than})" if rule.later_than else ""
        yield f"{rule.id} {rule.kind}: {rule.text}{later}{ended}"
