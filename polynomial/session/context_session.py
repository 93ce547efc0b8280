"""The session: one conversation, driven through the machine, with its journal.

The session is the shell around the pure core: it holds the lock, reads the
clock, and lets each accepted input become one event. Reading never changes anything.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.linearity import Classifier, PolycontextError, default_classifier
from polycontext.polynomial.errors import SnapshotError
from polycontext.polynomial.journal import events as journal
from polycontext.polynomial.journal import saved as snapshot
from polycontext.polynomial.session.async_writes import AsyncWrites
from polycontext.polynomial.session.core import Clock, Engine, utc_now
from polycontext.polynomial.session.plugins import PromptMaker, load_prompt_maker, load_renderer
from polycontext.pressure import ContextProjector, Threshold
from polycontext.window import TokenCounter
from polycontext.window.providers import Provider, Rendered


class ContextSession(AsyncWrites):
    """Hold one conversation: its machine, its log, and everything that readers may ask of it (seed 004 §3, §5.1).

    Args:
        max_tokens: what the model's window holds, in tokens.
        auto: compress when PRESSURED before the next turn goes in, and at once when a
            turn alone takes the window over its budget. ``False`` leaves it to the caller.
        engine: ``"machine"`` runs python-statemachine (listeners, diagrams), ``"table"`` the
            table compiled from it, for bulk work.
        reserve: tokens kept free for the reply.
        tools: tool definitions sent with every request; their tokens are taken off the window.
        projector, threshold, cooldown: how, when and how often it yields.
        counter, classifier, preserved_share: how turns are counted and classified.
        clock: where timestamps come from.

    Safe under threads and tasks: one writer at a time. A writer that names the revision it
    has seen gets a `ConflictError` if it is stale.

    >>> session = ContextSession(max_tokens=8000)
    >>> _ = session.add_system("You are a travel assistant.")
    >>> _ = session.add_user_turn("Book me a night train to Vienna.")
    >>> session.state
    <ContextState.ACCUMULATING: 'ACCUMULATING'>
    >>> session.messages()[1]
    {'role': 'user', 'content': 'Book me a night train to Vienna.'}
    """

    def messages(self, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> list[dict[str, Any]]:
        """Return the view as a message list that the provider accepts, within budget.

        For Anthropic the system turns travel outside of the list: see `request`.

        Raises:
            InvalidMessagesError: nothing to say, or calls are open (unless `allow_open`).
            ContextOverflowError: the view is over its budget (``auto=False`` and not compressed).
        """
        return self.request(provider, allow_open=allow_open).messages

    def request(self, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> Rendered:
        """Return messages, and the system blocks apart where the provider wants them so."""
        return self._delivery.deliver(self.window, provider, allow_open=allow_open)

    def render(self) -> dict[str, Any]:
        """Return the props of a chat component, JSON-ready: no system text, no strategy (seed 004 §3.4)."""
        props: dict[str, Any] = load_renderer()().render_chat(self)
        return props

    def build_prompt(
        self,
        agent_type: str = "default",
        eigenvectors: Mapping[str, float] | None = None,
        constraints: Sequence[str] = (),
        *,
        task: str | None = None,
        system_only: bool = False,
        prompts: PromptMaker | None = None,
        **values: str | float,
    ) -> str:
        """Return the one text that a model completes: system prompt, the view as a transcript, the task (seed 004 §5.1, §5.2).

        It goes to the model and never to a browser; within budget as `messages` is, and
        without a word on classes. `system_only` leaves the conversation out, for use beside
        `messages`. `prompts` brings templates of your own; `values` are what templates name.

        Raises:
            InvalidMessagesError: calls are open.
            ContextOverflowError: over budget even after everything yielded that may.
            MissingPluginError: no prompt builder is announced, and none was given.
        """
        maker = load_prompt_maker()() if prompts is None else prompts
        return maker.build_prompt(self.output, agent_type, eigenvectors, constraints, task=task, system_only=system_only, **values)

    def to_json(self) -> str:
        """Return the session as JSON text, with a schema version; `from_json` restores the identical session."""
        with self._lock:
            policy = self.policy
            return snapshot.write(
                snapshot.SavedSession(
                    schema=snapshot.SCHEMA,
                    max_tokens=self.window.max_tokens + self._taken,
                    taken=self._taken,
                    auto=self.auto,
                    engine=self.engine,
                    cooldown=policy.cooldown,
                    preserved_share=self.window.preserved_share,
                    counter=snapshot.save_counter(self.window.counter),
                    threshold=snapshot.save_threshold(policy.threshold),
                    reach=policy.projector.reach,
                    events=self._events,
                    signals=policy.signals,
                )
            )

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        *,
        projector: ContextProjector | None = None,
        threshold: Threshold | None = None,
        counter: TokenCounter | None = None,
        classifier: Classifier = default_classifier,
        clock: Clock = utc_now,
    ) -> "ContextSession":
        """Restore a session by replaying its journal; no model is called.

        What is no data (a summariser, a classifier, a counter or threshold of your own) is passed again.

        Raises:
            SnapshotError: no saved session, of an unknown schema, or with events that cannot have happened.
        """
        saved = snapshot.read(text)
        try:
            session = cls(
                saved.max_tokens,
                auto=saved.auto,
                engine=_known_engine(saved.engine),
                reserve=saved.taken,
                projector=projector or ContextProjector(reach=saved.reach),
                threshold=threshold or snapshot.load_threshold(saved.threshold),
                cooldown=saved.cooldown,
                counter=counter or snapshot.load_counter(saved.counter),
                classifier=classifier,
                preserved_share=saved.preserved_share,
                clock=clock,
            )
        except SnapshotError:
            raise
        except PolycontextError as error:
            raise SnapshotError("$", f"{type(error).__name__}: {error}", "what makes a session") from None
        session._machine.restore(*snapshot.replay_saved(saved.events, session.window))
        session._events = list(saved.events)
        for turn in journal.logged_turns(saved.events):
            session._log.append(turn)
        session.signal(saved.signals)
        return session


def _known_engine(name: str) -> Engine:
    if name not in ("machine", "table"):
        raise SnapshotError("$.engine", f"engine {name!r}", "machine, table")
    return "machine" if name == "machine" else "table"
