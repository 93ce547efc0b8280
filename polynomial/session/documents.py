"""JSON data that are kept beside a conversation, in the same commits: saved anew by their owners, or changed by patches."""

from copy import deepcopy
from typing import Any, Unpack

import orjson

from polycontext.linearity.effects import twin
from polycontext.window.providers import AUTO

from .commands import (
    Change,
    Command,
    Companion,
    Messages,
    Patch,
    Together,
    WriteOptions,
    build_extend,
)
from .options import check_arguments, require
from .verbs import SessionPart, verb


class Documents(SessionPart):
    """Keep data under names: a name is either that of a companion, whose data are saved as they are by then, or of a document that is patched."""

    def get(self, name: str) -> Any:
        """Return the JSON data last saved under `name`, whichever way they came there.

        None where there are none.
        """
        conversation = self._session.conversation
        if name in conversation.documents:
            # Nobody changes what the conversation holds.
            return deepcopy(conversation.documents[name])
        saved = conversation.companions.get(name)
        return None if saved is None else orjson.loads(saved)

    def accompany(self, name: str, companion: Companion) -> None:
        """Save `companion` with this session from now on: its data are part of every commit, under `name`.

        Raises:
            InvalidOptionError: under that name something is kept by `patch`.
        """
        require(
            "name",
            name,
            name not in self._session.conversation.documents,
            "a name under which nothing is kept by `patch`",
        )
        self._session._writer.companions[name] = companion

    @verb
    def save(self, **when: Unpack[WriteOptions]) -> Command:
        """Save the companions as they are now, without an input."""
        return Together(())

    asave = twin(save)

    @verb
    def patch(
        self, name: str, change: Change, *, turns: Messages = (), **when: Unpack[WriteOptions]
    ) -> Command:
        """Change the JSON data that are kept under `name` as an event of the journal, in one commit with `turns`; `get` reads them.

        `change` is called with the data as they are, not to be touched, None where there are none,
        and returns a JSON Patch (RFC 6902: add, remove, replace, test), or None if there is nothing
        to do. Where another writer was first it is called again, with what that one has left.
        Rewinding and forking take the data back, too.

        Raises:
            InvalidDataError: what is returned is no patch of the data. InvalidOptionError: a
                companion has that name.
            Whatever `change` raises, and `extend` of the turns; then nothing has happened.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.documents.patch("order", lambda data: [{"op": "add", "path": "", "value": {"seats": 1}}])
        >>> _ = session.documents.patch("order", lambda data: [{"op": "replace", "path": "/seats", "value": data["seats"] + 1}])
        >>> session.documents.get("order")
        {'seats': 2}
        """
        check_arguments(name=name, change=change)
        return Together(
            (Patch(name, change), *build_extend(self._session.conversation, turns, AUTO).commands)
        )

    apatch = twin(patch)
