"""What laws of pressure take: views over one log, projectors, and the plans and compressions of windows."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from hypothesis import strategies as st

from polycontext.nodes.testing import conversations as drawn
from polycontext.nodes.testing.drawing import Drawing, Drawings, Known, always, one_of
from polycontext.nodes.testing.window_inputs import conversations
from polycontext.pressure import ContextProjector, ExtractiveSummariser, Fidelity, View
from polycontext.window import ContextWindow

FIDELITIES = st.sampled_from(Fidelity)


def projectors() -> st.SearchStrategy[ContextProjector]:
    """Draw a projector that reaches anywhere, over a quick summariser or the default one."""
    return st.builds(ContextProjector, st.sampled_from([drawn.Head(), ExtractiveSummariser()]), drawn.reaches())


def _views(known: Known) -> st.SearchStrategy[View]:
    """Draw a view over the log of the views before it, half of the time one of them or a meet of two."""
    others = [value for value in known.values() if isinstance(value, View)]
    if not others:
        logs = st.integers(0, 4).map(lambda size: [f"t{number + 1}" for number in range(size)])
        return logs.flatmap(_views_over)
    near = st.sampled_from(others).flatmap(lambda view: st.sampled_from([view, view.meet(others[0])]))
    return near | _views_over(others[0].fidelities)


def _views_over(log: Iterable[str]) -> st.SearchStrategy[View]:
    return st.fixed_dictionaries(dict.fromkeys(log, FIDELITIES)).map(View)


def _of_a_window(make: Callable[[ContextProjector, ContextWindow, float], Any]) -> Drawing:
    return always(st.builds(make, projectors(), drawn.lived_windows(), drawn.TARGETS))


PRESSURE_PARAMETERS: Final[Drawings] = {
    "first_view": _views,
    "second_view": _views,
    "third_view": _views,
    "ceiling": _views,
    "projector": always(projectors()),
    "planner": always(projectors()),
    "ladder": _of_a_window(lambda projector, window, _: projector.ladder(window)),
    "plan": _of_a_window(lambda projector, window, target: projector.plan_for(window, target)),
    "result": _of_a_window(lambda projector, window, target: projector.compress(window, target)),
    "target": always(drawn.TARGETS),
    "other_target": always(drawn.TARGETS),
    "targets": always(st.lists(drawn.TARGETS, min_size=1, max_size=4)),
    "summariser": one_of(ExtractiveSummariser()),
    "offline_summariser": one_of(ExtractiveSummariser()),
    "allowance": always(st.sampled_from([1, 5, 40, 200]) | st.integers(1, 400)),
    "turns": conversations,
}
"""How to draw what laws of pressure take; `turns` is for the message formats as well."""
