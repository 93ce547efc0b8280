"""Go back in a conversation, look at how it once stood, let another one branch off: a journal is only ever added to."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, Unpack

from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.session.intake import Items
from polycontext.polynomial.session.kept import KeptSession, When
from polycontext.polynomial.session.options import check_arguments
from polycontext.polynomial.session.twins import awaiting, threaded

if TYPE_CHECKING:
    from polycontext.polynomial.session.time_travel import PastSession

Moment = int | datetime | str
"""A point of a conversation: a revision, a time, or the id of the turn that was the last one then."""


class TravellingSession(KeptSession):
    """Rewind, look back and fork (docs/time-travel.md), and have children."""

    _parent: "TravellingSession | None" = None
    """Who has asked for this child."""

    def at(self, moment: Moment) -> "PastSession":
        """Return the session as it stood then, to read.

        `moment` is a revision; a time with its zone: as it stood before the first event that is later; or the id of a turn: as it stood once that had
        come in. What accompanies a session is known as it is now alone. O(events since the nearest moment that is remembered).

        Raises:
            InvalidOptionError: no moment of this session. UnknownResourceError: no turn of the journal has the id.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> for text in ("Red or blue?", "And now?"):
        ...     _ = session.add_user_turn(text)
        >>> session.at(1).messages()
        [{'role': 'user', 'content': 'Red or blue?'}]
        """
        from polycontext.polynomial.session.time_travel import past_session, revision_at  # noqa: PLC0415 - for those who look back

        return past_session(self, revision_at(self, moment))

    aat = threaded(at)

    def rewind(self, to: Moment, **when: Unpack[When]) -> ContextOutput:
        """Go back to where the conversation stood at a moment (see `at`): log, view, classes and state are what they were.

        The journal keeps what came since, so that going back to before the rewind undoes it. A new epoch begins.

        Raises:
            InvalidOptionError: no moment of this session. UnknownResourceError: no turn of the journal has the id.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> for text in ("Red or blue?", "And now?"):
        ...     _ = session.add_user_turn(text)
        >>> _ = session.rewind(1)
        >>> len(session.log()), session.revision
        (1, 3)
        >>> _ = session.rewind(2)
        >>> len(session.log())
        2
        """
        from polycontext.polynomial.session.time_travel import rewinding  # noqa: PLC0415 - for those who go back

        return self._write(rewinding(self, to), **when)

    arewind = awaiting(rewind, reads=True)

    def edit(self, resource_id: str, content: str, items: Items = (), **when: Unpack[When]) -> ContextOutput:
        """Say something else in the place of a user turn: go back to before it, attach `items`, and add `content` instead, as one commit.

        What was attached before it stays.

        Raises:
            UnknownResourceError: no turn that stands has the id. InvalidOptionError: it is none of the user.
            Whatever `add` raises.
        """
        from polycontext.polynomial.session.time_travel import editing  # noqa: PLC0415 - for those who go back

        check_arguments(resource_id=resource_id, content=content)
        return self._write(editing(self, resource_id, content, items, self._clock()), **when)

    aedit = awaiting(edit, reads=True)

    def regenerate(self, **when: Unpack[When]) -> ContextOutput:
        """Go back to the last thing that the user said, so that the model can be asked for another answer; nothing happens where it is the last turn.

        Raises:
            InvalidOptionError: the user has said nothing.
        """
        from polycontext.polynomial.session.time_travel import regenerating  # noqa: PLC0415 - for those who go back

        return self._write(regenerating(self), **when)

    aregenerate = awaiting(regenerate, reads=True)

    def fork(self, new_id: str, moment: Moment | None = None) -> Self:
        """Return a new session of the same store and options, in which all stands as it does here, or did at a moment (see `at`); texts are shared.

        It goes on by itself: neither session sees what becomes of the other.

        Raises:
            ConflictError: there is a session of that id. InvalidOptionError: no moment of this session.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Red or blue?")
        >>> other = session.fork("what-if")
        >>> _ = other.add_assistant_turn("Blue.")
        >>> len(session.log()), len(other.log())
        (1, 2)
        """
        from polycontext.polynomial.session.time_travel import fork  # noqa: PLC0415 - for those who fork

        check_arguments(session_id=new_id)
        fork(self, new_id, moment)
        return self._beside(new_id)

    afork = threaded(fork)

    def child(
        self,
        task: str,
        child_id: str,
        *,
        max_tokens: int | None = None,
        tells: str | Sequence[str] = (),
        call: str | None = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = (),
    ) -> Self:
        r"""Return a session of its own for a sub-agent, in the same store and with the same options, told its task and what it needs (docs/child-sessions.md).

        It is told what the system says here (or `system` instead), the standing demands of the user, and of the conversation what `tells` names: ids of turns, or a
        text of which turns are to speak; that takes at most a quarter of its room. `max_tokens` is its budget, by default what this session has;
        `tools` are its own. `call` is the id of the open call that it answers. `hand_back` gives its result to this session. Asked for again, after a
        restart too, it is the same child as it stands by then.

        Raises:
            ConflictError: there is a session of that id that is no such child. UnknownResourceError: `tells` names a turn that is none.
            InvalidOptionError: no task, no open call of that id. ContextOverflowError: what it has to be told does not fit.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Plan a trip to Vienna. From now on, never suggest a flight.")
        >>> child = session.child("Find a train.", "trains", max_tokens=2000)
        >>> [turn.text for turn in child.log()]
        ['This holds throughout:\n- From now on, never suggest a flight.', 'Find a train.']
        >>> _ = child.add_assistant_turn("NJ 457 leaves at 22:10.")
        >>> _ = child.hand_back()
        >>> "NJ 457 leaves at 22:10." in session.log()[-1].text
        True
        """
        from polycontext.polynomial.session.children import child_of  # noqa: PLC0415 - for those who have sub-agents

        return child_of(self, task, child_id, max_tokens=max_tokens, tells=tells, call=call, system=system, tools=tools)

    achild = threaded(child)

    def hand_back(self, text: str | None = None) -> ContextOutput:
        """Give the result of this child to its parent, as one turn, and return the parent's output; without a text, what the model said last.

        It is the result of the call that the child was made for, or else an attached text. Handed back again, it is there once.

        Raises:
            InvalidOptionError: this session is no child that its parent has asked for, or it has said nothing yet.
            OrderError: the parent waits for the results of other calls.
        """
        from polycontext.polynomial.session.children import handed_back  # noqa: PLC0415 - for those who have sub-agents

        return handed_back(self, text)

    ahand_back = awaiting(hand_back)
